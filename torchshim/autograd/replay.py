"""Backward passes that come again: a walk that recorded nothing but plain operators is kept at the state of the trace where it
began, and the next time only compared with the graph, not walked by the general algorithm.

What is compared is everything that decides what the walk records: the plan of each node, which values it saved (by their
place in the trace), where its edges lead, and whether each leaf has a gradient already. Hooks, custom functions, writes
through views and second-order passes always take the general way.
"""
from __future__ import annotations

from ..engine import TRACED, Value, context, value_of
from ..tensor.core.dispatch import TensorBase, bump, wrap

MOST = 4                   # walks kept at one state


class Log:
    """What one walk did, while it may still be kept."""
    __slots__ = ("trace", "state", "n_values", "n_inputs", "ct", "root", "nodes", "leaves", "ok")

    def __init__(self, root, ct):
        tr = context.trace
        self.trace, self.state = tr, tr.state
        self.n_values, self.n_inputs = len(tr.values), len(tr.inputs)
        self.ct, self.root = ct.slot if ct.trace is tr else None, root
        self.nodes, self.leaves, self.ok = [], [], self.ct is not None

    def node(self, node):
        """A node is about to be applied."""
        if node.plan is None or node.extra is not None or node.saved is None:
            self.ok = False
        elif self.ok:
            self.nodes.append((node, tuple(node.saved)))

    def leaf(self, leaf, old, result):
        """A leaf got its gradient: `old` is the Value it had."""
        x = leaf._extra
        if x.hooks or x.post_hooks or x.grad._view is not None or x.grad._extra is not None:
            self.ok = False
        self.leaves.append((leaf, old, result))

    def keep(self):
        """Store the walk at its state, if it was plain from end to end."""
        tr = self.trace
        if not self.ok or context.trace is not tr:
            return
        place, objects, specs = {id(self.root): 0}, [self.root], []
        for node, saved in self.nodes:
            if any(v.trace is not tr for v in saved):
                return
            codes = []
            for e in node.next:
                if e is None:
                    codes.append(None)
                    continue
                target, nr = e if e.__class__ is tuple else (e, 0)
                if id(target) not in place:
                    place[id(target)] = len(objects)
                    objects.append(target)
                codes.append((place[id(target)], nr))
            specs.append((place[id(node)], node.plan, tuple(v.slot for v in saved), tuple(codes)))
        leaves = []
        for leaf, old, result in self.leaves:
            if id(leaf) not in place or result.trace is not tr or (old is not None and old.trace is not tr):
                return
            leaves.append((place[id(leaf)], None if old is None else old.slot, result.slot, result.meta))
        walk = Walk()
        walk.specs, walk.leaves, walk.state = specs, leaves, tr.state
        walk.entered = tuple(v.meta for v in tr.inputs[self.n_inputs:])
        walk.first_input, walk.made = self.n_inputs, len(tr.values) - self.n_values
        if self.state.variants is None:
            self.state.variants = {}
        kept = self.state.variants.setdefault(("backward", self.ct), [])
        kept.insert(0, walk)
        del kept[MOST:]


class Walk:
    """A backward pass as it was recorded once: `specs` of its nodes, its `leaves`, and the `state` it led to."""
    __slots__ = ("specs", "leaves", "state", "entered", "first_input", "made")

    def replay(self, root, retain_graph):
        """Do it again for the graph at `root`, if that is the same graph; whether it was."""
        tr = context.trace
        new = [None] * len(self.entered)
        first = self.first_input

        def fits(v, slot):
            """Whether `v` has the place that the walk expects, or can be entered there."""
            if v.trace is tr:
                return v.slot == slot
            k = ~slot - first
            if slot >= 0 or k < 0 or v.array is None or v.extra is TRACED or v.meta is not self.entered[k]:
                return False
            if new[k] is None:
                new[k] = v
                return True
            return new[k] is v
        objects, nums = [root], []
        for at, plan, slots, codes in self.specs:
            node = objects[at]
            if node.__class__ is tuple or getattr(node, "plan", None) is not plan or node.extra is not None:
                return False
            saved = node.saved
            if saved is None or len(saved) != len(slots):
                return False
            for v, slot in zip(saved, slots):
                if v.trace is tr:
                    if v.slot != slot:
                        return False
                elif not fits(v, slot):
                    return False
            for g in node.guard:
                if g[1].gen != g[3]:
                    return False
            edges = node.next
            if len(edges) != len(codes):
                return False
            for e, code in zip(edges, codes):
                if e is None or code is None:
                    if e is not code:
                        return False
                    continue
                target, nr = e if e.__class__ is tuple else (e, 0)
                if nr != code[1]:
                    return False
                if code[0] == len(objects):
                    objects.append(target)
                elif objects[code[0]] is not target:
                    return False
            if node.nums:
                nums.extend(node.nums)
        for at, old, _, meta in self.leaves:
            leaf = objects[at]
            if not isinstance(leaf, TensorBase):
                return False
            x = leaf._extra
            grad = None
            if x is not None:
                if x.hooks or x.post_hooks:
                    return False
                grad = x.grad
            if old is None or grad is None:
                if grad is not old:
                    return False
            elif grad._view is not None or grad._extra is not None or not fits(grad._st.value, old):
                return False
        if new and (None in new or len({id(v) for v in new}) != len(new)):
            return False
        for v in new:
            v.trace, v.slot = tr, ~len(tr.inputs)
            tr.inputs.append(v)
        values = tr.values
        values.extend([UNSEEN] * self.made)
        for at, old, slot, meta in self.leaves:
            v = Value.__new__(Value)
            v.trace, v.slot, v.meta, v.array, v.extra = tr, slot, meta, None, None
            values[slot] = v
            leaf = objects[at]
            if old is None:
                leaf._more().grad = wrap(v)
            else:
                grad = leaf._extra.grad
                grad._st.value = v
                bump(grad)
        tr.nums.extend(nums)
        tr.state = self.state
        if not retain_graph:
            for at, _, _, _ in self.specs:
                objects[at].release()
        if len(values) >= tr.limit:
            tr.cut()
        return True


UNSEEN = value_of(False, None)                 # the place of a value that nobody ever held


def replayed(root, ct, retain_graph):
    """Replay a kept walk for this backward pass; False when there is none that fits."""
    tr = context.trace
    variants = tr.state.variants
    if variants is None or ct.trace is not tr:
        return False
    for walk in variants.get(("backward", ct.slot), ()):
        if walk.replay(root, retain_graph):
            return True
    return False
