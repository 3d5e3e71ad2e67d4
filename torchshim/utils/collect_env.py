"""torch.utils.collect_env: what a report of a bug should tell. Functions take `run`, or another that gives (exit code, output, errors)."""
from __future__ import annotations

import collections
import locale
import os
import platform as _platform
import re
import subprocess
import sys

SystemEnv = collections.namedtuple("SystemEnv", """torch_version is_debug_build cuda_compiled_version gcc_version clang_version
    cmake_version os libc_version python_version python_platform is_cuda_available cuda_runtime_version cuda_module_loading
    nvidia_driver_version nvidia_gpu_models cudnn_version is_xpu_available pip_version pip_packages conda_packages hip_compiled_version
    hip_runtime_version miopen_runtime_version caching_allocator_config is_xnnpack_available cpu_info""")
_PACKAGES = ("torch", "jax", "numpy", "mypy", "flake8", "onnx", "triton", "optree", "nvidia-cu")


def run(command):
    """(exit code, output, errors) of a command: a text for the shell, or a list."""
    done = subprocess.run(command, capture_output=True, shell=isinstance(command, str))
    encoding = "oem" if get_platform() == "win32" else locale.getpreferredencoding()
    return done.returncode, done.stdout.decode(encoding).strip(), done.stderr.decode(encoding).strip()


def run_and_read_all(run_lambda, command):
    """A command's output; None where it failed."""
    code, out, _ = run_lambda(command)
    return out if code == 0 else None


def run_and_parse_first_match(run_lambda, command, regex):
    """The first group of a pattern in its output; None where it failed or says nothing of the kind."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found[1] if found else None


def run_and_return_first_line(run_lambda, command):
    """The first line of its output; None where it failed."""
    out = run_and_read_all(run_lambda, command)
    return None if out is None else out.split("\n")[0]


def get_platform():
    """linux, win32, cygwin, darwin, or what Python calls it."""
    return next((p for p in ("linux", "win32", "cygwin", "darwin") if sys.platform.startswith(p)), sys.platform)


def get_gcc_version(run_lambda):
    """Of gcc."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda):
    """Of clang."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda):
    """Of cmake."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_nvidia_smi():
    """The command that asks NVIDIA's driver."""
    return "nvidia-smi"


def get_nvidia_driver_version(run_lambda):
    """Of NVIDIA's driver."""
    return run_and_parse_first_match(run_lambda, get_nvidia_smi(), r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda):
    """The names of NVIDIA's GPUs."""
    out = run_and_read_all(run_lambda, get_nvidia_smi() + " -L")
    return None if out is None else re.sub(r" \(UUID: .+?\)", "", out)


def get_running_cuda_version(run_lambda):
    """Of CUDA's compiler."""
    return run_and_parse_first_match(run_lambda, "nvcc --version", r"release .+ V(.*)")


def get_cudnn_version(run_lambda):
    """Where the system has cuDNN; None where it has none."""
    _, out, _ = run_lambda("ldconfig -p | grep libcudnn | rev | cut -d\" \" -f1 | rev")
    files = sorted({os.path.realpath(name) for name in out.split("\n") if name and os.path.isfile(os.path.realpath(name))})
    return None if not files else files[0] if len(files) == 1 else "Probably one of the following:\n" + "\n".join(files)


def get_linux_pkg_version(run_lambda, pkg_name):
    """The version of a package of Debian's; "N/A" for others."""
    out = run_and_read_all(run_lambda, f"dpkg -l | grep {pkg_name}") if get_platform() == "linux" else None
    words = (out or "").split()
    return words[2] if len(words) > 2 else "N/A"


def get_intel_gpu_driver_version(run_lambda):
    """The packages of Intel's drivers, one in a line."""
    found = [(name, get_linux_pkg_version(run_lambda, name)) for name in ("intel-opencl-icd", "libze1", "level-zero")]
    return "\n".join([f"* {name}:\t{version}" for name, version in found if version != "N/A"])


def get_intel_gpu_onboard(run_lambda):
    """"N/A": Intel's GPUs are not used."""
    return "N/A"


get_intel_gpu_detected = get_intel_gpu_onboard


def get_cpu_info(run_lambda):
    """What the system tells of the processor."""
    command = {"linux": "lscpu", "darwin": "sysctl -n machdep.cpu.brand_string"}.get(get_platform())
    if command is None:
        return _platform.processor()
    code, out, errors = run_lambda(command)
    return out if code == 0 else errors


def get_mac_version(run_lambda):
    """Of macOS."""
    return run_and_parse_first_match(run_lambda, "sw_vers -productVersion", r"(.*)")


def get_windows_version(run_lambda):
    """Of Windows."""
    return _platform.platform()


def get_lsb_version(run_lambda):
    """The distribution, as lsb_release tells it."""
    return run_and_parse_first_match(run_lambda, "lsb_release -a", r"Description:\t(.*)")


def check_release_file(run_lambda):
    """The distribution, as its file tells it."""
    return run_and_parse_first_match(run_lambda, "cat /etc/*-release", r'PRETTY_NAME="(.*)"')


def get_os(run_lambda):
    """The system with its version and machine."""
    system, machine = get_platform(), _platform.machine()
    if system in ("win32", "cygwin"):
        return get_windows_version(run_lambda)
    if system == "darwin":
        version = get_mac_version(run_lambda)
        return None if version is None else f"macOS {version} ({machine})"
    if system == "linux":
        return f"{get_lsb_version(run_lambda) or check_release_file(run_lambda) or system} ({machine})"
    return system


def get_python_platform():
    """The platform, as Python tells it."""
    return _platform.platform()


def get_libc_version():
    """Of the C library of Linux."""
    return "-".join(_platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_pip_packages(run_lambda, patterns=None):
    """(the command, the installed packages whose lines have one of `patterns`)."""
    out = run_and_read_all(run_lambda, [sys.executable, "-mpip", "list", "--format=freeze"]) or ""
    wanted = _PACKAGES if patterns is None else patterns
    return "pip3", "\n".join([line for line in out.splitlines() if any([p in line for p in wanted])])


def get_conda_packages(run_lambda, patterns=None):
    """The same of conda; None where there is none."""
    out = run_and_read_all(run_lambda, f"{os.environ.get('CONDA_EXE', 'conda')} list")
    wanted = (*_PACKAGES, "cudatoolkit", "mkl") if patterns is None else patterns
    return None if out is None else "\n".join([s for s in out.splitlines() if not s.startswith("#") and any([p in s for p in wanted])])


def get_cachingallocator_config():
    """What the environment tells XLA of the GPU's memory."""
    return "\n".join([f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("XLA_PYTHON_CLIENT_")])


def get_cuda_module_loading_config():
    """What the environment tells CUDA of loading; "N/A" without a GPU."""
    from .. import cuda
    return os.environ.get("CUDA_MODULE_LOADING", "") if cuda.is_available() else "N/A"


def is_xnnpack_available():
    """False: it is not used."""
    return "False"


def get_env_info():
    """A SystemEnv of this machine and process."""
    from .. import __torchshim_version__, __version__, cuda
    _, packages = get_pip_packages(run)
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=f"{__version__} (torchshim {__torchshim_version__})", is_debug_build="False", cuda_compiled_version="N/A",
        gcc_version=get_gcc_version(run), clang_version=get_clang_version(run), cmake_version=get_cmake_version(run), os=get_os(run),
        libc_version=get_libc_version(), python_version=f"{sys.version.replace(chr(10), ' ')} ({bits}-bit runtime)",
        python_platform=get_python_platform(), is_cuda_available=str(cuda.is_available()),
        cuda_runtime_version=get_running_cuda_version(run), cuda_module_loading=get_cuda_module_loading_config(),
        nvidia_driver_version=get_nvidia_driver_version(run), nvidia_gpu_models=get_gpu_info(run), cudnn_version=get_cudnn_version(run),
        is_xpu_available="False", pip_version="pip3", pip_packages=packages, conda_packages=get_conda_packages(run),
        hip_compiled_version="N/A", hip_runtime_version="N/A", miopen_runtime_version="N/A",
        caching_allocator_config=get_cachingallocator_config(), is_xnnpack_available=is_xnnpack_available(), cpu_info=get_cpu_info(run))


_LINES = """PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}"""


def pretty_str(envinfo):
    """A SystemEnv as text."""
    shown = {k: "Could not collect" if v is None else v for k, v in envinfo._asdict().items()}
    shown["pip_packages"] = "\n".join([f"[pip3] {line}" for line in shown["pip_packages"].splitlines()]) or "[pip3] No relevant packages"
    shown["conda_packages"] = ("\n".join([f"[conda] {line}" for line in (envinfo.conda_packages or "").splitlines()])
                               or "[conda] Could not collect")
    return _LINES.format(**shown)


def get_pretty_env_info():
    """Versions and platform, as text."""
    return pretty_str(get_env_info())


def main():
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
