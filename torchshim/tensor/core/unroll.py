"""Writes the fast forms of `apply_any` into dispatch.py: `python -m torchshim.tensor.core.unroll`.

Calls with one or two tensors, and with one and a number, are most of what a program does; unrolled they take half the time of
`apply`, and that takes two thirds of the time of `apply_any`, which does it with calls and leaves nothing out. All are written from one
text, so that there is one way to record (engine/record/trace.py tells why it goes so). Whatever is rare goes to `apply_any`: several
results, operands that cannot be recorded, and records that are made again.
"""
from __future__ import annotations

import pathlib

FORMS = (
    ("apply1", "a", False, "`op` on one tensor."),
    ("apply2", "ab", False, "`op` on two tensors."),
    ("apply_number", "a", True, "`op` on one tensor and one Python number, in the order that `layout` says."),
)

BEYOND = '''\
    if kind == "i" and not -2 ** 63 <= x < 2 ** 63:
        return apply(op, (a,), *beyond_int64(a, x, layout))
'''

READ = '''\
    if {t}._view is None:
        v{t}, e{t} = {t}._st.value, {t}._edge
        if e{t} is True:
            e{t} = {t}
    else:
        v{t}, e{t} = read({t}), edge({t})
'''

ENTER = '''\
    tr = context.trace
    try:
        slots = ({slots})
    except Immediate:
        return apply_any({again})
'''

READ_AND_ENTER = '''\
    tr = context.trace
    vals, edges, slots, needs, bit = [], [], [], 0, 1
    try:
        for t in tensors:
            if t._view is None:
                v, e = t._st.value, t._edge
                if e is True:
                    e = t
            else:
                v, e = read(t), edge(t)
            vals.append(v)
            edges.append(e)
            if e is not None:
                needs |= bit
            bit <<= 1
            slots.append(v.slot if v.trace is tr else tr.enter(v))
    except Immediate:
        return apply_any(op, tensors, layout, nums, kinds)
    slots, edges = tuple(slots), tuple(edges)
'''

FORM = '''\
def {name}({args}):
    """{doc}"""
{reads}    state = tr.state
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any({again})
    key = (op, layout, {kinds}, slots)
    st = state.next.get(key)
    if st is None:
        st = state.miss(key, {vals})
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any({again})
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, n, inst.out, None, None
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, tr.version, None
    t._st, t._view, t._edge, t._extra = s, None, None, None
    if {unclean}:
        tr.trim(state)
{number}    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any({again})
    tr.state = st
{count}    if {wants} and context.grad:
        t._edge = node = graph.make_node(inst, {needs}, {edges}, {vals}, {tensors}, (v,), {nums})
        if node is not None and node.plan.outs:
            guard_output(node, 0, s)
    if st.n_values >= tr.limit:
        tr.cut()
    return t
'''

BEGIN = "# -- fast forms of `apply_any`, written by unroll.py -----------------------------------------------------------------------\n"
END = "# -- end of what unroll.py writes ---------------------------------------------------------------------------------------\n"


def form(name, tensors, number, doc):
    """The source of one unrolled form."""
    def each(text):
        return ", ".join(text.format(t=t) for t in tensors) + ("," if len(tensors) == 1 else "")
    several = len(tensors) > 1
    bits = [f"(0 if e{t} is None else {1 << k})" for k, t in enumerate(tensors)]
    again = f"op, ({each('{t}')}), layout" + (", (x,), kind" if number else "")
    return FORM.format(
        name=name, doc=doc, args=", ".join(["op", *tensors, *(["x", "layout", "kind"] if number else ["layout"])]), again=again,
        reads=(BEYOND if number else "") + "".join(READ.format(t=t) for t in tensors)
        + ENTER.format(slots=each("v{t}.slot if v{t}.trace is tr else tr.enter(v{t})"), again=again),
        vals=f"({each('v{t}')})", edges=f"({each('e{t}')})", tensors=f"({each('{t}')})",
        nums="(x,)" if number else "()", kinds="kind" if number else '""',
        unclean="len(values) != n or len(tr.nums) != state.n_nums" if number else "len(values) != n",
        number="    tr.nums.append(x)\n" if number else "",
        count=f"    needs = {' | '.join(bits)}\n" if several else "",
        wants="needs" if several else "ea is not None", needs="needs" if several else "1")


def general():
    """The source of `apply`: any number of tensors and numbers."""
    return FORM.format(
        name="apply", doc="`op` on tensors, with run-time numbers; a tensor, or a tuple of them when the operator returns several.",
        args='op, tensors, layout, nums=(), kinds=""', again="op, tensors, layout, nums, kinds", reads=READ_AND_ENTER,
        vals="vals", edges="edges", tensors="tensors", nums="nums", kinds="kinds",
        unclean="len(values) != n or len(tr.nums) != state.n_nums", number="    if kinds:\n        tr.nums.extend(nums)\n",
        count="", wants="needs", needs="needs")


def written(source):
    """dispatch.py's source with the forms as they should be."""
    before, rest = source.split(BEGIN)
    return before + BEGIN + "\n\n".join([*(form(*f) for f in FORMS), general()]) + "\n\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("dispatch.py")
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
