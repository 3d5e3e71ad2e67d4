"""What training programs choose from: optimizers, schedulers, losses, distributions. `{a|b}` stands for one of several texts."""

GENERAL = "{||, maximize=True}{||, foreach=True|, foreach=False}"
OPTIMIZERS = ["SGD({p}, 0.1{|, momentum=0.9|, 0.8, 0.1|, momentum=0.9, nesterov=True}{|, weight_decay=0.05}" + GENERAL + ")",
    "SGD({p}{|, 0.05})", "SGD({p}, lr={torch.tensor(0.1)|0.2}, momentum={0.5|0}{|, fused=True|, differentiable=False})",
    "Adam({p}, 0.01{|, (0.8, 0.9)|, betas=(0.5, 0.99), eps=1e-4}{|, weight_decay=0.1}{|, amsgrad=True}{|, decoupled_weight_decay=True}" +
    GENERAL + ")",
    "Adam({p}, {torch.tensor(0.01), capturable=False|torch.tensor(0.01), foreach=False|0.01, fused=True|0.01, amsgrad=True, fused=True})",
    "AdamW({p}, 0.02{|, weight_decay=0.3|, betas=(0.7, 0.8)}{|, amsgrad=True}{|, fused=True|, foreach=False})",
    "RMSprop({p}, 0.01{|, 0.9|, alpha=0.5}{|, momentum=0.9}{|, centered=True}{|, weight_decay=0.1}" + GENERAL + ")",
    "Adagrad({p}, 0.05{|, lr_decay=0.1}{|, initial_accumulator_value=0.5}{|, weight_decay=0.1}" + GENERAL + ")",
    "Adagrad({p}{|, 0.1, fused=True})", "Adadelta({p}{|, 0.5|, 1.0, rho=0.5}{|, eps=1e-3}{|, weight_decay=0.1}" + GENERAL + ")",
    "Adamax({p}, 0.01{|, betas=(0.5, 0.9)}{|, weight_decay=0.1}" + GENERAL + ")",
    "NAdam({p}, 0.01{|, momentum_decay=0.1}{|, weight_decay=0.1}{|, decoupled_weight_decay=True}" + GENERAL + ")",
    "RAdam({p}, {0.01|0.1}{|, betas=(0.5, 0.8)}{|, weight_decay=0.1}{|, decoupled_weight_decay=True}" + GENERAL + ")",
    "ASGD({p}, 0.05{|, lambd=0.01, alpha=0.5|, t0=1}{|, weight_decay=0.1}" + GENERAL + ")",
    "Rprop({p}, 0.01{|, etas=(0.3, 1.5)}{|, step_sizes=(1e-3, 0.05)}" + GENERAL + ")",
    "LBFGS({p}, {0.1|0.5}, max_iter={3|2}{|, history_size=2}" "{|, line_search_fn='strong_wolfe'}{|, tolerance_grad=1e-3|, max_eval=2})",
    "Adafactor({p}, 0.01{|, d=0.5}{|, weight_decay=0.1}{|, maximize=True})",
    "Muon([q for q in {p} if q.ndim == 2], 0.02{|, momentum=0.5}{|, nesterov=False}{|, weight_decay=0.0})",]
PARAMETERS = ["model.parameters()", "model.parameters()", "model.parameters()", "list(model.parameters())", "model.named_parameters()",
    "[{'params': [*model.parameters()][:1], 'lr': {0.03|0.0}}, {'params': [*model.parameters()][1:]}]",
    "(q for q in model.parameters() if q.requires_grad)",
    "[{'params': [q for q in model.parameters() if q.dim() > 1], 'weight_decay': 0.1}, {'params': [q for q in model.parameters() if "
    "q.dim() < 2]}]", "[{'params': m.parameters(), 'lr': 0.01 * (k + 1)} for k, m in enumerate(model) if [*m.parameters()]]",
    "[{'params': [n for n in model.named_parameters()], 'name': 'all'}]",]
WRONG_OPTIMIZERS = ["SGD({p}, -1)", "SGD({p}, 0.1, nesterov=True)", "Adam({p}, betas=(1.0, 0.9))", "Adam({p}, eps=-1.)", "Adam([])",
    "Adam(torch.ones(2))", "AdamW({p}, weight_decay=-1)", "Adam([{'params': []}, 3])", "Adam({p}, 0.1, foreach=True, fused=True)",
    "RMSprop({p}, alpha=-1)", "Rprop({p}, etas=(1.5, 2.0))", "Adadelta({p}, rho=2)", "SGD([model(x)], 0.1)", "SparseAdam({p}, -0.1)",
    "Adagrad({p}, lr_decay=-1)", "NAdam({p}, momentum_decay=-1)", "Adamax({p}, betas=(0.9, 1.1))",
    "LBFGS([{'params': {p}}, {'params': [nn.Parameter(torch.ones(1))]}])", "SGD([*model.parameters()] * 2, 0.1)",
    "SGD([{'params': {p}}, {'params': {p}}], 0.1)", "Adam(['a'])", "SGD([('w', torch.ones(1)), torch.ones(1)])",
    "Adam({p}, torch.tensor(0.1), foreach=True)", "Adam({p}, torch.tensor([0.1, 0.2]))", "SGD({p}, 0.1, fused=True, differentiable=True)",
    "SGD({'a': 1})", "Muon({p})", "ASGD({p}, lr=-1)", "Adafactor({p}, beta2_decay=1)", "RAdam({p}, eps=-1)", "SGD([{'lr': 3}], 0.1)",
    "Adam(model)", "SGD([{'params': {torch.ones(1)}}], 0.1)",]
SIMPLE = ["StepLR(opt, {2|1}{|, 0.5})", "MultiStepLR(opt, {[1, 3]|[2, 2]}{|, 0.3})", "ExponentialLR(opt, {0.9|0.5})",
    "ConstantLR(opt{|, 0.5, 2})", "LinearLR(opt{|, 0.3, total_iters=3|, 0.1, 0.5, 2})", "PolynomialLR(opt, {5|2}{|, 2.0})",
    "CosineAnnealingLR(opt, {4|2}{|, 0.001})", "CosineAnnealingWarmRestarts(opt, {2|3}{|, 2}{|, eta_min=0.001})",
    "LambdaLR(opt, lambda k: {1 / (1 + k)|0.95 ** k|min(1, (k + 1) / 3)})", "MultiplicativeLR(opt, lambda k: 0.9)",]
SCHEDULERS = SIMPLE + [
    "OneCycleLR(opt, 0.1, {total_steps=10|epochs=2, steps_per_epoch=4}{|, pct_start=0.5}{|, anneal_strategy='linear'}{|, "
    "three_phase=True}, cycle_momentum=False)",
    "CyclicLR(opt, 0.01, 0.1, 2{|, 3}{|, mode='triangular2'|, mode='exp_range', gamma=0.9}, cycle_momentum=False)",
    "CyclicLR(opt, 0.01, 0.1, 2, scale_fn=lambda k: 1 / (k + 1), scale_mode={'cycle'|'iterations'}, cycle_momentum=False)",
    "OneCycleLR(opt, {0.1|[0.1] * len(opt.param_groups)}, 6)", "CyclicLR(opt, 0.01, 0.1, 2)", "StepLR(opt, 1, last_epoch=3)",
    "SequentialLR(opt, [S.{s}, S.{t}], [2])", "SequentialLR(opt, [S.{s}, S.{t}, S.{s}], milestones=[1, 3])",
    "ChainedScheduler([S.{s}, S.{t}]{|, optimizer=opt})", "SequentialLR(opt, [S.ChainedScheduler([S.{s}, S.{t}]), S.{s}], [2])",
    "SequentialLR(opt, [S.{s}, S.SequentialLR(opt, [S.{s}, S.{t}], [1])], [2])",
    "LambdaLR(opt, [lambda k: 1 / (k + 1)] * len(opt.param_groups))", "LambdaLR(opt, [lambda k: 1, lambda k: 2])",]
# of scores (n, 3) named out, classes named t, and real numbers (n, 3) named y
LOSSES = ["nn.CrossEntropyLoss({|label_smoothing=0.1|weight=torch.tensor([1., 2., 0.5])|ignore_index=1|reduction='sum'})(out, t)",
    "F.cross_entropy(out, t)", "nn.CrossEntropyLoss(reduction='none')(out, t).mul(torch.arange(len(out))).mean()",
    "nn.CrossEntropyLoss()(out, y.softmax(-1))",
    "nn.NLLLoss({|weight=torch.tensor([1., 2., 0.5])|ignore_index=0|reduction='sum'})(out.log_softmax(-1), t)",
    "nn.MSELoss({|reduction='sum'})(out, y)", "nn.L1Loss()(out, y)", "nn.SmoothL1Loss({|beta=0.3})(out, y)",
    "nn.HuberLoss({|delta=0.3})(out, y)", "nn.KLDivLoss({reduction='batchmean'|log_target=True})"
    "(out.log_softmax(-1), y.log_softmax(-1))", "nn.BCELoss({|weight=torch.tensor([1., 2., 3.])})(out.sigmoid(), y.sigmoid())",
    "nn.BCEWithLogitsLoss({|pos_weight=torch.tensor([1., 2., 3.])|reduction='sum'})(out, (y > 0).to(out.dtype))",
    "nn.PoissonNLLLoss({|log_input=False|full=True})" "(out{|.exp()}, y.abs().round())",
    "nn.GaussianNLLLoss({|full=True})(out, y, {torch.ones_like(y)|F.softplus(out)})", "nn.HingeEmbeddingLoss({|0.5})(out, y.sign())",
    "nn.MultiMarginLoss({|2|margin=0.5})(out, t)", "nn.MultiLabelMarginLoss()(out, torch.tensor([[0, 2, -1]]).expand(len(out), 3))",
    "nn.MultiLabelSoftMarginLoss()(out, (y > 0).to(out.dtype))", "nn.SoftMarginLoss()(out, y.sign())",
    "nn.MarginRankingLoss({|0.2})(out[:, 0], out[:, 1], y[:, 0].sign())", "nn.TripletMarginLoss({|swap=True|p=1})(out, y, out.flip(0))",
    "nn.CosineEmbeddingLoss({|0.1})(out, y, (t > 0) * 2 - 1)", "nn.TripletMarginWithDistanceLoss("
    "{|distance_function=lambda a, b: (a - b).abs().sum(-1)})(out, y, y.flip(0))",
    "nn.CTCLoss({|zero_infinity=True|reduction='sum'})(out.log_softmax(-1)[:, None].expand(-1, 2, -1), "
    "torch.tensor([[1, 2], [2, 1]]), torch.tensor([len(out)] * 2), torch.tensor([2, 1]))",
    "-(out.log_softmax(-1).gather(1, t[:, None])).mean()", "(out - y).pow(2).mean()",
    "F.cross_entropy(F.normalize(out) @ F.normalize(y).T / 0.5, torch.arange(len(out)))",
    "(out.logsumexp(-1) - out.gather(-1, t.unsqueeze(-1)).squeeze(-1)).mean()",
    "F.mse_loss(out.softmax(-1), F.one_hot(t, 3).to(out.dtype))",
    "(1 - (2 * (out.sigmoid() * (y > 0)).sum() + 1) / (out.sigmoid().sum() + (y > 0).sum() + 1))",
    "(-(1 - (q := out.softmax(-1).gather(1, t[:, None]))) ** 2 * q.log()).mean()",
    "torch.where(y.abs() < 0.5, 0.5 * (out - y) ** 2, (out - y).abs()).sum(-1).mean()",]
# with a parameter tensor w of two rows and three columns
CONTINUOUS = ["D.Normal(w[0], {w[1].exp()|F.softplus(w[1])|0.5})", "D.LogNormal(w[0], w[1].exp())", "D.Gamma(w[0].exp(), w[1].exp())",
    "D.Beta(w[0].exp(), w[1].exp())", "D.Laplace(w[0], w[1].exp())", "D.Uniform(w[0], w[0] + w[1].exp())", "D.Exponential(w[0].exp())",
    "D.Cauchy(w[0], w[1].exp())", "D.HalfNormal(w[0].exp())", "D.HalfCauchy(w[0].exp())", "D.StudentT(w[0].exp() + 1, w[1], w[0].exp())",
    "D.Gumbel(w[0], w[1].exp())", "D.Weibull(w[0].exp(), w[1].exp())", "D.Chi2(w[0].exp())", "D.Pareto(w[0].exp(), w[1].exp() + 2)",
    "D.Kumaraswamy(w[0].exp(), w[1].exp())", "D.FisherSnedecor(w[0].exp() + 1, w[1].exp() + 3)",
    "D.InverseGamma(w[0].exp() + 1, w[1].exp())", "D.Dirichlet(w[0].exp())", "D.MultivariateNormal(w[0], torch.diag_embed(w[1].exp()))",
    "D.MultivariateNormal(w[0], scale_tril=torch.eye(3) + 0.1 * w[1].diag_embed())",
    "D.LowRankMultivariateNormal(w[0], w[1][:, None], w[1].exp())", "D.Independent(D.Normal(w[0], w[1].exp()), 1)",
    "D.RelaxedBernoulli(torch.tensor(0.7), logits=w[0])", "D.RelaxedOneHotCategorical(torch.tensor(0.7), logits=w[0])",
    "D.LogisticNormal(w[0], w[1].exp())", "D.ContinuousBernoulli(logits=w[0])", "D.VonMises(w[0], w[1].exp())",
    "D.TransformedDistribution(D.Normal(w[0], w[1].exp()), [D.TanhTransform(cache_size=1)])",
    "D.TransformedDistribution(D.Normal(0. * w[0], 1.), [D.AffineTransform(w[0], w[1].exp()), D.{Exp|Sigmoid|Softplus}Transform()])",
    "D.MixtureSameFamily(D.Categorical(logits=w[0]), D.Normal(w[1], w[0].exp()))",
    "D.Wishart(w[0].exp().sum() + 3, torch.eye(2) * w[1, 0].exp())", "D.GeneralizedPareto(w[0], w[1].exp(), 0.1 * w[0].sigmoid())",
    "D.LKJCholesky(3, w[0, 0].exp())",
    "D.TransformedDistribution(D.Uniform(0. * w[0], 1.), [D.SigmoidTransform().inv, D.AffineTransform(w[0], w[1].exp())])",]
DISCRETE = ["D.Bernoulli({logits=w[0]|w[0].sigmoid()})", "D.Categorical({logits=w|w.softmax(-1)})", "D.Poisson(w[0].exp())",
    "D.Geometric({logits=w[0]|w[0].sigmoid()})", "D.Binomial(5, logits=w[0])", "D.NegativeBinomial(4, logits=w[0])",
    "D.OneHotCategorical(logits=w)", "D.OneHotCategoricalStraightThrough(logits=w)", "D.Multinomial(4, logits=w[0])",
    "D.Independent(D.Bernoulli(logits=w), 1)", "D.MixtureSameFamily(D.Categorical(logits=w[0]), D.Poisson(w[1].exp()))",]
