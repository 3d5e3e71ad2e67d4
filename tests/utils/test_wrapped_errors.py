"""Protects exceptions on their way between threads and processes, as the DataLoader and torchdata's nodes send them."""
import pickle

import pytest

from torchshim._utils import ExceptionWrapper, KeyErrorMessage


class Told(Exception):
    message = "x"

    def __init__(self, message):
        super().__init__(message)


class Two(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("error, kind",
    [(ValueError("bad"), ValueError), (KeyError("k"), KeyError), (Told(message="m"), Told), (Two(1, 2), RuntimeError)])
def test_an_error_is_raised_again_with_its_traceback(error, kind):
    try:
        raise error
    except Exception:
        wrapped = pickle.loads(pickle.dumps(ExceptionWrapper(where="in a thread")))
    with pytest.raises(kind, match=f"(?s)Caught {type(error).__name__} in a thread.\nOriginal Traceback .*test_wrapped_errors") as caught:
        wrapped.reraise()
    assert type(caught.value) is kind and (kind is not KeyError or "\n" in str(caught.value))


def test_an_error_is_given_or_the_one_at_hand():
    error = ValueError("given")
    wrapped = ExceptionWrapper((ValueError, error, None))
    assert (wrapped.exc_type, wrapped.where, wrapped.exc_msg) == (ValueError, "in background", "ValueError: given\n")
    assert repr(KeyErrorMessage("a\nb")) == "a\nb"
