"""Molecules, operators between functions, equations, distances of measures, wavelets, integrals: mace, torchani, neuralop, deepxde,
neurodiffeq, torchcde, geomloss, ot, ptwt, pytorch_wavelets, torch_dct, torchquad, cvxpylayers, qpth."""
import contextlib
import io
import os

import torch
from _telling import case, cases, learned
from torch import nn

os.environ["DDE_BACKEND"] = "pytorch"


def case_mace():
    import numpy as np
    from e3nn import o3
    from mace import data, modules, tools
    from mace.tools import torch_geometric
    told = []
    for cls, scale in ((modules.MACE, {}), (modules.ScaleShiftMACE, dict(atomic_inter_scale=1.5, atomic_inter_shift=0.1))):
        torch.manual_seed(0)
        model = cls(r_max=4.0, num_bessel=4, num_polynomial_cutoff=5, max_ell=2, num_interactions=2, num_elements=2, avg_num_neighbors=3,
                    interaction_cls=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
                    interaction_cls_first=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
                    hidden_irreps=o3.Irreps("4x0e + 4x1o"), MLP_irreps=o3.Irreps("4x0e"), atomic_energies=np.array([1.0, 3.0]),
                    atomic_numbers=[1, 8], correlation=2, gate=torch.nn.functional.silu, **scale)
        atoms = data.Configuration(atomic_numbers=np.array([8, 1, 1]), positions=np.array([[0.0, -2.0, 0], [1, 0, 0], [0, 1, 0]]),
                                   properties={}, property_weights={})
        z = tools.AtomicNumberTable([1, 8])
        batch = next(iter(torch_geometric.dataloader.DataLoader([data.AtomicData.from_config(atoms, z_table=z, cutoff=3.0)] * 2, 2)))
        made = model(batch.to_dict(), training=True, compute_stress=True)
        (made["energy"].sum() + made["forces"].pow(2).sum()).backward()
        told.append([{k: made[k] for k in ("energy", "forces", "stress")},
            sum([p.grad.abs().sum() for p in model.parameters() if p.grad is not None])])
    return told


def case_torchani():
    import torchani
    model = torchani.arch.simple_ani(["H", "C", "O"], "wb97x-631gd", ensemble_size=2, repulsion=True, radial_shifts=4, angular_shifts=2)
    species, x = torch.tensor([[6, 1, 1, 8], [1, 8, 1, -1]]), torch.randn(2, 4, 3).requires_grad_()
    energies = model((species, x)).energies
    forces = torch.autograd.grad(energies.sum(), x, create_graph=True)[0]
    forces.pow(2).sum().backward()
    return energies, forces, x.grad, torchani.grad.hessians(torch.autograd.grad(-model((species, x)).energies.sum(), x,
        create_graph=True)[0], x)


OPERATORS = dict(
    FNO=dict(n_modes=(6, 6), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, norm="group_norm"),
    TFNO=dict(n_modes=(6, 6), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, factorization="tucker", rank=0.3),
    UNO=dict(channel_mlp_skip="linear", in_channels=2, out_channels=1, hidden_channels=8, lifting_channels=8, projection_channels=8,
        n_layers=3, uno_out_channels=[8, 8, 8],
             uno_n_modes=[[4, 4]] * 3, uno_scalings=[[1.0, 1.0], [0.5, 0.5], [2.0, 2.0]]))


def losses(model, loss):
    """Of some steps: the state of these models holds more than tensors."""
    optimizer, told = torch.optim.AdamW(model.parameters(), 1e-2), []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        told.append(value.item())
    return told


def operator(name, options):
    import neuralop.models
    from neuralop import H1Loss, LpLoss
    model, x, y = getattr(neuralop.models, name)(**options), torch.randn(2, 2, 16, 16), torch.randn(2, 1, 16, 16)
    return learned(model, x), losses(model, lambda m: H1Loss(d=2)(m(x), y) + LpLoss(d=2)(m(x), y)), model(torch.randn(1, 2, 24,
        24)) if name == "FNO" else None


for name, options in OPERATORS.items():
    case(f"neuralop.{name}", lambda: operator(name, options))


def case_deepxde():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import deepxde as dde
        dde.config.set_random_seed(1)

        def equation(x, u):
            return dde.grad.hessian(u, x, i=0, j=0) + dde.grad.jacobian(u, x, i=0, j=1) + torch.sin(3.14159 * x[:, :1])
        space = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
        edge = dde.icbc.DirichletBC(space, lambda x: 0, lambda _, on: on)
        begin = dde.icbc.IC(space, lambda x: x[:, 0:1] ** 2 - 1, lambda _, on: on)
        data = dde.data.TimePDE(space, equation, [edge, begin], num_domain=40, num_boundary=8, num_initial=8, train_distribution="uniform")
        model = dde.Model(data, dde.nn.FNN([2, 16, 16, 1], "tanh", "Glorot normal"))
        model.compile("adam", lr=1e-2)
        history, _ = model.train(iterations=20, display_every=5)
        net = dde.nn.DeepONetCartesianProd([4, 8, 8], [1, 8, 8], "relu", "Glorot normal")
    return [[float(v) for v in row] for row in history.loss_train][:4], torch.tensor(model.predict(data.test_x[:5])), \
        learned(net, (torch.randn(3, 4), torch.randn(5, 1)))


def case_neurodiffeq():
    from neurodiffeq import diff
    from neurodiffeq.conditions import IVP, DirichletBVP2D
    from neurodiffeq.networks import FCNN, SinActv
    from neurodiffeq.solvers import Solver1D, Solver2D
    told = []
    solver = Solver1D(lambda x, y, t: [diff(x, t) - y, diff(y, t, order=1) + x], [IVP(0.0, 0.5), IVP(0.0, 1.0)], t_min=0.0, t_max=3.0,
                      nets=[FCNN(hidden_units=(8, 8)), FCNN(actv=SinActv)], n_batches_valid=1)
    solver.fit(4, tqdm_file=None)
    told.append([float(v) for v in solver.metrics_history["train_loss"]])
    plane = Solver2D(lambda u, x, y: [diff(u, x, order=2) + diff(u, y, order=2)], [DirichletBVP2D(
        0.0, lambda y: torch.sin(3.14159 * y), 1.0, lambda y: 0, 0.0, lambda x: 0, 1.0, lambda x: 0)], (0, 0), (1, 1), nets=[FCNN(2, 1,
            hidden_units=(8,))])
    plane.fit(3, tqdm_file=None)
    torch.set_default_dtype(torch.float32)             # importing neurodiffeq has changed it
    return told, [float(v) for v in plane.metrics_history["train_loss"]], solver.get_solution()(torch.linspace(0, 1, 4))


def case_torchcde():
    import torchcde

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 12)

        def forward(self, t, z):
            return self.net(z).view(-1, 4, 3).tanh()
    x, told = torch.randn(2, 7, 3), []
    x[:, 3] = float("nan")
    field = Field()
    for coefficients, kind in ((torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline),
                               (torchcde.natural_cubic_coeffs, torchcde.CubicSpline),
                               (torchcde.linear_interpolation_coeffs, torchcde.LinearInterpolation)):
        path = kind(coefficients(x))
        z = torchcde.cdeint(path, field, torch.ones(2, 4), path.interval, adjoint=kind is torchcde.LinearInterpolation, method="rk4",
                            options=dict(step_size=0.5))
        z.sum().backward()
        told.append([z, field.net.weight.grad, path.derivative(torch.tensor(1.3))])
    return told


def case_geomloss():
    import geomloss
    told = []
    for loss in ("sinkhorn", "energy", "gaussian", "laplacian"):
        for weights in (False, True):
            x, y = torch.randn(6, 2).requires_grad_(), torch.randn(7, 2)
            w = (torch.rand(6).softmax(0), torch.rand(7).softmax(0)) if weights else ()
            value = geomloss.SamplesLoss(loss, p=2, blur=0.1, scaling=0.7, reach=1.0 if weights else None, backend="tensorized")(
                *((w[0], x, w[1], y) if weights else (x, y)))
            value.backward()
            told.append([value, x.grad])
    return told


TRANSPORT = dict(
    sinkhorn=lambda ot, a, b, M, x, y: ot.sinkhorn(a, b, M, 0.5), sinkhorn_log=lambda ot, a, b, M, x, y: ot.sinkhorn(a, b, M, 0.05,
        "sinkhorn_log"),
    emd2=lambda ot, a, b, M, x, y: ot.emd2(a, b, M), sinkhorn2=lambda ot, a, b, M, x, y: ot.sinkhorn2(a, b, M, 0.5),
    sliced=lambda ot, a, b, M, x, y: ot.sliced_wasserstein_distance(x, y, a, b, seed=0, n_projections=8),
    max_sliced=lambda ot, a, b, M, x, y: ot.max_sliced_wasserstein_distance(x, y, seed=0, n_projections=8),
    wasserstein_1d=lambda ot, a, b, M, x, y: ot.wasserstein_1d(x, y, p=2), unbalanced=lambda ot, a, b, M, x, y: ot.sinkhorn_unbalanced(a,
        b, M, 0.5, 1.0),
    gromov=lambda ot, a, b, M, x, y: ot.gromov.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b),
    entropic_gromov=lambda ot, a, b, M, x, y: ot.gromov.entropic_gromov_wasserstein(ot.dist(x, x), ot.dist(y, y), a, b, epsilon=1.0,
        max_iter=5),
    barycenter=lambda ot, a, b, M, x, y: ot.barycenter(torch.stack([a, a.flip(0)], 1), ot.dist(x, x).detach(), 0.5),
    bures=lambda ot, a, b, M, x, y: ot.gaussian.empirical_bures_wasserstein_distance(x, y), partial=lambda ot, a, b, M, x,
        y: ot.partial.entropic_partial_wasserstein(a, b, M, 0.5, 0.7),
    solve=lambda ot, a, b, M, x, y: ot.solve(M, a, b, reg=0.5, unbalanced=1.0).value, solve_sample=lambda ot, a, b, M, x,
        y: ot.solve_sample(x, y, reg=0.5).value,
    smooth=lambda ot, a, b, M, x, y: ot.smooth.smooth_ot_dual(a.detach(), b.detach(), M.detach(), 0.5), weak=lambda ot, a, b, M, x,
        y: ot.weak_optimal_transport(x, y, a, b),
    factored=lambda ot, a, b, M, x, y: ot.factored_optimal_transport(x, y, r=2)[0])


def transported(f):
    import ot
    torch.manual_seed(0)
    x, y = torch.randn(6, 2, dtype=torch.float64).requires_grad_(), torch.randn(7, 2, dtype=torch.float64)
    a, b = torch.rand(6, dtype=torch.float64).softmax(0).requires_grad_(), torch.rand(7, dtype=torch.float64).softmax(0)
    value = f(ot, a, b, ot.dist(x, y), x, y)
    if value.requires_grad:
        value.sin().sum().backward()
    return value, x.grad, a.grad


for name, f in TRANSPORT.items():
    case(f"ot.{name}", lambda: transported(f))


def case_wavelets():
    import ptwt
    import pywt
    from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse
    x = torch.randn(2, 1, 16, 20).requires_grad_()
    low, high = DWTForward(J=2, wave="db3", mode="symmetric")(x)
    made = DWTInverse(wave="db3", mode="symmetric")((low, high))
    made.sin().sum().backward()
    low2, high2 = DTCWTForward(J=2)(x.detach())
    line = ptwt.wavedec(x.detach(), pywt.Wavelet("db4"), level=2, mode="reflect")
    packet = ptwt.WaveletPacket(torch.randn(2, 64), pywt.Wavelet("haar"), mode="reflect", maxlevel=2)
    scales = ptwt.cwt(torch.randn(64), torch.arange(1.0, 5.0), "mexh")[0]
    matrix = ptwt.MatrixWavedec(pywt.Wavelet("db2"), 2)(torch.randn(2, 32))
    return [low, high, made, x.grad, low2, high2, DTCWTInverse()((low2, high2)), line, ptwt.waverec(line, pywt.Wavelet("db4")),
        packet["aa"], scales,
            matrix, ptwt.wavedec2(x.detach(), pywt.Wavelet("db2"), level=1)[0], ptwt.swt(torch.randn(2, 32), pywt.Wavelet("haar"), 2)]


def case_torch_dct():
    import torch_dct as dct
    x = torch.randn(3, 7).requires_grad_()
    told = [f(x) for f in (dct.dct, dct.idct, dct.dct1, dct.dct_2d, dct.idct_2d)] + [dct.dct(x, norm="ortho"), dct.dct_3d(torch.randn(2,
        3, 4))]
    sum([v.sin().sum() for v in told[:5]]).backward()
    return told, x.grad, dct.LinearDCT(7, "dct")(x)


def case_torchquad():
    import torchquad as q
    told = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for kind in ("Trapezoid", "Simpson", "Boole", "GaussLegendre", "MonteCarlo", "VEGAS"):
            domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]]).requires_grad_()
            options = dict(seed=1) if kind in ("MonteCarlo", "VEGAS") else {}
            value = getattr(q, kind)().integrate(lambda x: 1 * torch.exp(-x.pow(2).sum(1)), dim=2, N=2001, integration_domain=domain,
                backend="torch", **options)
            told.append(value)
            if kind != "VEGAS":
                value.backward()
                told.append(domain.grad)
    return told


def case_cvxpylayers():
    import cvxpy as cp
    from cvxpylayers.torch import CvxpyLayer
    x, A, b = cp.Variable(2), cp.Parameter((3, 2)), cp.Parameter(3)
    layer = CvxpyLayer(cp.Problem(cp.Minimize(0.5 * cp.pnorm(A @ x - b, p=1)), [x >= 0]), parameters=[A, b], variables=[x])
    a, c = torch.randn(3, 2).requires_grad_(), torch.randn(3).requires_grad_()
    made, = layer(a, c)
    made.sum().backward()
    return made, a.grad, c.grad


def case_qpth():
    from qpth.qp import QPFunction
    q = torch.eye(4) + 0.1
    p, g, h = torch.randn(2, 4).requires_grad_(), torch.randn(3, 4).requires_grad_(), torch.rand(3).requires_grad_()
    made = QPFunction(verbose=-1)(q, p, g, h, torch.randn(1, 4), torch.zeros(1))
    made.sin().sum().backward()
    return made, p.grad, g.grad, h.grad


cases(globals())
