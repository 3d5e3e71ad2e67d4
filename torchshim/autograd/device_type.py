"""Kinds of devices, by torch's numbers."""
import enum


class DeviceType(enum.Enum):
    """Where an event ran."""
    (CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA, Vulkan, Metal, XPU, MPS, Meta, HPU, VE, Lazy, IPU, MTIA,
     PrivateUse1) = range(21)

    def __int__(self):
        return self.value
