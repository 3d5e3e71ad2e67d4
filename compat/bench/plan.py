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
    "per_sample": ("derivatives", {"kind": "per_sample"}, ("plain",)),
    "stencil": ("stencil", {}, ("plain", "item_after", "lr")),
    "decoding": ("decoding", {}, ("plain",)),
}

# The scripts, each with a number of steps after two thirds of which what pays is compiled, where it is waited for with `PATIENCE`.
SCRIPTS = {"char_gpt": 600, "char_rnn": 4500, "convnet": 900, "gan": 900, "graph_conv": 900, "lbfgs_regression": 60, "lstm_lm": 900,
           "maml": 900, "mlp_classifier": 2400, "reinforce": 900, "seq2seq": 900, "vae": 900}
PATIENCE = 0.01            # of the repetitions after which they would be compiled otherwise: thousands
OTHERS_STEPS = 300         # of them torch's and JAX's own steps are timed in runs of so many at most

# The project's aims: at most so many times torch eager's time, and a hand-written jax.jit step's.
AIMS = {
    "mlp_small": (0.6, 1.3),
    "mlp_mnist": (0.6, 1.3),
    "rnn": (1.0, None),
    "gpt": (1.0, None),
    "penalty": (0.7, None),
    "jacobian": (0.7, None),
    "hessian": (0.7, None),
    "per_sample": (1.0, None),
    "tutorial": (1.0, None),
    "stencil": (1.3, None),
    "decoding": (1.5, None),
}
# A step once warm; as they are, with empty caches: wall and CPU time from start to end, peak memory.
SCRIPT_AIMS = {"step": 1.0, "total": 2.0, "cpu": 2.0, "mb": 1.1}
SCRIPTS_AIM = 0.6          # steps once warm, in the geometric mean
RECORD_AIM = 2.5
NODE_AIM = 1.0             # a node of a backward that goes node by node, over recording an operator
# Milliseconds: of a call with other integers, or whose result's shape depends on data; of a small perceptron's step at a new batch size.
COSTS = {"changing": 0.3, "shapes": {"never seen": 1.5, "seen once": 0.6}}
WHOLE_AIM = 1.5            # a script from start to end, with empty caches
VARIETY_AIM = 3            # the one in which nothing comes again
IMPORT_AIM = 1.3
OPERATOR_AIM, FAMILY_AIM = 1.0, 2.0      # the sweep over operators: all of them, each family (geometric means)
SIZES = ("1k", "100k", "4M")
