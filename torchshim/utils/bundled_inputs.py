"""torch.utils.bundled_inputs: importable; inputs are bundled with TorchScript, which is not here."""


def augment_model_with_bundled_inputs(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.utils.bundled_inputs; there is no TorchScript here")


bundle_inputs = bundle_randn = augment_model_with_bundled_inputs
