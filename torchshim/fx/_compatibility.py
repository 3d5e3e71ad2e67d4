"""torch.fx._compatibility: a decorator that says of an API whether it will stay."""
import textwrap

_BACK_COMPAT_OBJECTS = {}                      # what was promised to stay
_MARKED_WITH_COMPATIBILITY = {}                # and what was marked at all

_NOTES = {True: "\n\n.. note::\n    Backwards-compatibility for this API is guaranteed.\n",
          False: "\n\n.. warning::\n    This API is experimental and is *NOT* backward-compatible.\n"}


def compatibility(is_backward_compatible):
    """A decorator that writes into the docstring whether the function or class will stay."""
    stays = bool(is_backward_compatible)

    def mark(fn):
        fn.__doc__ = textwrap.dedent(getattr(fn, "__doc__", None) or "") + _NOTES[stays]
        if stays:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        return fn
    return mark
