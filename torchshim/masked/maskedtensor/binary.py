"""torch.masked.maskedtensor.binary: operators of two: they are methods of the class."""
__all__: list = []
