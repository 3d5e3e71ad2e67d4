"""torch.masked.maskedtensor.unary: operators of one: they are methods of the class."""
__all__: list = []
