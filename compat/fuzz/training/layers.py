"""Layers with their options, by the shape of what they take: (template, width they leave). `{a|b}` stands for one of several texts; {c} is
the width that comes in, {d} another one."""

ACTIVATIONS = ["ReLU({|inplace=True})", "GELU({|'tanh'})", "SiLU({|inplace=True})", "Tanh()", "ELU({|0.5|0.7, inplace=True})",
    "LeakyReLU({|0.2|0.3, True})", "Softplus({|2.0|1.0, 0.5})", "Hardswish({|inplace=True})", "Mish()", "PReLU({|init=0.1|{c}})",
    "Sigmoid()", "Hardtanh({|-0.5, 0.5})", "LogSigmoid()", "SELU()", "CELU({|0.7})", "Softsign()", "Threshold(0.1, 0.3)", "ReLU6()",
    "Hardsigmoid()", "Tanhshrink()", "Softshrink({|0.1})", "Hardshrink({|0.2})", "Identity()", "RReLU({|0.1, 0.3})",
    "Softmax({1|-1|dim=1})", "Softmin(1)", "LogSoftmax(-1)",]
ROWS = [("nn.Linear({c}, {d}{||, bias=False})", "d"), ("nn.Linear({c}, {d}{|, bias=False})", "d"), ("nn.LazyLinear({d}{|, bias=False})",
    "d"), ("nn.LayerNorm({c}{|, 1e-3|, elementwise_affine=False|, bias=False})", "c"), (
    "nn.RMSNorm({c}{|, eps=1e-3|, elementwise_affine=False})", "c"), (
    "nn.BatchNorm1d({c}{|, momentum=None|, affine=False|, track_running_stats=False|, 1e-3, 0.3})", "c"), ("nn.LazyBatchNorm1d()", "c"), (
    "nn.Dropout({0.1|0.5|0.0|1.0})", "c"), ("nn.AlphaDropout(0.2)", "c"), ("nn.FeatureAlphaDropout(0.2)", "c"), (
    "Residual(nn.LayerNorm({c}), nn.Linear({c}, 4), nn.ReLU(), nn.Linear(4, {c}))", "c"), ("nn.GLU({|-1}), nn.LazyLinear({d})", "d"), (
    "nn.Unflatten(1, (1, {c})), nn.Flatten()", "c"), ("nn.GroupNorm(1, {c}{|, affine=False})", "c"), (
    "nn.utils.parametrizations.{weight_norm|spectral_norm|orthogonal}(nn.Linear({c}, {d}))", "d"), (
    "nn.utils.parametrizations.weight_norm(nn.Linear({c}, {d}), dim={1|None|0})", "d"), (
    "nn.utils.parametrizations.orthogonal(nn.Linear({c}, {d}), orthogonal_map={'householder'|'cayley'|'matrix_exp'}{|, "
    "use_trivialization=False})", "d"), (
    "nn.utils.parametrizations.spectral_norm(nn.Linear({c}, {d}), n_power_iterations={2|1}{|, eps=1e-6|, dim=1})", "d"), (
    "nn.utils.{weight_norm|spectral_norm}(nn.Linear({c}, {d}))", "d"), (
    "parametrized(nn.Linear({c}, {c}), 'weight', {Symmetric()|Skew()|Positive()|Clipped()})", "c"), (
    "nn.utils.prune.{l1_unstructured|random_unstructured}(nn.Linear({c}, {d}), 'weight', {0.3|1|0.5})", "d"), (
    "nn.utils.prune.ln_structured(nn.Linear({c}, {d}), 'weight', {1|0.5}, n={1|2|float('inf')}, dim={0|1|-1})", "d"), (
    "nn.utils.prune.random_structured(nn.Linear({c}, {d}), 'bias' if 0 else 'weight', 1, dim={0|1})", "d"), (
    "nn.utils.prune.custom_from_mask(nn.Linear({c}, {d}), 'bias', torch.arange({d}) % 2)", "d"), ("Gated({c}, {d})", "d"), (
    "Own(lambda v: v + 0.1 * torch.randn_like(v))", "c"), ("Own(lambda v: F.dropout(v, 0.3))", "c"), ("Experts({c}, {d})", "d"), (
    "Own(lambda v: F.normalize(v{|, dim=0|, p=1}))", "c"), ("Quantizer({c}, 5)", "c"), ("Counting()", "c"), ("Noisy({c})", "c"), (
    "nn.Hardtanh(), nn.Linear({c}, {d}), nn.Softmax(-1)", "d"), ("LowRank({c}, {d})", "d"), ("Cosine({c}, {d})", "d"),]
IMAGES = [
    ("nn.Conv2d({c}, {d}, 3{, padding=1|, 1, 1|, stride=2, padding=1|, padding='same'|, padding=2, dilation=2|}{|, bias=False})", "d"),
    ("nn.Conv2d({c}, {d}, 3, padding={1|(1, 2)|'same'}, padding_mode={'reflect'|'circular'|'replicate'|'zeros'})", "d"), (
    "nn.Conv2d({c}, {c}, {3|(3, 2)|1}, padding=1, groups={c})", "c"), ("nn.Conv2d({c}, {d}, (3, 1), padding=(1, 0))", "d"), (
    "nn.LazyConv2d({d}, 3{, padding=1|})", "d"), ("nn.ConvTranspose2d({c}, {d}, {2, 2|3, padding=1|3, 2, 1, 1|3, 1, 1, dilation=2})", "d"),
    ("nn.LazyConvTranspose2d({d}, 2)", "d"), ("nn.BatchNorm2d({c}{|, momentum=None|, affine=False|, track_running_stats=False})", "c"), (
    "nn.BatchNorm2d({c})", "c"), ("nn.LazyBatchNorm2d()", "c"), ("nn.SyncBatchNorm({c})", "c"), ("nn.GroupNorm(1, {c})", "c"), (
    "nn.InstanceNorm2d({c}{|, affine=True|, track_running_stats=True})", "c"), ("nn.LazyInstanceNorm2d({|affine=True})", "c"), (
    "nn.MaxPool2d({2|3, 1, 1|3, 2, 1|2, ceil_mode=True|2, dilation=2|(2, 1)})", "c"), ("Unpooled()", "c"), (
    "nn.AvgPool2d({2|3, 1, 1|3, 1, 1, count_include_pad=False|2, ceil_mode=True|2, divisor_override=3})", "c"), (
    "nn.LPPool2d({2|1|3}, {2|3, 1})", "c"), ("nn.FractionalMaxPool2d(2, output_ratio=0.6)", "c"), ("nn.AdaptiveAvgPool2d({3|(2, None)})",
    "c"), ("nn.AdaptiveMaxPool2d({3|(2, 3)})", "c"), ("nn.Dropout2d(0.3)", "c"), ("nn.LocalResponseNorm({2|3, 0.1, 0.5, 2.})", "c"), (
    "nn.Upsample(scale_factor={2|1.5}, mode={'nearest'|'bilinear'|'bicubic'|'nearest-exact'|'area'})", "c"), (
    "nn.Upsample({6|(5, 7)}, mode='bilinear', align_corners=True)", "c"), ("nn.UpsamplingBilinear2d(scale_factor=2)", "c"), (
    "nn.PixelShuffle(1), nn.PixelUnshuffle(2), nn.LazyConv2d({d}, 1)", "d"), ("nn.Softmax2d()", "c"), ("nn.ChannelShuffle({c})", "c"), (
    "nn.{Zero|Reflection|Replication|Circular}Pad2d({1|(1, 0, 1, 0)})", "c"), ("nn.ConstantPad2d(1, 0.5)", "c"), (
    "Residual(nn.Conv2d({c}, {c}, 3, padding=1, bias=False), nn.BatchNorm2d({c}), nn.ReLU(), nn.Conv2d({c}, {c}, 1))", "c"), (
    "nn.utils.parametrizations.{weight_norm|spectral_norm}(nn.Conv2d({c}, {d}, 3, padding=1))", "d"), (
    "nn.utils.parametrizations.spectral_norm(nn.ConvTranspose2d({c}, {d}, 2))", "d"), ("Squeeze({c})", "c"), (
    "Own(lambda v: v.contiguous(memory_format=torch.channels_last))", "c"), ("Patches({c}, {d})", "d"), ("AxialMean()", "c"), (
    "Own(lambda v: torch.cat([v, v.flip(-1)], 1)), nn.Conv2d(2 * {c}, {d}, 1)", "d"), ("Own(lambda v: v[..., 1:, 1:])", "c"), (
    "Own(lambda v: torch.fft.irfft2(torch.fft.rfft2(v) * 0.5, s=v.shape[-2:]))", "c"), ("nn.Dropout(0.2)", "c"), (
    "nn.Fold((4, 4), 2, stride=2) if 0 else nn.Identity()", "c"), ("nn.utils.prune.l1_unstructured(nn.Conv2d({c}, {d}, 3), 'weight', 0.5)",
    "d"), ("nn.utils.fuse_conv_bn_eval(nn.Conv2d({c}, {d}, 1).eval(), nn.BatchNorm2d({d}).eval())", "d"), (
    "Checkpointed(nn.Conv2d({c}, {d}, 1))", "d"),]
SERIES = [("nn.Conv1d({c}, {d}, 3{, padding=1|, 2, 1|, padding='same'|, padding=2, dilation=2|}{|, bias=False})", "d"), (
    "nn.LazyConv1d({d}, 2)", "d"), ("nn.Conv1d({c}, {d}, 3, padding=1, padding_mode={'reflect'|'circular'|'replicate'})", "d"), (
    "nn.ConvTranspose1d({c}, {d}, {2, 2|3, 1, 1})", "d"), ("nn.BatchNorm1d({c}{|, affine=False})", "c"), (
    "nn.InstanceNorm1d({c}{|, affine=True})", "c"), ("nn.MaxPool1d({2|3, 1, 1|2, ceil_mode=True})", "c"), (
    "nn.AvgPool1d({2|3, 1, 1, count_include_pad=False})", "c"), ("nn.LPPool1d(2, 2)", "c"), ("nn.AdaptiveAvgPool1d(4)", "c"), (
    "nn.AdaptiveMaxPool1d(3)", "c"), ("nn.Dropout1d(0.3)", "c"), ("nn.{Reflection|Replication|Circular|Zero}Pad1d({1|(1, 0)})", "c"), (
    "nn.ConstantPad1d((2, 0), 0.3)", "c"), ("nn.Upsample(scale_factor=2, mode={'nearest'|'linear'})", "c"), ("Causal({c}, {d}{|, 2})", "d"),
    ("nn.GroupNorm(1, {c})", "c"), ("Own(lambda v: v.cumsum(-1))", "c"), (
    "Own(lambda v: F.unfold(v[:, None], (v.shape[1], 3), padding=(0, 1)))" ", nn.LazyConv1d({d}, 1)", "d"), (
    "Own(lambda v: torch.stft(v.flatten(0, 1), 4, 2, window=torch.hann_window(4), return_complex=True).abs()"
    ".unflatten(0, v.shape[:2]).mean(2))", "c"), ("nn.utils.parametrizations.weight_norm(nn.Conv1d({c}, {d}, 2))", "d"), ("Glued({c}, {d})",
    "d"),]
VOLUMES = [("nn.Conv3d({c}, {d}, {2|3, padding=1|(1, 2, 2)|3, padding='same'}{|, bias=False})", "d"), ("nn.ConvTranspose3d({c}, {d}, 2)",
    "d"), ("nn.BatchNorm3d({c})", "c"), ("nn.InstanceNorm3d({c}, affine=True)", "c"), ("nn.MaxPool3d({2|2, 1|3, 1, 1})", "c"), (
    "nn.AvgPool3d({2|2, 1})", "c"), ("nn.AdaptiveAvgPool3d(2)", "c"), ("nn.AdaptiveMaxPool3d((2, 1, 2))", "c"), ("nn.Dropout3d(0.3)", "c"),
    ("nn.GroupNorm(1, {c})", "c"), ("nn.{Reflection|Replication|Circular|Zero}Pad3d(1)", "c"), ("nn.ConstantPad3d(1, 0.2)", "c"), (
    "nn.LazyConv3d({d}, 1)", "d"), ("nn.Upsample(scale_factor=2, mode={'nearest'|'trilinear'})", "c"), ("nn.LPPool3d(2, 2)", "c"), (
    "nn.FractionalMaxPool3d(2, output_size=2)", "c"),]
SEQUENCES = [("nn.Linear({c}, {d})", "d"), ("nn.LayerNorm({c})", "c"), ("nn.RMSNorm({c})", "c"), ("nn.Dropout({0.1|0.4})", "c"), (
    "Positions({c})", "c"), ("Recurrent(nn.{LSTM|GRU|RNN}({c}, {d}{|, 2|, 2, dropout=0.3}{|, bias=False}, batch_first=True))", "d"), (
    "Recurrent(nn.{LSTM|GRU}({c}, {d}, batch_first=True, bidirectional=True)), nn.Linear(2 * {d}, {d})", "d"), (
    "Recurrent(nn.LSTM({c}, 4, batch_first=True, proj_size={d}{|, num_layers=2|, bidirectional=True})), nn.LazyLinear({d})", "d"), (
    "Recurrent(nn.RNN({c}, {d}, nonlinearity='relu'))", "d"), (
    "Attending({c}, 1{|, dropout=0.2}{|, bias=False}{|, add_bias_kv=True}{|, add_zero_attn=True})", "c"), (
    "Attending({c}, 1, weights=True)", "c"), ("Attending({c}, {c})", "c"), ("Crossing({c}, {d})", "c"), (
    "nn.TransformerEncoderLayer({c}, 1, 5{|, dropout=0.0|, 0.0}{|, activation='gelu'}{|, norm_first=True}{|, bias=False}, "
    "batch_first=True)", "c"), (
    "nn.TransformerEncoder(nn.TransformerEncoderLayer({c}, 1, 4, 0.0, batch_first=True), 2{|, nn.LayerNorm({c})}{|, "
    "enable_nested_tensor=False})", "c"), (
    "Decoding(nn.TransformerDecoderLayer({c}, 1, 4, {0.0|0.2}{|, F.gelu}, batch_first=True{|, norm_first=True}))", "c"), (
    "Translating(nn.Transformer({c}, 1, 1, {1|2}, 4, {0.0|0.1}, batch_first=True))", "c"), ("Causally({c}, {1|{c}})", "c"), (
    "Residual(nn.LayerNorm({c}), nn.Linear({c}, 4), nn.GELU(), nn.Linear(4, {c}), nn.Dropout(0.1))", "c"), ("Gated({c}, {d})", "d"), (
    "Stepping(nn.{LSTM|GRU|RNN}Cell({c}, {d}{|, bias=False}))", "d"), ("Relative({c})", "c"), ("Rotary({c})", "c"), (
    "Own(lambda v: F.scaled_dot_product_attention(v, v, v{|, is_causal=True|, dropout_p=0.3|, scale=0.2}))", "c"), (
    "Own(lambda v: torch.einsum('bij,bkj->bik', v, v).softmax(-1) @ v)", "c"), ("nn.Bilinear({c}, {c}, {d}) if 0 else nn.Linear({c}, {d})",
    "d"), ("Checkpointed(nn.TransformerEncoderLayer({c}, 1, 4, {0.0|0.3}, batch_first=True){|, use_reentrant=True})", "c"),]
# (what a batch is, layers, the head, the shape of a batch)
KINDS = {"rows": (ROWS, "nn.Linear({c}, 3)", "(6, 3)", 3), "images": (IMAGES,
    "nn.{AdaptiveAvgPool2d(1)|AdaptiveMaxPool2d(1)|AdaptiveAvgPool2d((1, 2))}, " "nn.Flatten(), nn.LazyLinear(3)", "(6, 2, 8, 8)", 2),
    "series": (SERIES, "nn.AdaptiveAvgPool1d({1|2}), nn.Flatten(1), nn.LazyLinear(3)", "(6, 2, 9)", 2), "volumes": (VOLUMES,
    "nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.LazyLinear(3)", "(6, 2, 4, 4, 4)", 2), "sequences": (SEQUENCES,
    "Own(lambda v: v{.mean(1)|[:, -1]|.amax(1)}), nn.LazyLinear(3)", "(6, 4, 4)", 4), "tokens": (SEQUENCES,
    "Own(lambda v: v{.mean(1)|[:, -1]|.sum(1)}), nn.LazyLinear(3)", "(6, 5)", 4),}
TOKENS = [
    "nn.Embedding(7, 4{|, padding_idx=0|, padding_idx=-1|, max_norm=1.0|, scale_grad_by_freq=True|, norm_type=1.0, max_norm=0.7})",
    "nn.Embedding.from_pretrained(torch.arange(28.).view(7, 4) / 28, freeze={True|False})", "Summed(7, 4)",
    "nn.EmbeddingBag(7, 4, mode={'sum'|'mean'|'max'}{|, padding_idx=1}), nn.Unflatten(1, (2, 2)), nn.LazyLinear(4)",
]
