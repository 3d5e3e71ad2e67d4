"""What every program finds defined: functions of its own, a module, and helpers."""

FUNCTIONS = """
forward_ad = torch.autograd.forward_ad

def pushed(f, x):
    x = x.clone() if x.is_inference() else x          # some operators forget the tangents of those
    with forward_ad.dual_level():
        made = forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x))))
        return made.tangent.clone()

def threaded(f):
    import threading
    failed = []
    def run():
        try:
            f()
        except Exception as e:
            failed.append(e)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    if failed:
        raise failed[0]

class Raising(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise ValueError("not today")

class Reading(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x.sin()
    @staticmethod
    def backward(ctx, g):
        say("given", [g.is_contiguous(), g.requires_grad, g.is_leaf])
        x, y = ctx.saved_tensors
        return g * x.cos() + 0 * y

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()
    @staticmethod
    def backward(ctx, g):
        return g.reshape(1, 1, 1, 1).expand(1, 1, 2, 7)

class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x[:1]
    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape).clone()

class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x), x.detach()[..., :1]
    @staticmethod
    def backward(ctx, g, h):
        return g + h.sum()

class Defaults(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=2):
        return x * factor
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None

class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.sin()
        return ctx.y.detach()
    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            return torch.autograd.grad(ctx.y, ctx.x, g, retain_graph=True)[0]

class Vjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()
    @staticmethod
    def vjp(ctx, g):
        return -g * ctx.saved_tensors[0].sin()

def told(grads):
    for g in grads:
        say("several", g)

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((), 1.5, dtype=torch.float64))
        self.register_buffer("shift", torch.full((), 0.25, dtype=torch.float64))
    def forward(self, x):
        return x * self.weight + self.shift

layer = Layer()

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.given = x, factor
        return x * factor
    @staticmethod
    def backward(ctx, g):
        return tuple([g * y if isinstance(x, torch.Tensor) and k in [n for n, w in enumerate(ctx.needs_input_grad) if w] else None
                      for k, (x, y) in enumerate(zip(ctx.given, ctx.given[::-1]))])

class Kept(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y, (x > y).clone()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)
    @staticmethod
    def backward(ctx, g, h, _):
        x, y, made = ctx.saved_tensors
        say("kept", made)
        ends = [None if g is None else (g * k).sum_to_size(x.shape if n == 0 else y.shape) for n, k in enumerate((y, x))]
        if h is not None:
            ends = [(h.sum_to_size(k.shape) if e is None else e + h.sum_to_size(k.shape)) for e, k in zip(ends, (x, y))]
        return tuple(ends)

class Filled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        x.add_(1)
        return x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x

class Pushing(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x.sin() * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * 2
    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos() * 2

class Several(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x.sign()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
    @staticmethod
    def backward(ctx, g, _):
        return g * 2

class Late(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y

class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Viewed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g.clone()

class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x + 1
    @staticmethod
    def backward(ctx, g):
        return None if g is None else g * 2
"""
