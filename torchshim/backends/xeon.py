"""torch.backends.xeon: a launcher for Intel's processors; processes are started by the system here."""
