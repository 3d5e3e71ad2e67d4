"""torch.masked.maskedtensor.passthrough: operators of which the data and the mask are asked alike: they are methods of the class."""
__all__: list = []
