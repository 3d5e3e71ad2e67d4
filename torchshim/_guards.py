"""torch._guards: what a compiler of torch's knows while it traces; nothing is traced here."""


def active_fake_mode():
    """None: no mode without values is entered."""


class TracingContext:
    """What is known of a trace, in torch."""

    @staticmethod
    def try_get():
        """None: nothing is traced."""
