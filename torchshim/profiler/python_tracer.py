"""torch.profiler.python_tracer: names of code, which profiles with stacks tell themselves."""

__all__: list = []
