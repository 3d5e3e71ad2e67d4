"""torch._dynamo._trace_wrapped_higher_order_op: what libraries that build attention masks under vmap import."""


class TransformGetItemToIndex:
    """A context in which torch lets `t[i]` take an index that vmap batches. Here it always can: the context changes nothing."""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None
