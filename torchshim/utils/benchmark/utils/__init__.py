"""The parts of torch.utils.benchmark, in torch's files."""
