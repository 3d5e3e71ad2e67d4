"""Loops and networks of others: transformers' Trainer, accelerate, peft, diffusers, pytorch_lightning, torch_geometric, solvers, flows."""
import logging
import os
import tempfile

import torch
import torch.nn.functional as F
from _telling import cases, learned
from torch import nn


def case_trainer():
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=50, n_positions=32))
    rows = [torch.arange(i % 40, i % 40 + 10) for i in range(64)]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model=model, train_dataset=[{"input_ids": r, "labels": r} for r in rows], args=TrainingArguments(
            output_dir=folder, num_train_epochs=2, per_device_train_batch_size=8, logging_steps=4, report_to=[], use_cpu=True,
            save_strategy="epoch", disable_tqdm=True))
        trainer.train()
        losses, files = [float(h["loss"]) for h in trainer.state.log_history if "loss" in h], sorted(os.listdir(folder))
        again = GPT2LMHeadModel.from_pretrained(os.path.join(folder, files[-1]))
    return losses, files, again(rows[0][None], labels=rows[0][None]).loss


def case_accelerate():
    from accelerate import Accelerator
    a, model = Accelerator(cpu=True, gradient_accumulation_steps=2), nn.Linear(4, 2)
    rows = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randint(2, (16,)))
    model, optimizer, loader = a.prepare(model, torch.optim.AdamW(model.parameters()),
                                         torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True))
    losses = []
    for x, y in loader:
        with a.accumulate(model):
            loss = F.cross_entropy(model(x), y)
            a.backward(loss)
            a.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def case_peft():
    from peft import IA3Config, LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM
    told = []
    for how in (LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1), LoraConfig(r=4, use_dora=True, target_modules=["q_proj"]),
                IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"])):
        torch.manual_seed(0)
        model = get_peft_model(LlamaForCausalLM(LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                                                            vocab_size=100)), how)
        ids, optimizer = torch.randint(100, (2, 8)), torch.optim.AdamW(model.parameters(), 1e-2)
        for _ in range(3):
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        told.append([loss, model.merge_and_unload()(ids).logits])
    return told


def case_diffusers():
    import diffusers as D
    two = dict(block_out_channels=(16, 16), norm_num_groups=4)
    told = [learned(D.AutoencoderKL(**two, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2),
                    torch.randn(1, 3, 16, 16))]
    told.append(learned(D.UNet2DConditionModel(
        **two, sample_size=8, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=8, attention_head_dim=4, layers_per_block=1), torch.randn(1, 4, 8, 8), torch.tensor([3]), torch.randn(1, 5, 8)))
    told.append(learned(D.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=1, sample_size=8),
                        torch.randn(1, 4, 8, 8), timestep=torch.tensor([3]), class_labels=torch.tensor([1])))
    return told


def case_schedulers_of_diffusers():
    import diffusers as D
    told = {}
    for name in ("DDPM DDIM PNDM LMSDiscrete EulerDiscrete EulerAncestralDiscrete HeunDiscrete DPMSolverMultistep DPMSolverSinglestep "
                 "UniPCMultistep KDPM2Discrete DEISMultistep FlowMatchEulerDiscrete LCM TCD").split():
        torch.manual_seed(0)
        scheduler, x = getattr(D, f"{name}Scheduler")(), torch.randn(1, 3, 4, 4)
        scheduler.set_timesteps(6)
        for t in scheduler.timesteps:
            x = scheduler.step(torch.sin(x), t, x).prev_sample
        told[name] = x
    return told


def case_lightning():
    import pytorch_lightning as pl
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.losses = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2)), []

        def training_step(self, batch, at):
            loss = F.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss)
            self.losses.append(loss.item())
            return loss

        def validation_step(self, batch, at):
            self.log("held out", F.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), 0.01)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]
    pl.seed_everything(1, verbose=False)
    rows, net = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randint(2, (32,))), Net()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                             default_root_dir=folder, gradient_clip_val=0.5, accumulate_grad_batches=2)
        trainer.fit(net, torch.utils.data.DataLoader(rows, 8, shuffle=True), torch.utils.data.DataLoader(rows, 8))
        return net.losses, trainer.callback_metrics["held out"], [f for _, _, files in os.walk(folder) for f in files]


def case_graphs():
    import torch_geometric.nn as G
    from torch_geometric.data import Batch, Data
    x, edges, told = torch.randn(8, 4), torch.randint(8, (2, 20)), {}
    for name, args in dict(GCNConv=(4, 5), GATConv=(4, 5, 2), GATv2Conv=(4, 5, 2), SAGEConv=(4, 5), GINConv=(nn.Linear(4, 5),),
                           ChebConv=(4, 5, 2), TransformerConv=(4, 5, 2), GraphConv=(4, 5), TAGConv=(4, 5), ARMAConv=(4, 5), SGConv=(4, 5),
                           APPNP=(3, 0.1), EdgeConv=(nn.Linear(8, 5),), GatedGraphConv=(5, 2), ResGatedGraphConv=(4, 5), LEConv=(4, 5),
                           ClusterGCNConv=(4, 5), GENConv=(4, 5), SuperGATConv=(4, 5), GeneralConv=(4, 5), MFConv=(4, 5)).items():
        torch.manual_seed(0)
        told[name] = learned(getattr(G, name)(*args), x, edges)
    b = Batch.from_data_list([Data(x=x, edge_index=edges), Data(x=x[:5], edge_index=edges % 5)])
    return [told, G.global_mean_pool(b.x, b.batch), G.global_max_pool(b.x, b.batch), G.TopKPooling(4)(b.x, b.edge_index, batch=b.batch)[0],
            G.aggr.SortAggregation(3)(b.x, b.batch), G.aggr.Set2Set(4, 2)(b.x, b.batch)]


def case_solvers():
    from torchdiffeq import odeint, odeint_adjoint

    class Slope(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, t, y):
            return self.net(y)
    slope, told = Slope(), []
    for how in ("dopri5", "rk4", "euler", "adaptive_heun", "bosh3", "implicit_adams"):
        y = odeint(slope, torch.ones(3, 2), torch.linspace(0, 1, 4), method=how)
        y.sum().backward()
        told.append([y[-1], slope.net[0].weight.grad])
        slope.zero_grad()
    odeint_adjoint(slope, torch.ones(3, 2), torch.linspace(0, 1, 3)).sum().backward()
    return told + [slope.net[0].weight.grad]


def case_stochastic_solver():
    import torchsde

    class Noise(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def f(self, t, y):
            return -y

        def g(self, t, y):
            return 0.3 * y
    return torchsde.sdeint(Noise(), torch.ones(4, 3), torch.linspace(0, 1, 3), method="euler", dt=0.1,
                           bm=torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=1))


def case_equivariant():
    from e3nn import o3
    linear, product = o3.Linear("2x0e+1x1o", "1x0e+2x1o"), o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "2x0e+1x1o")
    x = torch.randn(3, 5)
    return linear(x), product(x, torch.randn(3, 4)), o3.spherical_harmonics([0, 1, 2], torch.randn(4, 3), True), o3.rand_matrix()


def case_unrolled():
    import higher
    model, x, y = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)), torch.randn(5, 3), torch.randn(5, 1)
    with higher.innerloop_ctx(model, torch.optim.Adam(model.parameters(), 0.1)) as (inner, optimizer):
        for _ in range(3):
            optimizer.step(F.mse_loss(inner(x), y))
        F.mse_loss(inner(x), y).backward()
    return [p.grad for p in model.parameters()]


def case_manifolds():
    import geoopt
    told = []
    for manifold in (geoopt.PoincareBall(), geoopt.Sphere(), geoopt.Stiefel(), geoopt.Lorentz()):
        torch.manual_seed(0)
        p = geoopt.ManifoldParameter(manifold.random(4, 3), manifold=manifold)
        optimizer = geoopt.optim.RiemannianAdam([p], lr=0.1)
        for _ in range(3):
            (p - torch.eye(4, 3)).pow(2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        told.append(p)
    return told


def case_flows():
    import nflows.transforms as T
    import normflows
    from nflows.distributions import StandardNormal
    from nflows.flows import Flow
    x = torch.randn(6, 2)
    flow = Flow(T.CompositeTransform([
        T.MaskedAffineAutoregressiveTransform(2, 8), T.ReversePermutation(2), T.LULinear(2), T.ActNorm(2),
        T.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(2, 8, tails="linear", num_bins=4, tail_bound=3.0)]), StandardNormal([2]))
    other = normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2), [
        normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), normflows.flows.LULinearPermute(2)])
    return -flow.log_prob(x).mean(), flow.sample(2), other.forward_kld(x), other.sample(3)[0]


def case_x_transformers():
    import vector_quantize_pytorch as V
    import x_transformers as X
    layers = X.Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_qk_norm=True)
    model = X.TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers)
    loss = X.AutoregressiveWrapper(model)(torch.randint(50, (2, 16)))
    loss.backward()
    told = [loss, model.token_emb.emb.weight.grad]
    for quantizer, width in ((V.VectorQuantize(dim=8, codebook_size=16), 8), (V.ResidualVQ(dim=8, num_quantizers=2, codebook_size=16), 8),
                             (V.FSQ([4, 4, 3]), 3), (V.LFQ(dim=8, codebook_size=16), 8)):
        torch.manual_seed(0)
        told.append([*quantizer(torch.randn(2, 6, width))][:2])
    return told


def case_decompositions():
    import tensorly
    from tensorly.decomposition import parafac, tensor_train, tucker
    tensorly.set_backend("pytorch")
    x = torch.randn(4, 5, 6, dtype=torch.float64)
    return (parafac(x, 2, n_iter_max=5, init="svd")[1][0].abs(), tucker(x, [2, 2, 2], n_iter_max=5)[0].abs(),
            tensorly.tt_to_tensor(tensor_train(x, [1, 2, 2, 1])))


def case_summary():
    import torchinfo
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    return str(torchinfo.summary(net, (1, 3, 16, 16), verbose=0))


cases(globals())
