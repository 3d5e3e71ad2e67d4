"""torch._dynamo.exc: the errors of `torch.compile`."""


class TorchDynamoException(RuntimeError):
    """Base of them."""


class InvalidBackend(TorchDynamoException):
    """No such backend."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class Unsupported(TorchDynamoException):
    """Never raised: nothing is left out."""


class UserError(Unsupported):
    """Arguments that `torch.export` can't take; `error_type` is PyTorch's kind of it, or None."""

    def __init__(self, error_type, msg, case_name=None):
        super().__init__(msg)
        self.error_type, self.message = error_type, msg
