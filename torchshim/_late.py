"""What `torch.` has and imports only when it is first asked for: rarely used parts, and names of theirs."""

MODULES = ("testing",)
NAMES = {}                 # {name: the submodule that has it}
