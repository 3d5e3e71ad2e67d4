"""torch.utils.backcompat: switches of warnings of old behaviour, of which there is none."""


class Warning:
    """A switch that is kept and read back."""
    enabled = False


broadcast_warning, keepdim_warning = Warning(), Warning()
