"""torch.masked.maskedtensor.reductions: reductions: they are methods of the class."""
__all__: list = []
