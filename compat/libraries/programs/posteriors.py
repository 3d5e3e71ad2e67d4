"""zuko, sbi, bayesian_torch, blitz, laplace: flows, inference from simulations, networks whose weights are distributions."""
import contextlib
import io
import tempfile

import torch
import torch.nn.functional as F
from _telling import case, cases, trained
from torch import nn

FLOWS = dict(MAF={}, NICE={}, RealNVP={}, NSF=dict(bins=4), NCSF=dict(bins=4), NAF=dict(signal=4), UNAF=dict(signal=4), BPF=dict(degree=4),
             SOSPF=dict(degree=2), CNF={}, GF=dict(components=3), GMM=dict(components=3))


def flow(name, options):
    """(losses of some steps, log probabilities, their gradient, what is drawn)"""
    import zuko
    layers = {} if name in ("CNF", "GMM") else {"transforms": 2}
    hidden = {} if name == "GF" else {"hidden_features": (8, 8)}
    model = getattr(zuko.flows, name)(features=3, context=2, **layers, **hidden, **options)
    kind = torch.float64 if name == "CNF" else torch.float32           # its solver chooses its steps
    model, x, c = model.to(kind), torch.rand(5, 3, dtype=kind).requires_grad_(), torch.randn(5, 2, dtype=kind)
    losses = trained(model, lambda m: -m(c).log_prob(x.detach()).mean())
    log = model(c).log_prob(x)
    log.sum().backward()
    drawn = None if name in ("NAF", "UNAF", "SOSPF", "GF") else model(c).sample()
    return losses, log, x.grad, drawn


for name, options in FLOWS.items():
    case(f"zuko.{name}", lambda: flow(name, options))


def case_zuko_distributions():
    import zuko
    d = zuko.distributions
    return [d.BoxUniform(-torch.ones(2), torch.ones(2)).log_prob(torch.rand(3, 2)), d.Sort(torch.distributions.Normal(0.0, 1.0),
        3).sample(),
            d.GeneralizedNormal(torch.tensor(1.5)).log_prob(torch.randn(4)), d.TopK(torch.distributions.Normal(0.0, 1.0), 2, 4).sample(),
            d.Joint(torch.distributions.Normal(0.0, 1.0), torch.distributions.Gamma(2.0, 1.0)).rsample((3,)),
            d.Truncated(torch.distributions.Normal(0.0, 1.0), -1.0, 1.0).sample((4,)), d.DiagNormal(torch.zeros(3),
                torch.ones(3)).entropy()]


def simulated(kind, **options):
    """The losses with which an estimator of sbi is trained, and what its posterior says."""
    import sbi.inference as S
    from sbi.utils import BoxUniform
    prior = BoxUniform(-torch.ones(2), torch.ones(2))
    theta = prior.sample((200,))
    x = theta + 0.1 * torch.randn(200, 2)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        inference = getattr(S, kind)(prior=prior, show_progress_bars=False, **options)
        estimator = inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=50)
        told = [inference.summary["training_loss"], inference.summary["validation_loss"]]
        if kind == "NPE":
            posterior = inference.build_posterior(estimator)
            told.append(posterior.log_prob(theta[:4], x=x[0]))
            told.append(posterior.sample((3,), x=x[0], show_progress_bars=False))
            told.append(posterior.set_default_x(x[0]).map(num_iter=3, num_to_optimize=2, show_progress_bars=False))
        elif kind == "NLE":
            posterior = inference.build_posterior(estimator, mcmc_method="slice_np_vectorized",
                                                  mcmc_parameters=dict(num_chains=2, warmup_steps=2, thin=1))
            told.append(posterior.potential(theta[:4], x=x[0]))
    return told


for kind, options in {"NPE": dict(density_estimator="nsf"), "NLE": dict(density_estimator="maf"), "NRE": dict(classifier="resnet"),
                      "FMPE": {}, "NPSE": {}}.items():
    case(f"sbi.{kind}", lambda: simulated(kind, **options))
case("sbi.NPE of mixtures", lambda: simulated("NPE", density_estimator="mdn"))


def case_bayesian_torch():
    import bayesian_torch.layers as B
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
    told = []
    for layer, x in ((B.LinearReparameterization(4, 3), torch.randn(5, 4)), (B.LinearFlipout(4, 3), torch.randn(5, 4)),
                     (B.Conv2dReparameterization(2, 3, 3), torch.randn(2, 2, 6, 6)), (B.Conv2dFlipout(2, 3, 3), torch.randn(2, 2, 6, 6)),
                     (B.Conv1dFlipout(2, 3, 3), torch.randn(2, 2, 6)), (B.LSTMReparameterization(4, 3), torch.randn(2, 5, 4)),
                     (B.ConvTranspose2dReparameterization(2, 3, 3), torch.randn(2, 2, 6, 6))):
        made, *_, kl = layer(x)
        made.sin().mean().add(kl).backward()
        told.append([made, kl, [p.grad for p in layer.parameters()][:2]])
    net, x, y = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), torch.randn(6, 4), torch.randint(3, (6,))
    dnn_to_bnn(net, dict(prior_mu=0.0, prior_sigma=1.0, posterior_mu_init=0.0, posterior_rho_init=-3.0, type="Reparameterization",
                         moped_enable=True, moped_delta=0.5))
    return told, trained(net, lambda m: F.cross_entropy(m(x), y) + get_kl_loss(m) / 6)


def case_blitz():
    import blitz.modules as B
    from blitz.utils import variational_estimator

    @variational_estimator
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rnn, self.last = B.BayesianConv1d(2, 4, 3), B.BayesianLSTM(4, 5), B.BayesianLinear(5, 1)

        def forward(self, x):
            return self.last(self.rnn(self.first(x).transpose(1, 2))[0][:, -1])
    net, x, y = Net(), torch.randn(6, 2, 8), torch.randn(6, 1)
    told = trained(net, lambda m: m.sample_elbo(inputs=x, labels=y, criterion=F.mse_loss, sample_nbr=2, complexity_cost_weight=1 / 6))
    net.freeze_()
    return told, net(x), net.nn_kl_divergence()


def laplaced(weights, structure, likelihood):
    from laplace import Laplace
    net, x = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)), torch.randn(12, 3)
    y = torch.randint(2, (12,)) if likelihood == "classification" else torch.randn(12, 2)
    la = Laplace(net, likelihood, subset_of_weights=weights, hessian_structure=structure)
    la.fit(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 4))
    la.optimize_prior_precision(method="marglik", n_steps=5)
    return la.log_marginal_likelihood(), la.prior_precision, la(x[:3])


for weights, structure in (("all", "full"), ("all", "diag"), ("all", "kron"), ("last_layer", "kron"), ("last_layer", "full")):
    for likelihood in ("classification", "regression"):
        case(f"laplace.{weights}.{structure}.{likelihood}", lambda: laplaced(weights, structure, likelihood))
cases(globals())
