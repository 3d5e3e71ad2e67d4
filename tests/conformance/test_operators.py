"""Protects the table of operators: it is made from the registry, has each name once, and none is missing."""
from compat.operators import table


def test_the_table_of_operators():
    rows = {name: row for name, *row in table()}
    assert len(rows) == len(table())
    assert rows["add"][:2] == ["declared", "function, method, in place, out="] and rows["add"][3].startswith("ops/arithmetic.py:")
    assert rows["argmax"][2] == "none" and rows["floor_divide"][2] == "refused, as by torch"
    assert rows["cat"][0] == "composite" and rows["nn.functional.conv2d"][0] == "composite" and not [r
        for r in rows.values() if r[0] == "missing"]
