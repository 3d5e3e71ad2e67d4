"""torch._dynamo.exc: the errors of `torch.compile`."""


class TorchDynamoException(RuntimeError):
    """Base of them."""


class InvalidBackend(TorchDynamoException):
    """No such backend."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class ShortenTraceback(TorchDynamoException):
    """Base of those whose inner frames say nothing."""


class BackendCompilerFailed(ShortenTraceback):
    """A backend raised `inner_exception`, or gave back what cannot be called."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}\n\nSet "
                         "TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to "
                         "PyTorch). For even more developer context, set TORCH_LOGS=\"+dynamo\"\n")


class RecompileLimitExceeded(TorchDynamoException):
    """A function has had more graphs than it may have."""


class FailOnRecompileLimitHit(RecompileLimitExceeded):
    """The same where that is an error."""


class Unsupported(TorchDynamoException):
    """A function that was to be one graph breaks it."""


class UserError(Unsupported):
    """Arguments that `torch.export` can't take; `error_type` is PyTorch's kind of it, or None."""

    def __init__(self, error_type, msg, case_name=None):
        super().__init__(msg)
        self.error_type, self.message = error_type, msg
