"""Backward passes that come again: a walk that recorded nothing but plain operators is kept at the state of the trace where it
began, and the next time only compared with the graph, not walked by the general algorithm.

What is compared decides what the walk does. Proof, for a graph that `Walk.fits` accepts:

- *Where it begins.* Walks are kept by state and slots of the cotangents, and a state says all that was recorded in this trace. So equal
  slots are values of equal meta, made by the same operators from the same inputs, and the numbers have the same places. Cotangents from
  outside are entered before either walk begins.
- *Which nodes, in which order.* The general walk pops nodes by falling sequence number. A node is made after what it leads to, so that
  is the order of all nodes below the roots by falling number, and `specs` holds all of them (`Log.keep` refuses a graph whose numbers do
  not fall, or with a node that got no gradient). Edges are compared by the place of their target among the objects met so far and by
  output number, and so are the roots; a target met for the first time must be a new object. Two graphs with equal codes are then the same
  graph up to renaming, and numbers fall in the same order: each cotangent is the sum of the same terms, added in the same order.
- *What each node records.* Without `extra` (hooks, retained gradients, packed residuals) a node with a plan records `plan.vjp` of its
  residuals, its cotangents and its numbers, and nothing else. The plan is compared by identity (so it says how many residuals, of which
  metas, of which kinds the numbers are, and which edges there are), residuals by slot. A guarded residual was not written since: the
  generation is compared.
- *What each leaf records.* It has no hooks, and no gradient as then, or one that is added to: a whole storage of its own, in the slot of
  then. That storage is nobody else's here: not another leaf's gradient, not memory that a residual is guarded in (the general
  walk would meet the sum there, or refuse).
- *Inputs* that the walk entered are entered again, in the same order with the same metas, and are as many different Values as then.
- *Which gradients were asked for* (`autograd.grad`): those at the same places and output numbers, none of them with hooks. Then only what
  leads to one of them runs. The other nodes (`idle`) record nothing; their edges are compared all the same, so that nothing is asked for
  below them now that was not then.

Everything else takes the general way: hooks, custom functions, writes through views, second-order passes, `backward(inputs=)`.
tests/autograd/test_replay.py compares both ways over graphs that change between repetitions.
"""
from __future__ import annotations

from itertools import count

from ..engine import TRACED, Immediate, Value, context, place_input, value_of, writers
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import AccumulateGrad, Node, accumulator_hooks
from ..tensor.core.handle import TensorBase, log_grad
from ..tensor.core.storage import Storage
from ..tensor.core.write import set_value
from .second_order import is_own_gradient

MOST = 4                   # walks kept at one state
_LAST = 1 << 63            # no node's number


class Log:
    """What one walk did, while it may still be kept."""
    __slots__ = ("trace", "state", "cts", "roots", "ends", "nodes", "leaves", "ok")

    def __init__(self, start, ends):
        self.trace, self.roots, self.cts = start
        self.state, self.ends = self.trace.state, ends
        self.nodes, self.leaves, self.ok = [], [], True

    def node(self, node):
        """A node is about to be applied."""
        if (node._ts_plan is None or node._ts_extra is not None or node._ts_saved is None or node._ts_custom_backward is not None
                or any([g[1].gen != g[3] for g in node._ts_guard]) or is_own_gradient(node)):
            self.ok = False
        elif self.ok:
            self.nodes.append((node, tuple(node._ts_saved)))

    def leaf(self, leaf, old, result):
        """A leaf got its gradient: `old` is the Value it had."""
        x = leaf._ts_extra
        if x.hooks or x.post_hooks or accumulator_hooks(x) or not plain(x.grad):
            self.ok = False
        self.leaves.append((leaf, old, result))

    def keep(self, captured):
        """Store the walk at its state, if it was plain from end to end. `captured`: the gradients that were asked for, by their number."""
        tr, before = self.trace, self.state
        if not self.ok or context.trace is not tr:
            return
        met, place, specs, slots, last = [None, *[node for node, _ in self.roots]], {}, [], [], None
        _note(place, met, 1)
        for node, saved in self.nodes:
            if any([v.trace is not tr for v in saved]) or (last is not None and node._ts_seq >= last):
                return
            last = node._ts_seq
            known = len(met)
            specs.append((place[id(node)], node.__class__, node._ts_plan, _follow(met, node._ts_next)))
            _note(place, met, known)
            slots += [v.slot for v in saved]
        leaves = []
        for leaf, old, result in self.leaves:
            if id(leaf) not in place or result.trace is not tr or (old is not None and old.trace is not tr):
                return
            leaves.append((place[id(leaf)], None if old is None else old.slot, result.slot, result.meta))
        made = {slot: meta for _, _, slot, meta in leaves}
        if self.ends is None:
            idle = wanted = ()
            if len(place) != len(specs) + len(leaves) or len(made) != len(leaves):
                return
        else:
            known, idle = len(met), self._idle(met)
            _note(place, met, known)
            wanted = self._wanted(place, captured)
            if idle is None or wanted is None:
                return
            made.update({v.slot: v.meta for v in captured.values()})
        if made and min(made) < before.n_values:
            return                             # one is a cotangent itself
        walk = Walk()
        walk.roots, walk.slots, (walk.met, walk.again) = [nr for _, nr in self.roots], slots, _pattern(met)
        walk.specs, walk.leaves, walk.state, walk.idle, walk.wanted, walk.results = specs, leaves, tr.state, idle, wanted, tuple(
            made.items())
        walk.entered = tuple([v.meta for v in tr.inputs[before.n_inputs:tr.state.n_inputs]])
        walk.first_input, walk.made = before.n_inputs, tr.state.n_values - before.n_values
        kept, key = before.kept(), (_kind(self.ends), self.cts)
        kept[key] = (walk, *kept.get(key, ())[:MOST - 1])

    def _idle(self, met):
        """[(place, class, how many edges, their output numbers)] of the nodes that did not run, [(place, None, 0, None)] of the leaves;
        None if one is neither. What their edges lead to is met, too."""
        ran, found, k = {id(node) for node, _ in self.nodes}, [], 0
        while k < len(met):                    # which grows
            t, k = met[k], k + 1
            if t is None or id(t) in ran:
                continue
            ran.add(id(t))
            if isinstance(t, AccumulateGrad):
                return None
            if isinstance(t, Node):
                found.append((k - 1, t.__class__, len(t._ts_next), _follow(met, t._ts_next)))
            else:
                found.append((k - 1, None, 0, None))
        return found

    def _wanted(self, place, captured):
        """((number, place or None, output number, slot of the gradient or None), …) of what was asked for; None if one is not plain."""
        found = []
        for k, (t, nr) in enumerate(self.ends):
            v = captured.get(k)
            if v is not None and (v.__class__ is not Value or v.trace is not self.trace) or not _unhooked(t):
                return None
            found.append((k, place.get(id(t)), nr, None if v is None else v.slot))
        return tuple(found)


def _kind(ends):
    return "backward" if ends is None else ("grad", len(ends))


def _follow(met, edges):
    """Append what edges lead to, None for what leads nowhere; returns their output numbers, None where no edge says one."""
    if tuple not in map(type, edges):
        met += edges
        return None
    met += [e[0] if e.__class__ is tuple else e for e in edges]
    return [e[1] if e.__class__ is tuple else 0 for e in edges]


def _note(place, met, first):
    """Tell by id where what was met from `first` on was met first."""
    for k in range(first, len(met)):
        if met[k] is not None:
            place.setdefault(id(met[k]), k)


def _pattern(met):
    """(how many objects, how many different ones), [(place, place where that object was met first)] of those that were met before: equal
    for two lists that are the same up to renaming. None is met at the start of each, so that it is renamed to nothing else."""
    first = list(map({}.setdefault, map(id, met), count()))
    return (len(met), len(set(first))), [(k, at) for k, at in enumerate(first) if k != at]


def _unhooked(t):
    """Whether nothing happens to a gradient that is asked for at a node, or a leaf."""
    if isinstance(t, Node):
        return t._ts_extra is None
    return t._ts_edge is True and (t._ts_extra is None or not t._ts_extra.hooks)


def plain(grad):
    """Whether a gradient is a whole storage, counted by nobody but itself."""
    return grad._ts_view is None and grad._ts_extra is None and grad._ts_st.__class__ is Storage


class Walk:
    """A backward pass as it was recorded once: the output numbers of its `roots`, `specs` of its nodes, the `slots` of their residuals, the
    `idle` ones, how much was `met` and what of it `again`, its `leaves` or what was `wanted` of it, the `results` (slot, meta) of these, and
    the `state` it led to."""
    __slots__ = ("roots", "specs", "slots", "idle", "met", "again", "leaves", "wanted", "results", "state", "entered", "first_input", "made")

    def fits(self, tr, roots, ends):
        """Whether the graph at `roots` is the same graph: None, or (its nodes and leaves, the inputs to enter, its numbers)."""
        entering = [None] * len(self.entered)
        found = self._nodes(tr, roots, entering)
        if found is None or not (self._leaves(tr, found[0], entering) if ends is None else self._ends(found[0], ends)):
            return None
        if entering and (None in entering or len({id(v) for v in entering}) != len(entering)):
            return None
        objects, nums = found
        return objects, entering, nums

    def _at(self, tr, v, slot, entering):
        """Whether `v` has the place that the walk expects, or can be entered there."""
        if v.trace is tr:
            return v.slot == slot
        k = ~slot - self.first_input
        if slot >= 0 or k < 0 or v.array is None or v.extra is TRACED or v.meta is not self.entered[k]:
            return False
        if entering[k] is None:
            entering[k] = v
            return True
        return entering[k] is v

    def _nodes(self, tr, roots, entering):
        """(objects met, numbers of the nodes) where all nodes are as then; else None. What can be compared for all nodes at once is."""
        met, saved, guards, nums, last = [None], [], [], [], _LAST
        for (node, given), nr in zip(roots, self.roots):
            if given != nr:
                return None
            met.append(node)
        for at, kind, plan, numbers in self.specs:
            node = met[at]
            if node.__class__ is not kind or node._ts_plan is not plan or node._ts_extra is not None or node._ts_saved is None:
                return None
            seq = node._ts_seq
            if seq >= last:
                return None
            last = seq
            saved += node._ts_saved
            guards += node._ts_guard
            if numbers is None:
                met += node._ts_next           # an edge with a number is no Node, and no Tensor, when its turn comes
            elif _follow(met, node._ts_next) != numbers:
                return None
            if node._ts_nums:
                nums += node._ts_nums
        for at, kind, edges, numbers in self.idle:
            node = met[at]
            if kind is None:
                if not isinstance(node, TensorBase):
                    return None
            elif node.__class__ is not kind or len(node._ts_next) != edges or _follow(met, node._ts_next) != numbers:
                return None
        slots = self.slots
        if [v.slot for v in saved if v.trace is tr] != slots:
            if len(saved) != len(slots) or not all([self._at(tr, v, slot, entering) for v, slot in zip(saved, slots)]):
                return None
        for g in guards:
            if g[1].gen != g[3]:
                return None
        if len(met) != self.met[0]:
            return None
        for at, before in self.again:
            if met[at] is not met[before]:
                return None
        return met, nums

    def _ends(self, objects, ends):
        """Whether the gradients asked for are those at the places of then, and nothing but that happens to them, and as many objects are
        different."""
        if len(set(map(id, objects))) != self.met[1]:
            return False
        for (t, nr), (_, at, expected, _) in zip(ends, self.wanted):
            if at is None:
                if any([t is o for o in objects]):
                    return False
            elif objects[at] is not t or nr != expected:
                return False
            if not _unhooked(t):
                return False
        return True

    def _leaves(self, tr, objects, entering):
        """Whether all leaves, and the gradients that they have already, are as then. They are different ones; nodes are since their numbers
        fall."""
        sums, met = set(), set()
        for at, old, _, _ in self.leaves:
            leaf = objects[at]
            met.add(id(leaf))
            if not isinstance(leaf, TensorBase) or leaf._ts_edge is not True:
                return False
            x = leaf._ts_extra
            grad = None
            if x is not None:
                if x.hooks or x.post_hooks or (x.accumulator is not None and accumulator_hooks(x)):
                    return False
                grad = x.grad
            if old is None or grad is None:
                if grad is not old:
                    return False
                continue
            st = grad._ts_st
            if (grad._ts_view is not None or grad._ts_extra is not None or st.__class__ is not Storage or st.version != st.version
                    or id(st) in sums):
                return False
            v = st.value
            if not (v.slot == old if v.trace is tr else self._at(tr, v, old, entering)):
                return False
            sums.add(id(st))
        if len(met) != len(self.leaves):
            return False
        if sums:
            for at, _, _, _ in self.specs:
                for g in objects[at]._ts_guard:
                    if g[1].__class__ is not Storage or id(g[1]) in sums:
                        return False
        return True

    def replay(self, roots, ends, retain_graph):
        """Do it again for the graph at `roots`, if that is the same graph: the gradients that are asked for, by their number; else None."""
        tr = context.trace
        before = tr.state
        found = self.fits(tr, roots, ends)
        if found is None:
            return None
        objects, entering, nums = found
        grads = self._record(tr, before, entering, nums)
        if grads is None:
            return None
        logged, version = tr.undo is not None, tr.version
        for at, old, slot, _ in self.leaves:
            leaf = objects[at]
            x = leaf._ts_extra
            if old is None:
                if logged:
                    log_grad(leaf)
                (leaf._ts_more() if x is None else x).grad = wrap(grads[slot], None, version)
            else:
                set_value(x.grad, grads[slot])
        if not retain_graph:
            for at, _, _, _ in self.specs:
                node = objects[at]
                if node._ts_saved:             # as `_ts_release`
                    node._ts_saved = None
                    node._ts_guard = ()
                elif node._ts_nums:
                    node._ts_release()
        if self.state.n_values >= tr.limit:
            tr.cut()
        return {k: grads[slot] for k, _, _, slot in self.wanted if slot is not None}

    def _record(self, tr, before, entering, nums):
        """Record the whole walk at once, as engine/record/trace.py says; the results' Values by slot, None if something came between."""
        made = [UNSEEN] * self.made
        grads = {}
        first = before.n_values
        for slot, meta in self.results:
            v = Value()
            v.trace = tr
            v.slot = slot
            v.meta = meta
            v.array = v.extra = None
            made[slot - first] = grads[slot] = v
        if len(tr.values) != before.n_values or len(tr.inputs) != before.n_inputs or len(tr.nums) != before.n_nums:
            tr.trim(before)
        tr.inputs.extend(entering)
        tr.nums.extend(nums)
        tr.values.extend(made)
        if tr.state is not before:
            return None
        tr.state = self.state
        for k, v in enumerate(entering):
            place_input(v, tr, ~(self.first_input + k))
        return grads


UNSEEN = value_of(False, None)                 # the place of a value that nobody ever held


def started(roots, cts):
    """(the trace, [(node, output number)] of the roots, slots of the cotangents, which are entered) of a backward pass; None where such
    a one is not kept."""
    tr, nodes, slots = context.trace, [], []
    for e, ct in zip(roots, cts):
        at = e if e.__class__ is tuple else (e, 0)
        if ct.__class__ is not Value or not isinstance(at[0], Node) or at[0].__class__ is AccumulateGrad:
            return None
        nodes.append(at)
    try:
        for ct in cts:
            slots.append(ct.slot if ct.trace is tr else tr.enter(ct))
    except Immediate:
        return None
    return None if tr.state is None else (tr, nodes, tuple(slots))


def replayed(start, ends, retain_graph):
    """Replay a kept walk for this backward pass: the gradients asked for at `ends` by their number, {} where None are given; None when
    there is no walk that fits."""
    tr, roots, slots = start
    variants = tr.state.variants
    if variants is None:
        return None
    for walk in variants.get((_kind(ends), slots), ()):
        if writers.several:
            with writers.hold():               # of the leaves' gradients
                found = walk.replay(roots, ends, retain_graph)
        else:
            found = walk.replay(roots, ends, retain_graph)
        if found is not None:
            return found
    return None
