"""A reference model of torch's tensors, written for the tests: strided NumPy plus dual numbers.

It has the parts of torch's API that ``chain_programs`` uses, so the same line of Python runs on
the model and on the library.  What it models is what a user can see:

* memory: a storage is a flat buffer, a tensor is (storage, offset, shape, strides), a write through
  any view is seen by every other view;
* versions: one counter for a tensor, its views and its ``detach()``; a counter of its own for ``.data``;
* gradients, by *forward* differentiation and not by a graph walked backwards: every element of a
  storage carries the row of its derivatives with respect to all leaf elements (and all results
  made so far).  Views and writes move those rows exactly as they move values, so the gradient of a
  result is read off, and no rule about views or in-place writes has to be derived twice;
* a skeleton of the graph (who is reachable, what was saved at which version, what was freed), only
  to tell which gradients exist and which errors torch raises.

Tensors are float64 unless they are masks or indices.  ``Refused`` means: not a program for this model
(undefined in torch, or of a magnitude that makes comparing meaningless); nothing was changed then.
``Predicted`` means: torch raises an error whose message contains this text.
"""

import contextlib
import itertools

import numpy as np

COLUMNS = 320  # capacity for derivative columns: leaf elements and intermediate results
LIMIT = 1e5  # larger values or derivatives would blur the comparison

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"
NO_GRAD_VIEW = "view was created in no_grad mode and is being modified inplace with grad mode enabled"
MULTI_VIEW = "Such functions do not allow the output views to be modified inplace"
STALE_VIEW = "its base or another view of its base has been modified inplace"
SELF_OVERLAP = "more than one element of the written-to tensor refers to a single memory location"
PART_OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location"
FREED = "Trying to backward through the graph a second time"
CHANGED = "has been modified by an inplace operation"
NO_GRAPH = "does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
UNUSED = "appears to not have been used in the graph"
NOT_VIEWABLE = "view size is not compatible with input tensor's size and stride"


class Refused(Exception):
    """The line is no program for this model; the model is as it was before."""


class Predicted(Exception):
    """torch raises a RuntimeError whose message contains this text (one of these texts)."""


# ---------------------------------------------------------------- graph skeleton


class Node:
    """A function of the graph: what it hangs on, what it saved, and whether that was freed.

    ``saved`` lists (tensor, version, clock) at the time of saving; ``holds`` says that something was
    saved at all, which is what a second backward trips over.
    """

    order = itertools.count()

    def __init__(self, inputs=(), saved=(), holds=False, leaf=None, shape_of=()):
        self.seq = next(Node.order)
        self.inputs = [n for n in inputs if n is not None]
        self.saved = [(t, t._version, t.storage.clock) for t in saved]
        self.shape_of = [(t, t._version) for t in shape_of]  # torch saves these for no more than their shape
        self.holds = holds or bool(self.saved)
        self.leaf = leaf
        self.freed = False

    def reachable(self):
        seen, todo = {}, [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                todo.extend(node.inputs)
        return sorted(seen.values(), key=lambda n: -n.seq)


def run_nodes(nodes, retain):
    """Go through the nodes that a backward executes; raise what torch raises, free what it frees."""
    for node in nodes:
        if node.freed and node.holds:
            raise Predicted(FREED)
        wrong = [STALE_VIEW for t, _, _ in node.saved if t.poisoned]
        wrong += [CHANGED for t, version, _ in node.saved if t._version != version]
        if wrong:
            raise Predicted(*wrong)
        if not retain:
            node.freed = True


def check_untracked(nodes):
    """Programs that only torch could judge.

    A write through .data changes saved values unnoticed: torch then answers with nonsense. A tensor saved for its
    shape makes torch refuse an answer that would be right.
    """
    for node in nodes:
        if not node.freed and any(t.poisoned or t._version != version for t, version in node.shape_of):
            raise Refused("a tensor was written that torch saved for its shape")
        for t, version, clock in node.saved:
            if not node.freed and t._version == version and t.storage.clock != clock:
                raise Refused("saved values were changed through .data")


# ---------------------------------------------------------------- memory


class Storage:
    def __init__(self, values):
        self.buf = np.array(values, dtype=np.float64).reshape(-1)
        self.clock = 0  # all writes, also those that no version counter saw


class Version:
    def __init__(self):
        self.count = 0


class Family:
    """Tensors that are views of one another for autograd: one history, kept for the base's memory."""

    def __init__(self, storage, node=None):
        self.storage = storage
        self.node = node  # where the gradient of the base goes; None: no gradient needed
        self.rows = None  # derivatives of every storage element, [elements, COLUMNS]
        self.columns = None  # which columns stand for the base itself
        self.base = None

    def derivatives(self):
        if self.rows is None:
            self.rows = np.zeros((len(self.storage.buf), COLUMNS))
        return self.rows


def contiguous_strides(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_contiguous(shape, strides):
    if 0 in shape:
        return True
    return all(n == 1 or s == c for n, s, c in zip(shape, strides, contiguous_strides(shape)))


def is_dense(shape, strides):
    """Does every element have a place of its own, with no gap between them?"""
    step = 1
    for s, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if s != step:
            return False
        step *= n
    return True


def channels_last_strides(shape):
    n, c, h, w = shape
    return (c * h * w, 1, c * w, c)


def is_channels_last(shape, strides):
    return all(n == 1 or s == c for n, s, c in zip(shape, strides, channels_last_strides(shape)))


def result_strides(shape, operands, broadcast=None):
    """Strides of an elementwise result: torch keeps the order of dimensions of its operands."""
    if broadcast is None:
        if all(s == shape for s, _ in operands):
            if all(is_contiguous(*o) for o in operands):
                return contiguous_strides(shape)
            if len(shape) == 4 and all(is_channels_last(*o) for o in operands):
                return channels_last_strides(shape)
            if all(is_dense(*o) and o[1] == operands[0][1] for o in operands):
                return operands[0][1]
        broadcast = []
        for s, st in operands:
            s, st = (1,) * (len(shape) - len(s)) + s, (0,) * (len(shape) - len(st)) + st
            broadcast.append(tuple(0 if n == 1 and m != 1 else k for n, m, k in zip(s, shape, st)))

    def compare(a, b):  # +1: dimension a is the outer one of the two, -1: the inner one, 0: unclear
        for st in broadcast:
            if st[a] and st[b]:
                if st[a] != st[b]:
                    return 1 if st[a] > st[b] else -1
                if shape[a] > shape[b]:
                    return 1
        return 0

    order = []  # inner to outer
    for dim in reversed(range(len(shape))):
        order.append(dim)
        at = len(order) - 1
        for other in range(at - 1, -1, -1):
            c = compare(order[other], order[at])
            if c > 0:
                order[other], order[at] = order[at], order[other]
                at = other
            elif c < 0:
                break
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def view_strides(index, strides, shape):
    """Strides under which the memory at ``index`` reads as ``shape``; None if there are none."""
    new = index.reshape(shape)
    if new.size == 0:
        raise Refused("empty view")
    result = [None] * len(shape)
    right = None  # size and stride of the next dimension to the right
    for d in reversed(range(len(shape))):
        if shape[d] > 1:
            first, second = (new.take(i, axis=d).flat[0] for i in (0, 1))
            step = int(second - first)
        elif right is None:
            step = strides[-1] if strides else 1
        else:
            step = right[0] * right[1]
        result[d] = step
        right = (shape[d], step)
    expected = np.full(shape, new.flat[0])
    for d, (n, s) in enumerate(zip(shape, result)):
        expected = expected + (np.arange(n) * s).reshape((n,) + (1,) * (len(shape) - d - 1))
    return tuple(result) if np.array_equal(expected, new) else None


# ---------------------------------------------------------------- tensors


class Tensor:
    """One handle: a window on a storage, and a member of an autograd family."""

    def __init__(self, world, storage, offset, shape, strides, kind="f", version=None, family=None):
        self.world, self.storage, self.kind = world, storage, kind
        self.offset, self.shape, self.strides = int(offset), tuple(shape), tuple(strides)
        self.version = version or Version()
        self.family = family or Family(storage)
        if self.family.base is None:
            self.family.base = self
        self.creation = "default"  # how a view came about: default, multi or no_grad
        self.seen = self.version.count  # the version for which this view's history is known
        self.rooted = self.requires_grad  # torch has seen that this tensor has a history
        self.grad = None

    # -- what is looked at

    ndim = property(lambda self: len(self.shape))
    _version = property(lambda self: self.version.count)
    is_base = property(lambda self: self.family.base is self)
    requires_grad = property(lambda self: self.family.node is not None)

    def stride(self):
        return self.strides

    def storage_offset(self):
        return self.offset

    def numel(self):
        return int(np.prod(self.shape, dtype=int))

    @property
    def poisoned(self):
        """A view whose history torch refuses to rebuild; asking for its grad_fn raises."""
        return self.requires_grad and self.creation != "default" and self.seen != self._version

    @property
    def is_leaf(self):
        if not self.requires_grad:
            return True
        return self.creation == "no_grad" or (self.is_base and self.family.node.leaf is not None)

    def index(self):
        where = np.full(self.shape, self.offset)
        for d, (n, s) in enumerate(zip(self.shape, self.strides)):
            where = where + (np.arange(n) * s).reshape((n,) + (1,) * (self.ndim - d - 1))
        return where

    def values(self):
        return self.storage.buf[self.index()]

    def tolist(self):
        return self.values().tolist()

    def rows(self):
        """Derivatives of every element; None where no gradient flows."""
        return None if self.family.rows is None else self.family.rows[self.index()]

    def edge(self):
        """The node that an operation recorded now on this tensor hangs on."""
        if not self.requires_grad:
            return None
        if self.poisoned:
            raise Predicted(STALE_VIEW)
        if self.creation == "no_grad":
            raise Refused("a view made under no_grad, used under grad, is a leaf of its own")
        if not self.rooted:
            self.rooted = True
            self.world.changes += 1
        return self.family.node

    # -- views

    def view_of(self, offset, shape, strides, creation="default"):
        new = Tensor(self.world, self.storage, offset, shape, strides, self.kind, self.version, self.family)
        grad = self.world.grad_enabled
        if grad and self.requires_grad:
            self.edge()
        if not grad:
            creation = "no_grad"
        new.creation = self.creation if creation == "default" else creation
        return new

    def as_strided(self, size, stride, storage_offset=None):
        offset = self.offset if storage_offset is None else storage_offset
        inside = self.index()
        wanted = Tensor(self.world, self.storage, offset, size, stride).index()
        if np.unique(inside).size != inside.size or not np.isin(wanted, inside).all():
            raise Refused("as_strided outside of its input, or of an input that overlaps itself")
        return self.view_of(offset, size, stride)

    def view(self, *shape):
        strides = view_strides(self.index(), self.strides, self.sizes_for(shape))
        if strides is None:
            if self.world.grad_enabled:
                self.edge()
            raise Predicted(NOT_VIEWABLE)
        return self.view_of(self.offset, self.sizes_for(shape), strides)

    def sizes_for(self, shape):
        shape = tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else tuple(shape)
        if -1 in shape:
            known = int(np.prod([n for n in shape if n != -1], dtype=int))
            shape = tuple(self.numel() // known if n == -1 else n for n in shape)
        if int(np.prod(shape, dtype=int)) != self.numel():
            raise Refused("shape")
        return shape

    def reshape(self, *shape):
        shape = self.sizes_for(shape)
        strides = view_strides(self.index(), self.strides, shape)
        if strides is None:
            rows = shape + (COLUMNS,)  # a copy, and nobody can reach what it is a view of
            return self.world.result(self.values().reshape(shape), [(self, lambda r: r.reshape(rows))])
        return self.view_of(self.offset, shape, strides)

    def flatten(self, start=0, end=-1):
        if self.ndim == 0:
            return self.reshape(1)
        start, end = start % self.ndim, end % self.ndim
        if start == end:
            return self
        return self.reshape(self.shape[:start] + (-1,) + self.shape[end + 1 :])

    def permute(self, *dims):
        dims = [d % self.ndim for d in dims]
        return self.view_of(self.offset, [self.shape[d] for d in dims], [self.strides[d] for d in dims])

    def transpose(self, a, b):
        dims = list(range(self.ndim))
        dims[a], dims[b] = dims[b], dims[a]
        return self.permute(*dims)

    def t(self):
        return self.transpose(0, 1) if self.ndim == 2 else self.view_of(self.offset, self.shape, self.strides)

    def movedim(self, a, b):
        dims = [d for d in range(self.ndim) if d != a % self.ndim]
        dims.insert(b % self.ndim, a % self.ndim)
        return self.permute(*dims)

    def expand(self, *sizes):
        lead = len(sizes) - self.ndim
        shape, strides = list(sizes), [0] * len(sizes)
        for d in reversed(range(len(sizes))):
            old = self.shape[d - lead] if d >= lead else 1
            if shape[d] == -1:
                shape[d] = old
            if old not in (1, shape[d]):
                raise Refused("shape")
            if old == shape[d] and self.ndim:
                strides[d] = self.strides[d - lead] if d >= lead else shape[d + 1] * strides[d + 1]
        return self.view_of(self.offset, shape, strides)

    def unsqueeze(self, dim):
        dim = dim % (self.ndim + 1)
        step = self.shape[dim] * self.strides[dim] if dim < self.ndim else 1
        shape, strides = list(self.shape), list(self.strides)
        shape.insert(dim, 1)
        strides.insert(dim, step)
        return self.view_of(self.offset, shape, strides)

    def squeeze(self, dim=None):
        drop = range(self.ndim) if dim is None else [dim % self.ndim]
        keep = [d for d in range(self.ndim) if not (d in drop and self.shape[d] == 1)]
        return self.view_of(self.offset, [self.shape[d] for d in keep], [self.strides[d] for d in keep])

    def diagonal(self, offset=0, dim1=0, dim2=1):
        n1, n2 = self.shape[dim1], self.shape[dim2]
        size = min(n1, n2 - offset) if offset >= 0 else min(n1 + offset, n2)
        if size < 1:
            raise Refused("empty diagonal")
        start = offset * self.strides[dim2] if offset >= 0 else -offset * self.strides[dim1]
        rest = [d for d in range(self.ndim) if d not in (dim1 % self.ndim, dim2 % self.ndim)]
        shape = [self.shape[d] for d in rest] + [size]
        strides = [self.strides[d] for d in rest] + [self.strides[dim1] + self.strides[dim2]]
        return self.view_of(self.offset + start, shape, strides)

    def unfold(self, dim, size, step):
        n = (self.shape[dim] - size) // step + 1
        shape, strides = list(self.shape), list(self.strides)
        strides.append(strides[dim])
        strides[dim] *= step
        shape[dim] = n
        return self.view_of(self.offset, shape + [size], strides)

    def narrow(self, dim, start, length):
        return self[(slice(None),) * dim + (slice(start, start + length),)]

    def select(self, dim, i):
        return self[(slice(None),) * dim + (i,)]

    def pieces(self, dim, bounds):
        out = []
        for a, b in bounds:
            shape = list(self.shape)
            shape[dim] = b - a
            out.append(self.view_of(self.offset + a * self.strides[dim], shape, self.strides, "multi"))
        return tuple(out)

    def split(self, size, dim=0):
        n = self.shape[dim]
        return self.pieces(dim, [(a, min(a + size, n)) for a in range(0, n, size)])

    def chunk(self, chunks, dim=0):
        return self.split(-(-self.shape[dim] // chunks), dim)

    def unbind(self, dim=0):
        shape, strides = list(self.shape), list(self.strides)
        n, s = shape.pop(dim), strides.pop(dim)
        return tuple(self.view_of(self.offset + i * s, shape, strides, "multi") for i in range(n))

    def detach(self):
        return Tensor(self.world, self.storage, self.offset, self.shape, self.strides, self.kind, self.version)

    @property
    def data(self):
        return Tensor(self.world, self.storage, self.offset, self.shape, self.strides, self.kind)

    def contiguous(self):
        if is_contiguous(self.shape, self.strides):
            return self
        return self.world.result(self.values(), [(self, lambda r: r)], contiguous_strides(self.shape))

    def requires_grad_(self):
        if self.requires_grad:
            return self
        if not self.is_base or np.unique(self.index()).size != self.numel():
            raise Refused("requires_grad_ of a view, or of a tensor that overlaps itself")
        self.family.node = Node(leaf=self)
        self.world.name_columns(self.family)
        return self

    # -- writes

    def write(self, values, inputs, saved=(), holds=False, saves_result=False, reads=(), overlap="elementwise",
              shape_of=()):  # fmt: skip
        """Write ``values`` over this tensor as one in-place operation.

        ``inputs`` are (tensor, function from its derivative rows to the result's); None as tensor
        stands for this tensor's old contents.  ``reads`` are checked for overlap: by the rules of
        elementwise operations, or of "indexed" ones (no overlap at all); "fill" and "put" write
        unchecked through a tensor that overlaps itself.
        """
        world, family = self.world, self.family
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), self.shape)
        where = self.index()
        taking = [(self if t is None else t, f) for t, f in inputs]
        recorded = world.grad_enabled and (self.requires_grad or any(t.requires_grad for t, _ in taking))
        edges, rows = [], None
        if recorded:
            others = [t for t, _ in inputs if t is not None]
            wrong = []
            for check in (self.check_write, *[t.edge for t in others]):
                try:
                    check()
                except Predicted as e:
                    wrong += e.args
            if wrong:
                raise Predicted(*wrong)
            edges = [t.edge() for t in others]
        if np.unique(where).size != where.size:
            if overlap not in ("fill", "put") and any(s == 0 and n > 1 for s, n in zip(self.strides, self.shape)):
                raise Predicted(SELF_OVERLAP)
            raise Refused("write to a tensor that overlaps itself")
        self.check_overlap(reads, same_is_fine=overlap == "elementwise")
        if recorded:
            base = family.base.index()
            if np.unique(base).size != base.size:
                raise Refused("gradient through a base that overlaps itself")
            rows = world.combine([(t, f) for t, f in taking if t.requires_grad], self.shape)
        if values.size and not np.abs(values).max() <= LIMIT:
            raise Refused("magnitude")

        saved = [t for t in saved if recorded]
        if recorded:
            node = Node([family.node] + edges, saved, holds or not self.is_base, shape_of=shape_of)
        self.storage.buf[where] = values
        self.storage.clock += 1
        self.version.count += 1
        world.changes += 1
        if recorded:
            family.derivatives()[where] = rows
            family.node = node
            world.name_columns(family)
            self.seen = self._version
            self.rooted = True
            if saves_result:
                node.saved.append((self, self._version, self.storage.clock))
                node.holds = True
        return self

    def check_write(self):
        if not self.is_base:
            if self.creation == "multi":
                raise Predicted(MULTI_VIEW)
            if self.creation == "no_grad":
                raise Predicted(NO_GRAD_VIEW)
            if self.requires_grad and self.family.node.leaf is not None:
                raise Predicted(LEAF_VIEW)
            if self.requires_grad and not self.rooted:
                raise Refused("torch mistakes a view older than its base's history for a leaf")
        elif self.is_leaf and self.requires_grad:
            raise Predicted(LEAF)

    def check_overlap(self, others, same_is_fine):
        """torch refuses to read and write memory that overlaps in part, where it can tell."""
        mine = self.index()
        for t in others:
            if t.storage is not self.storage or not np.intersect1d(mine, t.index()).size:
                continue
            same = (t.offset, t.shape, t.strides) == (self.offset, self.shape, self.strides)
            if same and same_is_fine:
                continue
            if not (is_dense(self.shape, self.strides) and is_dense(t.shape, t.strides)):
                raise Refused("overlap that torch does not look for")
            raise Predicted(PART_OVERLAP)

    # -- autograd

    def backward(self, gradient=None, retain_graph=None, inputs=None):
        self.world.run_backward(self, gradient, bool(retain_graph), inputs)

    def retain_grad(self):
        if not self.requires_grad:
            raise Refused("no gradient to retain")
        if self.family.node.leaf is not None:
            return
        if not self.is_base or self.family.columns is None:
            raise Refused("retain_grad of a view")
        self.world.retained.append(self.family)


class World:
    """What stands for the module ``torch``: state shared by the tensors, and creation of new ones."""

    def __init__(self):
        self.grad_enabled = True
        self.float64 = "f"
        self.autograd = self
        self.columns = 0
        self.changes = 0  # counts what a line changed, so that one refused halfway can be noticed
        self.retained = []  # families whose base has retain_grad()

    @contextlib.contextmanager
    def no_grad(self):
        before, self.grad_enabled = self.grad_enabled, False
        try:
            yield
        finally:
            self.grad_enabled = before

    def tensor(self, data, dtype=None, requires_grad=False):
        data = np.asarray(data)
        kind = "f" if dtype == "f" or data.dtype.kind == "f" else {"i": "l", "b": "b"}[data.dtype.kind]
        new = Tensor(self, Storage(data), 0, data.shape, contiguous_strides(data.shape), kind)
        return new.requires_grad_() if requires_grad else new

    def zeros(self, *shape, dtype=None):
        return self.tensor(np.zeros(shape))

    def name_columns(self, family):
        """Let columns of their own stand for the elements of the family's base from now on."""
        where = family.base.index()
        if self.columns + where.size > COLUMNS:
            family.columns = None
            if family.node.leaf is not None:
                raise Refused("too many columns")
            return
        family.columns = np.arange(self.columns, self.columns + where.size)
        self.columns += where.size
        family.derivatives()[where.reshape(-1), family.columns] = 1.0

    def combine(self, inputs, shape):
        rows = np.zeros(tuple(shape) + (COLUMNS,))
        for t, f in inputs:
            if t.requires_grad:
                rows = rows + f(t.rows())
        if rows.size and not np.abs(rows).max() <= LIMIT:
            raise Refused("magnitude of a derivative")
        return rows

    def result(self, values, inputs, strides=None, saved=(), holds=False, kind="f", saves_result=False):
        """A new tensor: the result of one out-of-place operation on ``inputs`` (see Tensor.write)."""
        values = np.asarray(values, dtype=np.float64)
        if values.size and not np.abs(values).max() <= LIMIT:
            raise Refused("magnitude")
        strides = contiguous_strides(values.shape) if strides is None else strides
        recorded = kind == "f" and self.grad_enabled and any(t.requires_grad for t, _ in inputs)
        edges = [t.edge() for t, _ in inputs] if recorded else []
        rows = self.combine(inputs, values.shape) if recorded else None
        new = Tensor(self, Storage(np.zeros(values.size)), 0, values.shape, strides, kind)
        where = new.index()
        new.storage.buf[where] = values
        if recorded:
            new.family.node = Node(edges, list(saved) + ([new] if saves_result else []), holds)
            new.family.derivatives()[where] = rows
            self.name_columns(new.family)
        return new

    # -- backward

    def start(self, root, gradient):
        if not root.requires_grad:
            raise Predicted(NO_GRAPH)
        if root.creation == "no_grad":
            raise Refused("a leaf of its own")
        if gradient is None and root.numel() != 1:
            raise Predicted(NOT_SCALAR)
        node = root.edge()
        weights = np.ones(root.shape) if gradient is None else gradient.values()
        return node, np.tensordot(weights, root.rows(), axes=root.ndim)

    def run_backward(self, root, gradient, retain, inputs):
        """Accumulate into ``.grad`` of the leaves (or of ``inputs``), as ``Tensor.backward``."""
        node, row = self.start(root, gradient)
        nodes = evaluated = node.reachable()
        leaves = [n.leaf.family for n in nodes if n.leaf is not None]
        if inputs is not None:
            targets = [self.family_of(t) for t in inputs]
            ends = {id(f.node) for f in targets}
            leaves = [f for f in leaves if id(f.node) in ends]
            # an input that is no leaf retains its gradient from now on, and its own node runs too
            nodes = self.executed(nodes, ends, True)
            evaluated = nodes + [node] * root.is_base
            check_untracked(nodes)
            self.retained += [f for f in targets if f.node.leaf is None]
        check_untracked(nodes)
        self.check_columns(evaluated)
        run_nodes(nodes, retain)
        self.deliver(leaves, row)
        self.deliver_retained(evaluated, row)

    def grad(self, outputs, inputs, grad_outputs=None, retain_graph=False, allow_unused=False):
        node, row = self.start(outputs, grad_outputs)
        nodes = node.reachable()
        reached = {id(n) for n in nodes}
        targets = [self.family_of(t) for t in inputs]
        ends = {id(f.node) for f in targets}
        executed = self.executed(nodes, ends, False)
        evaluated = executed + [node] * outputs.is_base + [n for n in nodes if id(n) in ends]
        check_untracked(executed)
        self.check_columns(evaluated)
        run_nodes(executed, retain_graph)
        self.deliver_retained(evaluated, row)
        used = [id(family.node) in reached for family in targets]
        if not all(used) and not allow_unused:
            raise Predicted(UNUSED)
        return tuple(
            self.tensor(row[f.columns].reshape(f.base.shape)) if u else None for f, u in zip(targets, used)
        )

    @staticmethod
    def family_of(t):
        if not t.is_base or not t.requires_grad or t.family.columns is None:
            raise Refused("gradient with respect to a view or a tensor without one")
        return t.family

    @staticmethod
    def executed(nodes, ends, with_ends):
        """The nodes that lead to one of ``ends``, and these themselves if ``with_ends``."""
        wanted, leads = [], set()
        for node in reversed(nodes):
            if any(id(n) in ends or id(n) in leads for n in node.inputs) or (with_ends and id(node) in ends):
                leads.add(id(node))
                wanted.append(node)
        return wanted[::-1]

    def check_columns(self, nodes):
        if any(f.columns is None and any(f.node is n for n in nodes) for f in self.retained):
            raise Refused("too many columns")

    def deliver(self, families, row, anew=False):
        """Add to the gradients: a leaf's in place, a retained one by a new tensor."""
        for family in families:
            base, values = family.base, row[family.columns].reshape(family.base.shape)
            if base.grad is None or anew:
                base.grad = self.tensor(values if base.grad is None else base.grad.values() + values)
            else:
                base.grad.storage.buf[base.grad.index()] += values
                base.grad.version.count += 1

    def deliver_retained(self, nodes, row):
        there = {id(n) for n in nodes}
        self.deliver({id(f): f for f in self.retained if id(f.node) in there}.values(), row, anew=True)
