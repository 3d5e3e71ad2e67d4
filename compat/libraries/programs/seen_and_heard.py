"""transformers: models of images, sound, both with text, and of series."""
import torch
import transformers
from _telling import case, learned

PATCHES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)
TEXT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100, max_position_embeddings=64)
WAVES = dict(TEXT, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8,
             num_conv_pos_embedding_groups=2)
WINDOWS = dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
STAGES = dict(hidden_sizes=[8, 16], depths=[1, 1])
#: Of images of 32 or 64 pixels.
IMAGES = {
    "ViTModel": (32, PATCHES), "DeiTModel": (32, PATCHES), "BeitModel": (32, PATCHES), "Dinov2Model": (32, PATCHES), "SwinModel": (32, WINDOWS),
    "Swinv2Model": (32, WINDOWS), "ConvNextModel": (32, dict(STAGES, num_stages=2)), "ConvNextV2Model": (32, dict(STAGES, num_stages=2)),
    "ResNetModel": (32, dict(STAGES, embedding_size=8, layer_type="basic")), "RegNetModel": (32, dict(STAGES, embedding_size=8, groups_width=4)),
    "MobileNetV2Model": (32, dict(depth_multiplier=0.25)), "PoolFormerModel": (64, dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])),
    "LevitModel": (64, dict(image_size=64, hidden_sizes=[16, 32, 32], num_attention_heads=[2, 4, 4], depths=[1, 1, 1], key_dim=[8, 8, 8])),
    "MobileViTModel": (64, dict(hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64], image_size=64, num_attention_heads=2)),
    "SegformerForSemanticSegmentation": (64, dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
                                                  decoder_hidden_size=16))}


def made(name, options, config=None, **inputs):
    """The model's first result and the sum of its gradients' sizes."""
    config = config or getattr(transformers, name.split("For")[0].removesuffix("Model") + "Config")(**options)
    return learned(getattr(transformers, name)(config).eval(), **inputs)


for name, (size, options) in IMAGES.items():
    case(name, lambda: made(name, options, pixel_values=torch.randn(2, 3, size, size)))
case("ViTMAE", lambda: made("ViTMAEForPreTraining", dict(PATCHES, decoder_hidden_size=16, decoder_num_hidden_layers=1,
                                                         decoder_num_attention_heads=2, decoder_intermediate_size=32),
                            pixel_values=torch.randn(2, 3, 32, 32)))
case("CLIP", lambda: made("CLIPModel", dict(text_config=dict(TEXT, eos_token_id=2), vision_config=PATCHES, projection_dim=16),
                          input_ids=torch.randint(5, 100, (2, 12)), pixel_values=torch.randn(2, 3, 32, 32)))
case("Siglip", lambda: made("SiglipModel", dict(text_config=TEXT, vision_config=PATCHES), input_ids=torch.randint(5, 100, (2, 12)),
                            pixel_values=torch.randn(2, 3, 32, 32)))
case("Vilt", lambda: made("ViltModel", dict(TEXT, image_size=32, patch_size=8), input_ids=torch.randint(5, 100, (2, 12)),
                          pixel_values=torch.randn(2, 3, 32, 32)))
case("Wav2Vec2", lambda: made("Wav2Vec2ForCTC", WAVES, input_values=torch.randn(2, 400), labels=torch.randint(1, 20, (2, 5))))
case("Hubert", lambda: made("HubertModel", WAVES, input_values=torch.randn(2, 400)))
case("WavLM", lambda: made("WavLMModel", WAVES, input_values=torch.randn(2, 400)))
case("Whisper", lambda: made("WhisperForConditionalGeneration", dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
    vocab_size=100, num_mel_bins=8, max_source_positions=16, max_target_positions=32, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    decoder_start_token_id=3), input_features=torch.randn(2, 8, 32), labels=torch.randint(5, 100, (2, 12))))
case("Perceiver", lambda: made("PerceiverModel", dict(num_latents=4, d_latents=16, d_model=16, num_self_attends_per_block=1,
                                                      num_self_attention_heads=2, num_cross_attention_heads=2), inputs=torch.randn(2, 8, 16)))
case("PatchTST", lambda: made("PatchTSTForPrediction", dict(
    num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_attention_heads=2, ffn_dim=32, num_hidden_layers=1,
    prediction_length=4), past_values=torch.randn(2, 32, 2), future_values=torch.randn(2, 4, 2)))
