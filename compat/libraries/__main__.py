"""`python -m compat.libraries --torch PYTHON --packages FOLDER`: libraries that are written for PyTorch, unmodified, here and with torch.

Each program under `programs/` exercises some of them and prints a line for each of its cases: values, gradients, losses, or the error. The
lines of both are compared number by number. FOLDER holds the libraries without torch, for both interpreters:
`pip install --no-deps --target FOLDER` and what `--list` prints. What is not there is told as missing on both sides, and agrees.
torchvision has to be the one made for that torch (with its compiled operators), or all that imports it is told as failing.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from compat.processes import environment

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
PACKAGES = """transformers tokenizers huggingface_hub safetensors regex pyyaml requests urllib3 charset_normalizer certifi idna tqdm filelock
packaging fsspec httpx httpx2 httpcore httpcore2 anyio sniffio h11 truststore typer click shellingham rich pygments typing_extensions
accelerate psutil peft diffusers pillow importlib_metadata pytorch_lightning lightning_utilities torch_geometric jinja2 markupsafe aiohttp
aiosignal frozenlist multidict yarl attrs aiohappyeyeballs propcache xxhash torchdiffeq torchsde trampoline boltons e3nn opt_einsum_fx
opt_einsum sympy mpmath higher geoopt nflows normflows x_transformers vector_quantize_pytorch torch_einops_utils rotary_embedding_torch
frozendict loguru einops einx pytorch_optimizer torch_optimizer pytorch_ranger tensorly torchinfo gpytorch linear_operator jaxtyping
wadler_lindig botorch multipledispatch pyre_extensions pyro_ppl pyro_api kornia kornia_rs captum matplotlib contourpy cycler fonttools
kiwisolver pyparsing python_dateutil six torchmetrics pytorch_metric_learning scikit_learn joblib threadpoolctl entmax scipy networkx
typing_inspection annotated_doc torchvision timm segmentation_models_pytorch open_clip_torch ftfy wcwidth ultralytics ultralytics_thop
opencv_python_headless piq pytorch_msssim lpips grad_cam ttach lightly lightly_utils stable_baselines3 sb3_contrib gymnasium cloudpickle
farama_notifications pandas tianshou sensai_utils overrides deepdiff orderly_set cachebox absl_py numba llvmlite tensordict torchrl orjson
pyvers skorch tabulate narwhals pytorch_ignite fastai fastcore fastprogress fasttransform plum_dispatch fastdownload python_fasthtml
starlette itsdangerous python_multipart apswutils fastlite monai torchensemble vit_pytorch denoising_diffusion_pytorch ema_pytorch
beartype
auraloss julius nnaudio torchlibrosa librosa lazy_loader audioread soxr soundfile cffi pycparser pooch platformdirs msgpack decorator
asteroid asteroid_filterbanks zuko sbi tensorboard tensorboard_data_server protobuf grpcio markdown werkzeug bayesian_torch
blitz_bayesian_pytorch laplace_torch asdfghjkl unfoldNd einconv curvlinops_for_pytorch backpack_for_pytorch mace_torch torch_ema lmdb ase
matscipy h5py torchani neuraloperator tensorly_torch deepxde scikit_optimize pyaml neurodiffeq seaborn torchcde geomloss pot
pytorch_wavelets pywavelets ptwt torch_dct torchquad autoray cvxpylayers cvxpy diffcp qpth scs clarabel osqp qdldl pytorch_tabnet
rtdl_revisiting_models rtdl_num_embeddings opacus cooper_optim pytorch_crf sentence_transformers pytz tzdata dill configmypy ruamel.yaml""".split()
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-?\binf\b|\bnan\b")
RELATIVE, ABSOLUTE = 2e-4, 3e-5


def run(command, program, packages, timeout):
    """{case: what it printed}, and the seconds it all took; what a process that is ended has printed counts."""
    env = environment({"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")})
    env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], packages])
    start = time.perf_counter()
    process = subprocess.Popen([*command, str(program)], cwd=PROGRAMS, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        printed = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        printed = process.communicate()[0]
    lines = [line.split("\t", 1) for line in printed.splitlines() if "\t" in line]
    return dict(lines), time.perf_counter() - start


def alike(a, b):
    """Whether two lines have the same words and nearly the same numbers."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = [(float(x), float(y)) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b))]
    return all([x == y or x != x and y != y or abs(x - y) <= RELATIVE * max(abs(x), abs(y)) + ABSOLUTE for x, y in pairs])


def main(argv=None):
    """The command; returns 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m compat.libraries", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON", help="interpreter that has real torch")
    parser.add_argument("--packages", metavar="FOLDER", help="where the libraries are installed")
    parser.add_argument("--runner", default=f"{shlex.quote(sys.executable)} -m torchshim")
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose name matches")
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--list", action="store_true", help="print the packages and end")
    args = parser.parse_args(argv)
    if args.list:
        print(*PACKAGES)
        return 0
    if not args.torch or not args.packages:
        parser.error("--torch and --packages are needed")
    differ = 0
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        if not re.search(args.only, program.stem):
            continue
        theirs, slow = run(shlex.split(args.torch), program, args.packages, args.timeout)
        ours, seconds = run(shlex.split(args.runner), program, args.packages, args.timeout)
        wrong = [k for k in theirs if k not in ours or not alike(theirs[k], ours[k])] + [k for k in ours if k not in theirs]
        differ += len(wrong)
        worked = sum([not line.startswith("ERROR") for line in theirs.values()])
        print(f"{program.stem}: {len(theirs) - len(wrong)} of {len(theirs)} cases agree ({worked} of them without an error in torch); "
              f"{seconds:.0f} s, torch {slow:.0f} s", flush=True)
        for k in wrong:
            print(f"    {k}\n        torch: {theirs.get(k, 'nothing')[:300]}\n        ours:  {ours.get(k, 'nothing')[:300]}")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
