"""What is timed: programs, their variants, the scripts, and what each is held to."""
TRAINING = ("plain", "keep", "item_after", "item_before", "lr", "eval")

# name: (file, options of setup, variants)
PROGRAMS = {
    "mlp_small": ("mlp", {"sizes": [64, 64, 64, 64, 64, 10]}, TRAINING),
    "mlp_mnist": ("mlp", {"sizes": [784, 256, 256, 10]}, TRAINING),
    "rnn": ("rnn", {}, TRAINING),
    "gpt": ("gpt", {}, TRAINING),
    "tutorial": ("tutorial", {}, ("plain",)),
    "penalty": ("derivatives", {"kind": "penalty"}, ("plain",)),
    "jacobian": ("derivatives", {"kind": "jacobian"}, ("plain",)),
    "hessian": ("derivatives", {"kind": "hessian"}, ("plain",)),
    "stencil": ("stencil", {}, ("plain", "item_after", "lr")),
    "decoding": ("decoding", {}, ("plain",)),
}

SCRIPTS = ("char_gpt", "char_rnn", "convnet", "gan", "graph_conv", "lbfgs_regression", "lstm_lm", "maml", "mlp_classifier", "reinforce",
           "seq2seq", "vae")

# The project's aims: at most so many times torch eager's time, and a hand-written jax.jit step's.
AIMS = {
    "mlp_small": (0.6, 1.3),
    "mlp_mnist": (0.6, 1.3),
    "rnn": (1.0, None),
    "gpt": (1.0, None),
    "penalty": (0.7, None),
    "jacobian": (0.7, None),
    "hessian": (0.7, None),
    "tutorial": (1.0, None),
    "stencil": (1.3, None),
    "decoding": (1.5, None),
}
SCRIPT_AIMS = (1.0, 2.0, 1.1)     # a step once warm, CPU time from start to end with empty caches, peak memory
RECORD_AIM = 2.5
NODE_AIM = 1.0             # a node of a backward that goes node by node, over recording an operator
# Milliseconds: of a call with other integers, or whose result's shape depends on data; of a small perceptron's step at a new batch size.
COSTS = {"changing": 0.3, "shapes": {"never seen": 1.5, "seen once": 0.6}}
WHOLE_AIM = 1.5            # a script from start to end, with empty caches
VARIETY_AIM = 3            # the one in which nothing comes again
IMPORT_AIM = 1.3
OPERATOR_AIM, FAMILY_AIM = 1.0, 2.0      # the sweep over operators: all of them, each family (geometric means)
SIZES = ("1k", "100k", "4M")
