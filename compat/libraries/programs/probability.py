"""gpytorch, linear_operator, botorch and pyro: Gaussian processes, Bayesian optimisation, variational inference, Monte Carlo, flows."""
import torch
from _telling import cases

import gpytorch
import pyro
import pyro.distributions as dist
from pyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, autoguide, config_enumerate

torch.set_default_dtype(torch.float64)
K = gpytorch.kernels


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, mean=None, kernel=None, made=gpytorch.distributions.MultivariateNormal):
        super().__init__(x, y, likelihood)
        self.mean_module, self.made = mean or gpytorch.means.ConstantMean(), made
        self.covar_module = kernel or K.ScaleKernel(K.RBFKernel() + K.MaternKernel(nu=2.5))

    def forward(self, x):
        return self.made(self.mean_module(x), self.covar_module(x))


def fitted(model, likelihood, x, y, steps=10):
    """The loss after some steps of Adam, and the model's own parameters."""
    model.train(), likelihood.train()
    optimizer, log_likelihood = torch.optim.Adam(model.parameters(), lr=0.1), gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -log_likelihood(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval(), likelihood.eval()
    return loss


def case_exact():
    x = torch.linspace(0, 1, 20)
    y, likelihood = torch.sin(x * 6) + torch.randn(20) * 0.1, gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    loss = fitted(model, likelihood, x, y)
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        p = likelihood(model(torch.linspace(0, 1, 7)))
        told = [loss, p.mean, p.variance, *p.confidence_region()]
    return told + [model(x[:3]).rsample(torch.Size([2]))]


def case_several_tasks():
    x = torch.linspace(0, 1, 10)
    y, likelihood = torch.stack([torch.sin(x * 6), torch.cos(x * 6)], -1), gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
    model = Exact(x, y, likelihood, gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2),
                  K.MultitaskKernel(K.RBFKernel(), num_tasks=2, rank=1), gpytorch.distributions.MultitaskMultivariateNormal)
    return fitted(model, likelihood, x, y), likelihood(model(x[:3])).mean


def case_inducing_points():
    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            by = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, by, learn_inducing_locations=True))
            self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), K.ScaleKernel(K.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
    x = torch.linspace(0, 1, 40)[:, None]
    y, model, likelihood = torch.sin(x[:, 0] * 6), Sparse(x[:8].clone()), gpytorch.likelihoods.GaussianLikelihood()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, 40)
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        loss = -elbo(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    return loss, model(x[:4]).mean


def case_kernels():
    x = torch.randn(6, 3) * 0.1
    every = [K.RBFKernel(ard_num_dims=3), K.MaternKernel(nu=0.5), K.MaternKernel(nu=1.5), K.PeriodicKernel(), K.LinearKernel(),
             K.PolynomialKernel(2), K.RQKernel(), K.CosineKernel(), K.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=3),
             K.PiecewisePolynomialKernel(), K.ArcKernel(K.MaternKernel(nu=2.5)), K.RFFKernel(num_samples=4)]
    return {type(k).__name__: k(x).to_dense() for k in every}


def case_linear_operators():
    from linear_operator import operators, to_linear_operator
    a = torch.randn(5, 5)
    a = a @ a.T + 5 * torch.eye(5)
    op, b = to_linear_operator(a), torch.randn(5, 2)
    return [op.solve(b), op.logdet(), op.cholesky().to_dense(), op.diagonalization()[0], op.root_decomposition().to_dense(),
            operators.ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.2])).to_dense(),
            operators.KroneckerProductLinearOperator(op, to_linear_operator(a[:2, :2])).matmul(torch.ones(10)),
            (op + operators.DiagLinearOperator(torch.ones(5))).inv_quad_logdet(b, logdet=True)]


def case_bayesian_optimisation():
    from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    x = torch.rand(8, 2)
    y = (x ** 2).sum(-1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    found = optimize_acqf(UpperConfidenceBound(model, beta=0.1), bounds=torch.tensor([[0.0, 0.0], [1.0, 1.0]]), q=1, num_restarts=3,
                          raw_samples=16)
    several = qExpectedImprovement(model, best_f=y.max(), sampler=SobolQMCNormalSampler(torch.Size([32]), seed=1))
    return [model.posterior(torch.rand(3, 2)).mean, *[f.round(decimals=3) for f in found], several(torch.rand(2, 2, 2)),
            LogExpectedImprovement(model, y.max())(torch.rand(3, 1, 2))]


def line(x, y=None):
    a, b = pyro.sample("a", dist.Normal(0, 10)), pyro.sample("b", dist.Normal(0, 10))
    s = pyro.sample("s", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(a * x + b, s), obs=y)


def case_guides():
    told, x = [], torch.randn(30)
    y = 2 * x + 1 + 0.1 * torch.randn(30)
    for kind in (autoguide.AutoNormal, autoguide.AutoMultivariateNormal, autoguide.AutoLowRankMultivariateNormal, autoguide.AutoDelta):
        pyro.clear_param_store()
        pyro.set_rng_seed(0)
        guide = kind(line)
        svi = SVI(line, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
        told.append([svi.step(x, y) for _ in range(8)])
    return told + [Predictive(line, guide=guide, num_samples=3)(x[:2])]


def case_monte_carlo():
    def model(y):
        m = pyro.sample("m", dist.Normal(0, 1))
        with pyro.plate("data", len(y)):
            pyro.sample("y", dist.Normal(m, 1.0), obs=y)
    told = []
    for kernel in (HMC(model, step_size=0.1, num_steps=4), NUTS(model)):
        pyro.set_rng_seed(0)
        chain = MCMC(kernel, num_samples=15, warmup_steps=10, disable_progbar=True)
        chain.run(torch.tensor([0.5, 1.0, 1.5]))
        told.append(chain.get_samples()["m"])
    return told


def case_hidden_markov():
    pyro.clear_param_store()

    @config_enumerate
    def model(y):
        p = pyro.param("p", torch.tensor([0.3, 0.7]), constraint=dist.constraints.simplex)
        place = pyro.param("place", torch.tensor([-1.0, 1.0]))
        for t in pyro.markov(range(len(y))):
            z = pyro.sample(f"z{t}", dist.Categorical(p))
            pyro.sample(f"y{t}", dist.Normal(place[z], 1.0), obs=y[t])
    svi = SVI(model, lambda y: None, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=0))
    return [svi.step(torch.tensor([0.3, -0.8, 1.2])) for _ in range(4)]


def case_flows():
    import pyro.distributions.transforms as T
    base, told = dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1), {}
    for t in (T.spline_coupling(2, count_bins=4), T.affine_autoregressive(2), T.planar(2), T.radial(2), T.affine_coupling(2),
              T.spline_autoregressive(2, count_bins=4), T.householder(2), T.matrix_exponential(2), T.batchnorm(2)):
        made = dist.TransformedDistribution(base, [t])
        x = made.rsample((3,))
        told[type(t).__name__] = x, made.log_prob(x)
    return told


cases(globals())
