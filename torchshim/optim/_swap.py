"""An optimizer that works on other parameters for a while."""
from __future__ import annotations

import contextlib
from collections import defaultdict


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """While the context lasts the optimizer has these parameters, in its own order (or a dict of them), and the state and options of
    `swapin_optim_state`, a dict as its state_dict() gives one. Writes into those tensors stay; tensors that the optimizer makes do not."""
    given = list(swapin_parameters.values() if isinstance(swapin_parameters, dict) else swapin_parameters)
    groups, state = optimizer.param_groups, optimizer.state
    wanted = sum([len(g["params"]) for g in groups])
    if len(given) != wanted:
        raise ValueError(f"expected {wanted} parameters, as many as the optimizer has, but got {len(given)}")
    rows = swapin_optim_state["param_groups"]
    if [len(g["params"]) for g in rows] != [len(g["params"]) for g in groups]:
        raise ValueError("swapin_optim_state has groups of other sizes than the optimizer")
    follow = iter(given)
    by_id, swapped = {}, []
    for row in rows:
        params = [next(follow) for _ in row["params"]]
        by_id.update(zip(row["params"], params))
        swapped.append({**row, "params": params})
    held = defaultdict(dict)
    for key, value in swapin_optim_state["state"].items():
        held[by_id.get(key, key)] = dict(value) if isinstance(value, dict) else value
    optimizer.param_groups, optimizer.state = swapped, held
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, state
