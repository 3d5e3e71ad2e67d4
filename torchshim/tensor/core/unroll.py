"""Writes the fast forms of `apply_any`, of `make_view_any` and of `apply_inplace`: `python -m torchshim.tensor.core.unroll`.

Calls with one to three tensors, and with one and a number, are most of what a program does; unrolled they take half the time of
`apply`, and that takes two thirds of the time of `apply_any`, which does it with calls and leaves nothing out. All are written from one
text, so that there is one way to record (engine/record/trace.py tells why it goes so). Whatever is rare goes to the general function:
several results, operands that cannot be recorded, histories of what is written, and records that are made again.
"""
from __future__ import annotations

import pathlib

#: (name, tensors, whether a number follows, what the docstring says)
FORMS = (
    ("apply1", "a", False, "`op` on one tensor."),
    ("apply2", "ab", False, "`op` on two tensors."),
    ("apply3", "abc", False, "`op` on three tensors."),
    ("apply_number", "a", True, "`op` on one tensor and one Python number, in the order that `layout` says."),
    ("apply_scaled", "ab", True, "`op` on two tensors and one float."),
)
INPLACE = (
    ("inplace1", "a", False, "The in-place `op` on one tensor, which is returned."),
    ("inplace2", "ab", False, "The in-place `op` on two tensors, an elementwise one; the first is returned."),
    ("inplace_number", "a", True, "The in-place `op` on one tensor, which is returned, and one Python number."),
    ("inplace_scaled", "ab", True, "The in-place `op` on two tensors, an elementwise one, and one float; the first is returned."),
)
PUTS = (
    ("put_slice", "ab", False, "Write the tensor `b` through a basic index of `a`, where no gradient is wanted."),
    ("put_slice_number", "a", True, "Write a Python number through a basic index of `a`, where no gradient is wanted."),
)

EMPTY = '""'

BEYOND = '''\
    if kind == "i" and not -2 ** 63 <= x < 2 ** 63:
        return {beyond}
'''

READ = '''\
    if {t}._ts_view is None:
        v{t}, e{t} = {t}._ts_st.value, {t}._ts_edge
        if e{t} is True:
            e{t} = {t}
    else:
        v{t}, e{t} = read({t}), edge({t}) if context.grad else None
'''

FOLLOWED = READ.replace("        v{t}, e{t} = read({t}), edge({t}) if context.grad else None\n", '''\
        try:
            v{t}, e{t} = read({t}), edge({t}) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, {call}
''')

BESIDE = READ.replace("        v{t}, e{t} = read({t}), edge({t}) if context.grad else None\n", '''\
        try:
            v{t}, e{t} = read({t}), edge({t}) if context.grad else None
        except RuntimeError:                   # it lost its history: what the target refuses comes first
            return {again}
''')

READ_VALUE = "    v{t} = {t}._ts_st.value if {t}._ts_view is None else read({t})\n"

ENTER = '''\
    tr = context.trace
{at_once}    try:
        slots = ({slots})
        state = tr.state
    except Immediate:
        state = None
'''

# Small calls that are not worth recording: what Direct.call does (see engine/direct.py).
AT_ONCE = '''\
    direct = tr.direct
    if (direct is not None and {there}{wanted}):
        key = {key}
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, {arrays})
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
{made}                return {result}
{several}'''

SEVERAL_AT_ONCE = '''\
        elif known[1] is not None:             # several results
            made = direct.call(key, {arrays})
            if made is not None:
                return tuple([wrap(v) for v in made])
'''

# The same where the general function tells.
AT_ONCE_ANYHOW = '''\
    if context.trace.direct is not None:
        return {again}
'''

READ_AND_ENTER = '''\
    tr = context.trace
    if tr.direct is not None:
        t = apply_at_once(tr, op, tensors, layout, nums, kinds)
        if t is not None:
            return t
    vals, edges, slots, needs, bit = [], [], [], 0, 1
    try:
        for t in tensors:
            if t._ts_view is None:
                v, e = t._ts_st.value, t._ts_edge
                if e is True:
                    e = t
            else:
                v, e = read(t), edge(t) if context.grad else None
            vals.append(v)
            edges.append(e)
            if e is not None:
                needs |= bit
            bit <<= 1
            slots.append(v.slot if v.trace is tr else tr.enter(v))
        state = tr.state
    except Immediate:
        state = None
    except RuntimeError as error:
        return unfollowed(error, op, tensors, layout, nums, kinds)
    slots, edges = tuple(slots), tuple(edges)
'''

FORM = '''\
def {name}({args}):
    """{doc}"""
{reads}    if state is None:                          # reading or entering an operand has computed this trace
        return {again}
    key, st = (op, layout, {kinds}, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            {miss}
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
{several}    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
{objects}    if {unclean}:
        tr.trim(state)
{number}    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return {again}
    tr.state = st
{done}    if st.n_values >= tr.limit:
        tr.cut()
    return {result}
'''

SEVERAL = '''\
    if inst.out.__class__ is tuple:
        return {again}
'''

OBJECTS = '''\
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
'''

NODE = '''\
{count}    if {wants} and context.grad:
        t._ts_edge = node = graph.make_node(inst, {needs}, {edges}, {vals}, {tensors}, (v,), {nums})
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
'''

OWN_MEMORY = '''\
    if a._ts_st.__class__ is HostStorage:         # read when it is used: it need not read all of the memory
        return make_view_any(a, op, layout, offset)
    direct = context.trace.direct
    if direct is not None:
        t = view_at_once(direct, a, op, layout, offset)
        if t is not None:
            return t
'''

SEEN = '''\
    node = graph.make_node(inst, 1, (ea,), (va,), (a,), (v,), ()) if ea is not None and context.grad else None
    t = _seen_as(a, ((inst, ()),), inst.out, v, offset, node, None)
'''

# What several threads write, they write one after the other; of what processes share each is told.
ALONE = '''\
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return {again}
'''

# What a view that is written says for itself comes before what it, or another operand, says when it is asked for its history.
TARGET = '''\
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    elif context.grad and needs_grad(a):
        return {again}
{at_once}    else:
        va, ea = read(a), None
'''

SMALL_CHANGE = '''\
    elif not a._ts_view.meta.ndim and changed(op, a, x, layout, kind):
        return a
'''

REFUSED = '''\
    if {wants} and context.grad:
        return {again}
    if va.meta.coincident:                   # it may be refused, but not for that alone
        return {again}
{overlap}'''

SAME_MEMORY = '''\
    if a._ts_st is b._ts_st and a is not b:    # it may be refused, or read what it has written
        return {again}
'''

# The four assignments in a row: nothing comes between (see engine/record/trace.py). No version is as high as that of inference mode, or
# of a transform, which may refuse the write: what was recorded for it is dead then.
WRITTEN = '''\
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, {tensors}, 0)
        write(a, v)
'''


def each(tensors, text, between=", "):
    return between.join([text.format(t=t) for t in tensors]) + ("," if len(tensors) == 1 else "")


def filled(name, args, doc, reads, again, objects, done, result="t", miss="st = missed(state, key, {vals}, {tensors})",
           several=SEVERAL, **parts):
    """FORM with its parts, which may name each other."""
    parts.update(again=again)
    return FORM.format(name=name, args=args, doc=doc, reads=reads, objects=objects, done=done.format(**parts), result=result,
                       miss=miss.format(**parts), several=several.format(**parts), **parts)


def operands(tensors, number, again, refused="", read=READ, made="", result="t", wanted=""):
    """What the forms of few tensors say of their operands, each read by `read`; `refused` is what they do before they record; `made` what
    they do with a value that was computed at once, where `wanted` does not tell that a gradient is (empty: one is not, and the result one)."""
    between = ",\n                 " if len(tensors) > 2 else ", "
    bits = [f"(0 if e{t} is None else {1 << k})" for k, t in enumerate(tensors)]
    several, arrays = len(tensors) > 1, ", ".join([f"v{t}.array" for t in tensors] + ["number(x, kind)"] * number)
    return dict(
        reads="".join([read.format(t=t) for t in tensors]) + refused
        + ENTER.format(slots=each(tensors, "v{t}.slot if v{t}.trace is tr else tr.enter(v{t})", between), again=again,
            at_once=made and AT_ONCE.format(
            there=" and ".join([f"v{t}.array.__class__ is ndarray" for t in tensors]), result=result,
            wanted=wanted and f"\n            and not ({wanted} and context.grad)",
            key=f"(op, layout, {'kind' if number else EMPTY}, {', '.join([f'v{t}.meta' for t in tensors])})",
            arrays=arrays, several=SEVERAL_AT_ONCE.format(arrays=arrays) if wanted else "",
            made="".join([" " * 12 + line + "\n" for line in made.splitlines()]))),
        vals=f"({each(tensors, 'v{t}')})", edges=f"({each(tensors, 'e{t}')})", tensors=f"({each(tensors, '{t}')})",
        nums="(x,)" if number else "()", kinds="kind" if number else '""',
        unclean="len(values) != n or len(tr.nums) != state.n_nums" if number else "len(values) != n",
        number="    tr.nums.append(x)\n" if number else "",
        count=f"    needs = {' | '.join(bits)}\n" if several else "",
        wants="needs" if several else "ea is not None", needs="needs" if several else "1")


def arguments(tensors, number):
    return ", ".join(["op", *tensors, *(["x", "layout", "kind"] if number else ["layout"])])


def form(name, tensors, number, doc):
    """The source of one unrolled form of `apply`."""
    call = f"op, ({each(tensors, '{t}')}), layout" + (", (x,), kind)" if number else ")")
    again = f"apply_any({call}"
    wanted = " or ".join([f"e{t} is not None" for t in tensors])
    parts = operands(tensors, number, again, read=FOLLOWED.replace("{call}", call), made=OBJECTS,
                     wanted=f"({wanted})" if len(tensors) > 1 else wanted)
    if number and len(tensors) == 1:
        parts["reads"] = BEYOND.format(beyond="apply(op, (a,), *beyond_int64(a, x, layout))") + parts["reads"]
    return filled(name, arguments(tensors, number), doc, again=again, objects=OBJECTS, done=NODE, **parts)


def general():
    """The source of `apply`: any number of tensors and numbers."""
    return filled(
        "apply", 'op, tensors, layout, nums=(), kinds=""',
        "`op` on tensors, with run-time numbers; a tensor, or a tuple of them when the operator returns several.", READ_AND_ENTER,
        "apply_any(op, tensors, layout, nums, kinds)", OBJECTS, NODE, vals="vals", edges="edges", tensors="tensors", nums="nums",
        kinds="kinds", unclean="len(values) != n or len(tr.nums) != state.n_nums", number="    if kinds:\n        tr.nums.extend(nums)\n",
        count="", wants="needs", needs="needs")


def view():
    """The source of `make_view`."""
    again = "make_view_any(a, op, layout, offset)"
    parts = operands("a", False, again)
    parts["reads"] = OWN_MEMORY + parts["reads"]
    return filled("make_view", "a, op, layout, offset",
                  "`a` seen through the view operator `op`; `offset` is the result's storage offset in elements.", again=again,
                  objects="", done=SEEN, miss="return first_view(a, op, layout, offset)", several="", **parts)


def inplace(name, tensors, number, doc):
    """The source of one unrolled form of `apply_inplace`."""
    again = f"apply_inplace(op, ({each(tensors, '{t}')}), layout" + (", (x,), kind)" if number else ")")
    several = len(tensors) > 1
    parts = operands(tensors, number, again, REFUSED.format(
        wants="(ea is not None or eb is not None)" if several else "ea is not None", again=again,
        overlap=SAME_MEMORY.format(again=again) if several else ""), made=WRITTEN.format(tensors=f"({each(tensors, '{t}')})"), result="a")
    parts["reads"] = parts["reads"].replace(READ.format(t="a"),
                                            TARGET.format(again=again, at_once=SMALL_CHANGE if number and not several else ""))
    parts["reads"] = parts["reads"].replace(READ.format(t="b"), BESIDE.format(t="b", again=again))
    parts["reads"] = ALONE.format(again=again) + parts["reads"]
    if number and not several:                 # first: the general function takes what int64 holds
        parts["reads"] = BEYOND.format(beyond="apply_inplace(op, (a,), layout, (wrapped(x),), kind)") + parts["reads"]
    return filled(name, arguments(tensors, number), doc, again=again, objects="", done=WRITTEN, result="a",
                  miss="st = state.miss(key, {vals})", several="", **parts)


BEGIN = "# -- fast forms, written by unroll.py --------------------------------------------------------------------------------------\n"
END = "# -- end of what unroll.py writes ---------------------------------------------------------------------------------------\n"

def put(name, tensors, number, doc):
    """The source of one unrolled form of `put_slice_any`."""
    again = f"put_slice_any({', '.join(tensors)}, {'None, layout, (x,), kind' if number else 'layout'})"
    args = [*tensors, *(["x", "layout", "kind"] if number else ["layout"]), "op=SLICE_PUT"]
    parts = operands(tensors, number, again, read=READ_VALUE)
    parts["reads"] = ALONE.format(again=again) + AT_ONCE_ANYHOW.format(again=again) + parts["reads"]
    return filled(name, ", ".join(args), doc, again=again, objects="", done=WRITTEN, result="a", miss="return {again}", several="", **parts)


FILES = {"dispatch.py": [*(form(*f) for f in FORMS), general()], "view.py": [view()],
         "inplace.py": [*(inplace(*f) for f in INPLACE), *(put(*f) for f in PUTS)]}


def written(name, source):
    """A file's source with the forms as they should be."""
    before, rest = source.split(BEGIN)
    return before + BEGIN + "\n\n".join(FILES[name]) + "\n\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    for name in FILES:
        path = pathlib.Path(__file__).with_name(name)
        path.write_text(written(name, path.read_text(encoding="utf-8")), encoding="utf-8")
