"""Distributions that give the same under torchshim and real torch; `python tests/distributions/cases.py > tests/distributions/goldens.json`
under real torch 2.13 records what they give."""
import itertools
import json
import warnings


def makers(torch):
    D, T = torch.distributions, torch.tensor
    matrix = T([[2.0, 0.3], [0.3, 1.0]])
    return {
        "Bernoulli": lambda: D.Bernoulli(T([0.3, 0.6])), "BernoulliLogits": lambda: D.Bernoulli(logits=T([0.3, -0.6])),
        "Beta": lambda: D.Beta(T([0.5, 2.0]), T([1.5, 3.0])), "Binomial": lambda: D.Binomial(T([10.0, 90.0]), T([0.3, 0.6])),
        "Categorical": lambda: D.Categorical(logits=T([[0.1, 0.2, 0.3], [1.0, 2.0, 0.0]])),
        "Cauchy": lambda: D.Cauchy(T([0.0, 1.0]), T([1.0, 2.0])), "Chi2": lambda: D.Chi2(T([1.0, 3.0])),
        "ContinuousBernoulli": lambda: D.ContinuousBernoulli(T([0.3, 0.5])), "Dirichlet": lambda: D.Dirichlet(T([0.5, 1.0, 2.0])),
        "Exponential": lambda: D.Exponential(T([1.0, 3.0])), "FisherSnedecor": lambda: D.FisherSnedecor(T([3.0, 5.0]), T([5.0, 6.0])),
        "Gamma": lambda: D.Gamma(T([1.0, 3.0]), T([2.0, 0.5])),
        "GeneralizedPareto": lambda: D.GeneralizedPareto(T([0.0, 1.0]), T([1.0, 2.0]), T([0.2, 0.0])),
        "Geometric": lambda: D.Geometric(T([0.3, 0.6])), "Gumbel": lambda: D.Gumbel(T([0.0, 1.0]), T([1.0, 2.0])),
        "HalfCauchy": lambda: D.HalfCauchy(T([1.0, 2.0])), "HalfNormal": lambda: D.HalfNormal(T([1.0, 2.0])),
        "Independent": lambda: D.Independent(D.Normal(T([0.0, 1.0]), T([1.0, 2.0])), 1),
        "InverseGamma": lambda: D.InverseGamma(T([1.5, 3.0]), T([2.0, 0.5])),
        "Kumaraswamy": lambda: D.Kumaraswamy(T([1.5, 3.0]), T([2.0, 0.5])),
        "LKJCholesky": lambda: D.LKJCholesky(3, 1.5), "Laplace": lambda: D.Laplace(T([0.0, 1.0]), T([1.0, 2.0])),
        "LogNormal": lambda: D.LogNormal(T([0.0, 1.0]), T([1.0, 0.2])),
        "LogisticNormal": lambda: D.LogisticNormal(T([0.0, 1.0]), T([1.0, 0.2])),
        "LowRank": lambda: D.LowRankMultivariateNormal(T([0.0, 1.0]), T([[1.0], [0.5]]), T([1.0, 0.2])),
        "Mixture": lambda: D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), D.Normal(T([0.0, 1.0]), T([1.0, 0.2]))),
        "Multinomial": lambda: D.Multinomial(5, T([0.2, 0.3, 0.5])),
        "MultivariateNormal": lambda: D.MultivariateNormal(T([0.0, 1.0]), matrix),
        "MultivariateNormalBatch": lambda: D.MultivariateNormal(torch.zeros(3, 2), precision_matrix=matrix),
        "NegativeBinomial": lambda: D.NegativeBinomial(T([3.0, 5.0]), T([0.3, 0.6])),
        "Normal": lambda: D.Normal(T([0.0, 1.0]), T([1.0, 2.0])),
        "OneHotCategorical": lambda: D.OneHotCategorical(T([0.2, 0.3, 0.5])), "Pareto": lambda: D.Pareto(T([1.0, 2.0]), T([3.0, 2.5])),
        "Poisson": lambda: D.Poisson(T([1.0, 20.0])), "RelaxedBernoulli": lambda: D.RelaxedBernoulli(T(0.5), T([0.3, 0.6])),
        "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(T(0.5), T([0.2, 0.3, 0.5])),
        "StudentT": lambda: D.StudentT(T([1.5, 3.0])), "Uniform": lambda: D.Uniform(T([0.0, 0.2]), T([1.0, 0.8])),
        "VonMises": lambda: D.VonMises(T([0.0, 1.0]), T([1.0, 4.0])), "Weibull": lambda: D.Weibull(T([1.0, 2.0]), T([3.0, 2.5])),
        "Wishart": lambda: D.Wishart(T([3.0, 4.0]), matrix),
    }


def _numbers(f):
    try:
        return [float(f"{v:.6g}") for v in f().detach().double().flatten().tolist()]
    except NotImplementedError:
        return None


def describe(torch, name):
    """repr, moments, samples from a seed, densities there, and the same after expand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = makers(torch)[name]()
        out = {"repr": repr(d), "support": repr(d.support)}
        for what in ("mean", "mode", "variance", "stddev"):
            out[what] = _numbers(lambda: getattr(d, what))
        out["entropy"] = _numbers(d.entropy)
        torch.manual_seed(1)
        x = d.sample((2,))
        out["sample"] = _numbers(lambda: x)
        out["log_prob"] = _numbers(lambda: d.log_prob(x))
        out["cdf"] = _numbers(lambda: d.cdf(x))
        out["icdf"] = _numbers(lambda: d.icdf(torch.full(tuple(d.batch_shape), 0.3)))
        wide = d.expand((2,) + tuple(d.batch_shape))
        torch.manual_seed(2)
        out["expanded"] = _numbers(lambda: wide.log_prob(wide.sample()))
    return out


def divergences(torch):
    """All pairs that have one."""
    out = {}
    made = makers(torch)
    for p, q in itertools.product(made, repeat=2):
        if p != q or p == "Normal":
            try:
                out[f"{p} {q}"] = _numbers(lambda: torch.distributions.kl_divergence(made[p](), made[q]()))
            except ValueError:
                out[f"{p} {q}"] = "ValueError"
    return {k: v for k, v in out.items() if v is not None}


def transforms(torch):
    """Values, inverses, log determinants and reprs."""
    t, x, out = torch.distributions.transforms, torch.tensor([0.1, -0.4, 0.7]), {}
    for f in (t.ExpTransform(), t.SigmoidTransform(), t.TanhTransform(), t.SoftplusTransform(), t.AffineTransform(1.0, 2.0),
              t.StickBreakingTransform(), t.CorrCholeskyTransform(), t.ComposeTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0)]),
              t.IndependentTransform(t.ExpTransform(), 1), t.ReshapeTransform((3,), (3, 1)),
              t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], 0, [1, 2]),
              t.StackTransform([t.ExpTransform(), t.SigmoidTransform(), t.identity_transform], 0)):
        y = f(x)
        out[repr(f) + repr(f.codomain)] = [_numbers(lambda: y), _numbers(lambda: f.inv(y)), _numbers(lambda: f.log_abs_det_jacobian(x, y))]
    return out


if __name__ == "__main__":
    import torch
    print(json.dumps({"describe": {n: describe(torch, n) for n in makers(torch)}, "divergences": divergences(torch),
                      "transforms": transforms(torch)}, indent=None).replace("}, ", "},\n"))
