"""transformers: language models of many kinds, tiny and with random weights: loss, logits, gradients, what they write."""
import torch
import transformers
from _telling import case

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100, max_position_embeddings=64)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2)
#: Decoders, by the beginning of their classes' names, with options.
DECODERS = {
    "Llama": {}, "Mistral": {}, "Qwen2": {}, "Gemma": dict(head_dim=8), "Gemma2": dict(head_dim=8), "Qwen3": dict(head_dim=8),
    "Phi3": dict(pad_token_id=0), "Olmo2": dict(pad_token_id=0), "Cohere": dict(pad_token_id=0), "Granite": dict(pad_token_id=0),
    "StableLm": dict(pad_token_id=0), "Starcoder2": dict(pad_token_id=0), "SmolLM3": dict(pad_token_id=0), "Nemotron": dict(pad_token_id=0),
    "Glm": dict(head_dim=8, pad_token_id=0), "Helium": dict(head_dim=8, pad_token_id=0),
    "Mixtral": dict(num_local_experts=4, num_experts_per_tok=2), "Olmoe": EXPERTS,
    "Qwen2Moe": dict(EXPERTS, moe_intermediate_size=32, shared_expert_intermediate_size=32),
    "GptOss": dict(head_dim=8, num_local_experts=4, num_experts_per_tok=2),
    "DeepseekV3": dict(n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=32, q_lora_rank=16,
                       kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, num_key_value_heads=4)}
#: Those whose options have names of their own.
OTHERS = {
    "GPT2LMHeadModel": ("GPT2Config", dict(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64)),
    "GPTJForCausalLM": ("GPTJConfig", dict(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, rotary_dim=4)),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", SMALL), "PhiForCausalLM": ("PhiConfig", SMALL),
    "OPTForCausalLM": ("OPTConfig", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, vocab_size=100,
                                         max_position_embeddings=64, word_embed_proj_dim=32)),
    "BloomForCausalLM": ("BloomConfig", dict(hidden_size=32, n_layer=2, n_head=4, vocab_size=100)),
    "FalconForCausalLM": ("FalconConfig", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=100)),
    "MptForCausalLM": ("MptConfig", dict(d_model=32, n_layers=2, n_heads=4, vocab_size=100, max_seq_len=64)),
    "MambaForCausalLM": ("MambaConfig", dict(hidden_size=32, num_hidden_layers=2, vocab_size=100, state_size=4)),
    "Mamba2ForCausalLM": ("Mamba2Config", dict(hidden_size=32, num_hidden_layers=2, vocab_size=100, state_size=8, num_heads=8, head_dim=8,
                                               n_groups=2)),
    "RecurrentGemmaForCausalLM": ("RecurrentGemmaConfig", dict(SMALL, lru_width=32, num_hidden_layers=3, attention_window_size=8))}
#: Encoders, which are trained on masked words.
ENCODERS = ("Bert Electra Albert Deberta DebertaV2 ConvBert Ernie RoFormer MegatronBert LayoutLM Yoso Mra FNet RemBert").split()
SHIFTED = "Roberta Camembert XLMRoberta MPNet IBert Data2VecText".split()      # their positions begin after the padding's
OF_TWO = "Bart MBart Pegasus Blenderbot M2M100 PLBart".split()


def words(rows=2, length=12):
    return torch.randint(5, 100, (rows, length))


def trained(name, config, writes=True):
    """Loss, logits and the sum of the gradients' sizes, and what the model writes, most likely or drawn."""
    model, ids = getattr(transformers, name)(config).eval(), words()
    out = model(input_ids=ids, labels=ids)
    out.loss.backward()
    told = [out.loss, out.logits, float(sum([p.grad.double().abs().sum() for p in model.parameters() if p.grad is not None]))]
    if writes:
        for options in (dict(do_sample=False), dict(do_sample=True, top_k=20, top_p=0.9, temperature=0.8)):
            torch.manual_seed(1)
            with torch.no_grad():
                told.append(model.generate(ids[:, :5], max_new_tokens=8, pad_token_id=0, **options)[0].tolist())
    return told


def translated(name):
    config = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                  decoder_ffn_dim=64, vocab_size=100, max_position_embeddings=64, pad_token_id=1, decoder_start_token_id=2, bos_token_id=0,
                  eos_token_id=2, forced_eos_token_id=2)
    return trained(f"{name}ForConditionalGeneration", getattr(transformers, f"{name}Config")(**config), writes=False)


for name, options in DECODERS.items():
    case(name, lambda: trained(f"{name}ForCausalLM", getattr(transformers, f"{name}Config")(**{**SMALL, "num_key_value_heads": 2, **options})))
for name, (config, options) in OTHERS.items():
    case(name, lambda: trained(name, getattr(transformers, config)(**options)))
for name in ENCODERS + SHIFTED:
    more = dict(max_position_embeddings=70) if name in SHIFTED else {}
    case(name, lambda: trained(f"{name}ForMaskedLM", getattr(transformers, f"{name}Config")(**{**SMALL, **more}), writes=False))
for name in OF_TWO:
    case(name, lambda: translated(name))
case("T5", lambda: trained("T5ForConditionalGeneration", transformers.T5Config(
    d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, decoder_start_token_id=0), writes=False))
