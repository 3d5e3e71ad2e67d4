"""auraloss, julius, nnAudio, torchlibrosa, asteroid: losses and transforms of sound, and networks that separate its sources."""
import asteroid.losses as losses
import asteroid.models as models
import auraloss
import julius
import nnAudio.features as features
import torch
import torchlibrosa
from _telling import case, learned, trained

wave, other = torch.randn(2, 1, 4000, generator=torch.Generator().manual_seed(3)), torch.randn(2, 1, 4000,
    generator=torch.Generator().manual_seed(4))
#: Losses of two signals, with options.
LOSSES = {
    "time": dict(ESRLoss={}, DCLoss={}, LogCoshLoss={}, SNRLoss={}, SISDRLoss={}, SDSDRLoss={}),
    "freq": dict(STFTLoss=dict(w_lin_mag=1.0), MelSTFTLoss=dict(sample_rate=8000, n_mels=20), ChromaSTFTLoss=dict(sample_rate=8000),
                 MultiResolutionSTFTLoss=dict(perceptual_weighting=True, sample_rate=8000, scale="mel", n_bins=20))}
FEATURES = dict(
    STFT=dict(n_fft=256, hop_length=64, output_format="Complex", trainable=True), MelSpectrogram=dict(sr=8000, n_fft=256, n_mels=20,
        trainable_mel=True),
    MFCC=dict(sr=8000, n_mfcc=12, n_fft=256, n_mels=20, trainable_mel=True), Gammatonegram=dict(sr=8000, n_fft=256, n_bins=20,
        trainable_bins=True),
    CQT1992v2=dict(sr=8000, n_bins=36, fmin=110, trainable=True), CQT2010v2=dict(sr=8000, n_bins=36, fmin=110, hop_length=128,
        trainable=True),
    VQT=dict(sr=8000, n_bins=36, fmin=110, hop_length=128, gamma=5, trainable=True))
SEPARATORS = dict(
    ConvTasNet=dict(n_src=2, n_blocks=2, n_repeats=1, bn_chan=8, hid_chan=16, skip_chan=8, n_filters=16),
    DPRNNTasNet=dict(n_src=2, bn_chan=8, hid_size=8, chunk_size=20, n_repeats=1, n_filters=16),
    DPTNet=dict(n_src=2, ff_hid=8, chunk_size=20, n_repeats=1, n_filters=16), LSTMTasNet=dict(n_src=2, hid_size=8, n_layers=2, dropout=0.1),
    SuDORMRFNet=dict(n_src=2, bn_chan=8, num_blocks=2, upsampling_depth=3, n_filters=16),
    SuDORMRFImprovedNet=dict(n_src=2, bn_chan=8, num_blocks=2, upsampling_depth=3, n_filters=16),
    DeMask=dict(hidden_dims=(8,), n_filters=64, stride=32, kernel_size=64),
    DCUNet=dict(architecture="mini", fix_length_mode="pad", stft_n_filters=128, stft_kernel_size=128, stft_stride=32))


def loss_of(kind):
    x = wave.clone().requires_grad_()
    value = kind(x, other)
    value.backward()
    return value, x.grad


def back():
    forth = torchlibrosa.STFT(256, 64)
    return torchlibrosa.ISTFT(256, 64)(*forth(wave[:, 0]), length=4000) - wave[:, 0]


def augmented():
    m = torchlibrosa.SpecAugmentation(8, 2, 4, 2)
    return m.train()(torch.rand(2, 1, 40, 20))


def separation(loss):
    x = torch.randn(3, 2, 400).requires_grad_()
    made = loss(x, x.detach().flip(1) * 0.7 + 0.3 * torch.randn(3, 2, 400), return_est=True)
    made[0].backward()
    return made, x.grad


for area, kinds in LOSSES.items():
    for name, options in kinds.items():
        case(f"auraloss.{name}", lambda: loss_of(getattr(getattr(auraloss, area), name)(**options)))
case("julius.filters", lambda: [julius.highpass_filter(wave, 0.1), julius.bandpass_filter(wave, 0.1, 0.2, stride=2),
    julius.lowpass_filter(wave, 0.2, fft=True)])
case("julius.bands", lambda: julius.split_bands(wave, 8000, 4))
case("julius.resample", lambda: [julius.resample_frac(wave, 8000, 5000), julius.resample_frac(wave, 3, 4, full=True)])
case("julius.fft_conv", lambda: learned(julius.FFTConv1d(1, 2, 300, stride=2, padding=3), wave))
for name, options in FEATURES.items():
    case(f"nnAudio.{name}", lambda: learned(getattr(features, name)(verbose=False, **options), wave))
case("nnAudio.iSTFT", lambda: features.STFT(n_fft=256, hop_length=64, iSTFT=True, verbose=False).inverse(
    features.STFT(n_fft=256, hop_length=64, output_format="Complex", verbose=False)(wave), length=4000))
case("torchlibrosa.ISTFT", back)
case("torchlibrosa.LogmelFilterBank", lambda: torchlibrosa.LogmelFilterBank(8000, 256, 20)(torchlibrosa.Spectrogram(256, 64)(wave[:, 0])))
case("torchlibrosa.SpecAugmentation", augmented)
for name, options in SEPARATORS.items():
    case(f"asteroid.{name}", lambda: learned(getattr(models, name)(**options), wave[..., :1000]))
case("asteroid.training", lambda: trained(models.ConvTasNet(**SEPARATORS["ConvTasNet"]), lambda m: losses.PITLossWrapper(
    losses.pairwise_neg_sisdr)(m(wave[..., :1000]), torch.cat([wave, other], 1)[..., :1000])))
for name in ("pairwise_neg_sisdr", "pairwise_neg_sdsdr", "pairwise_neg_snr", "pairwise_mse"):
    case(f"asteroid.{name}", lambda: separation(losses.PITLossWrapper(getattr(losses, name))))
case("asteroid.sinkhorn", lambda: losses.SinkPITLossWrapper(losses.pairwise_neg_sisdr)(torch.randn(2, 3, 400), torch.randn(2, 3, 400)))
case("asteroid.mixit", lambda: losses.MixITLossWrapper(losses.multisrc_neg_sisdr)(torch.randn(2, 4, 400), torch.randn(2, 2, 400)))
case("asteroid.clustering", lambda: losses.deep_clustering_loss(torch.randn(2, 60, 5), torch.randint(2, (2, 6, 10))))
case("asteroid.spectra", lambda: losses.SingleSrcMultiScaleSpectral([256, 128], [256, 128], [64, 32])(wave[:, 0], other[:, 0]))
