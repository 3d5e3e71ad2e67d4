"""torch.backends.quantized: the engine whose roundings quantized operators follow; `x86` and `onednn` convolve as oneDNN does,
others as FBGEMM."""
engine = "x86"
supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
