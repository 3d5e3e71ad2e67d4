"""torch.distributed._composable: `fsdp`, under its older name."""
