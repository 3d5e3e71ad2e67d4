"""Functions that torch makes of several operators, and their gradients: distances, statistics, windows, pooling, resizing, losses."""
import warnings

import torch
import torch.nn.functional as F  # noqa: F401  (the calls below are text)
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")


def shown(a):
    if isinstance(a, torch.Tensor):
        return f"T{list(a.shape)}{'' if a.dtype is torch.float32 else str(a.dtype)[6:]}"
    if isinstance(a, (list, tuple)):
        return "[" + ", ".join(map(shown, a)) + "]"
    return f"{a:.5g}" if isinstance(a, float) else repr(a)


class Noting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not str(func).startswith("profiler."):
            print(f"    {func}({', '.join([shown(a) for a in args] + [f'{k}={shown(v)}' for k, v in kwargs.items()])})")
        return func(*args, **kwargs)


torch.manual_seed(0)
x, w, i = torch.arange(12.).view(3, 4) % 5, torch.rand(3, 4) + .1, torch.tensor([2, 0, 1])
z, xn, b, img = torch.rand(3, 4) + 1j * torch.rand(3, 4), x.clone(), torch.rand(2, 3, 4), torch.rand(2, 4, 5, 6)
xn[0, 0] = float("nan")
sq, v, g = torch.rand(3, 3), torch.tensor([3., 1., 2.]), x.clone().requires_grad_()
CASES = """
    torch.cdist(x,w) ; torch.cdist(x,w,p=1) ; torch.cdist(x,w,p=float('inf'),compute_mode='donot_use_mm_for_euclid_dist')
    torch.cdist(torch.rand(30,4),w) ; torch.cdist(torch.rand(30,4),w,compute_mode='donot_use_mm_for_euclid_dist') ; torch.cdist(b,b)
    torch.cdist(b,b,compute_mode='use_mm_for_euclid_dist') ; torch.cdist(b,x) ; torch.diff(x) ; x.diff(n=2,dim=0)
    torch.diff(x,prepend=x[:,:1]) ; torch.diff(x,append=x[:,:1],n=2) ; torch.diff(x>1) ; torch.diff(x,n=0) ; torch.diff(x,n=9)
    torch.cov(x) ; torch.cov(x[0]) ; torch.cov(x,correction=0) ; torch.cov(x,fweights=torch.tensor([1,2,3,1]))
    torch.cov(x,aweights=torch.tensor([1.,2,3,1])) ; torch.corrcoef(x) ; torch.corrcoef(x[0]) ; torch.quantile(x,.5)
    torch.quantile(x,torch.tensor([.1,.5]),dim=1) ; torch.quantile(x,torch.tensor([.1,.5]),dim=0,keepdim=True)
    torch.quantile(x,.5,dim=0,interpolation='nearest') ; torch.quantile(x,.5,dim=1,interpolation='lower')
    torch.quantile(x,.5,dim=1,interpolation='higher') ; torch.quantile(x,.5,dim=1,interpolation='midpoint',keepdim=True)
    torch.nanquantile(xn,.5,1) ; torch.nanquantile(xn,torch.tensor([.1,.5])) ; torch.trapezoid(x) ; torch.trapz(x)
    torch.trapezoid(x,dx=2,dim=0) ; torch.trapezoid(x,w) ; torch.trapezoid(x,torch.arange(4.)) ; torch.cumulative_trapezoid(x)
    torch.cumulative_trapezoid(x,w) ; torch.cumulative_trapezoid(x,dx=3.,dim=0) ; torch.gradient(x) ; torch.gradient(x,dim=0)
    torch.gradient(x,spacing=2.) ; torch.gradient(x,spacing=[2.,3.]) ; torch.gradient(x,edge_order=2) ; torch.combinations(v)
    torch.combinations(v,r=1) ; torch.combinations(v,3,True) ; torch.cartesian_prod(v) ; torch.unique(x)
    torch.unique(x,sorted=False,return_inverse=True) ; torch.unique(x,return_counts=True,return_inverse=True) ; torch.unique(x,dim=0)
    torch.unique_consecutive(x) ; torch.unique_consecutive(x,return_counts=True) ; torch.unique_consecutive(x,dim=0)
    torch.cross(x[:,:3],w[:,:3],dim=1) ; torch.cross(x,w) ; torch.linalg.cross(x[:,:3],w[:,:3]) ; torch.isclose(x,w)
    torch.isclose(x,w,equal_nan=True) ; torch.isclose(x,w,rtol=0,atol=0) ; torch.nanmean(xn) ; torch.nanmean(xn,1)
    torch.nanmean(xn,(0,1),keepdim=True) ; torch.take_along_dim(x,i[None,:3].expand(1,3),1) ; torch.take_along_dim(x,i)
    torch.take_along_dim(x,torch.tensor([[0]]),-1) ; F.pairwise_distance(x,w) ; torch.pairwise_distance(x,w,1,1e-3,True)
    F.cosine_similarity(x,w) ; torch.cosine_similarity(x,w,0,1e-3) ; torch.cosine_similarity(b,x,-1) ; torch.matrix_exp(sq)
    torch.linalg.matrix_exp(sq) ; x.repeat_interleave(2,0) ; torch.repeat_interleave(x,2) ; torch.repeat_interleave(x,2,-1)
    torch.repeat_interleave(i) ; torch.repeat_interleave(x,i,0) ; x.repeat_interleave(i,dim=0,output_size=3)
    x.repeat_interleave(torch.tensor([2]),dim=0) ; F.pdist(x) ; F.pdist(x,1.) ; torch.hsplit(x,2) ; torch.hsplit(v,3)
    torch.vsplit(x,3) ; torch.vsplit(x,(1,2)) ; torch.dsplit(b,2) ; torch.dsplit(b,(1,)) ; x.hsplit([1,2]) ; torch.tensor_split(x,3,1)
    torch.tensor_split(x,(1,2)) ; x.tensor_split(2) ; F.unfold(img,2) ; F.unfold(img,(2,3),padding=1,stride=2,dilation=1)
    F.fold(torch.rand(1,4,6),(3,4),2) ; F.fold(torch.rand(1,8,9),(4,4),(2,2),padding=0,stride=1)
    F.grid_sample(img,torch.zeros(2,2,2,2))
    F.grid_sample(img,torch.zeros(2,2,2,2),mode='nearest',padding_mode='border',align_corners=True)
    F.grid_sample(torch.rand(1,2,3,3,3),torch.zeros(1,2,2,2,3),mode='bilinear') ; F.affine_grid(torch.eye(2,3)[None],(1,1,2,2))
    F.affine_grid(torch.eye(3,4)[None],(1,1,2,2,2),align_corners=True)
    F.ctc_loss(torch.rand(4,1,3).log_softmax(2),torch.tensor([[1]]),torch.tensor([4]),torch.tensor([1]))
    F.ctc_loss(torch.rand(4,1,3).log_softmax(2),torch.tensor([[1]]),(4,),(1,),reduction='sum')
    F.ctc_loss(torch.rand(4,1,3).log_softmax(2),torch.tensor([[1]]),(4,),(1,),reduction='none',zero_infinity=True)
    F.triplet_margin_loss(x,w,x+1) ; F.triplet_margin_loss(x,w,x+1,swap=True,reduction='sum',p=1) ; F.gumbel_softmax(x)
    F.gumbel_softmax(x,hard=True,tau=2) ; F.local_response_norm(img,2)
    F.local_response_norm(img[0,:,:,0][None],3,alpha=.1,beta=.5,k=2.) ; F.lp_pool2d(img,2,2) ; F.lp_pool2d(img,3,(2,2),1)
    F.lp_pool1d(b,2,2) ; F.fractional_max_pool2d(img,2,output_size=2)
    F.fractional_max_pool2d(img,2,output_ratio=(.5,.5),return_indices=True)
    F.max_unpool2d(torch.rand(1,1,2,2),torch.tensor([[[[0,1],[2,3]]]]),2) ; F.max_unpool1d(torch.rand(1,1,2),torch.tensor([[[0,3]]]),2)
    F.bilinear(x,w,torch.rand(2,4,4)) ; F.bilinear(x,w,torch.rand(2,4,4),torch.rand(2)) ; F.poisson_nll_loss(x,w)
    F.poisson_nll_loss(x,w,log_input=False,full=True,reduction='sum') ; F.gaussian_nll_loss(x,w,torch.ones(3,4))
    F.gaussian_nll_loss(x,w,torch.ones(3,1),full=True,reduction='none') ; F.multi_margin_loss(x,i)
    F.multi_margin_loss(x,i,p=2,margin=.5,reduction='sum') ; F.multilabel_margin_loss(x,torch.tensor([[0,1,-1,-1]]*3))
    F.multilabel_soft_margin_loss(x,w) ; F.multilabel_soft_margin_loss(x,w,weight=v[:1],reduction='sum')
    F.cosine_embedding_loss(x,w,torch.ones(3)) ; F.cosine_embedding_loss(x,w,torch.tensor([1.,-1,1]),margin=.2,reduction='none')
    F.margin_ranking_loss(v,v+1,torch.ones(3)) ; F.margin_ranking_loss(v,v+1,torch.ones(3),margin=.5,reduction='sum')
    F.hinge_embedding_loss(x,torch.ones(3,4)) ; F.hinge_embedding_loss(x,torch.ones(3,4),margin=.5,reduction='none')
    F.soft_margin_loss(x,torch.ones(3,4)) ; F.soft_margin_loss(x,torch.ones(3,4),reduction='sum')
    F.triplet_margin_with_distance_loss(x,w,x+1) ; F.adaptive_max_pool2d(img,2) ; F.adaptive_max_pool1d(b,2)
    F.adaptive_avg_pool3d(torch.rand(1,2,4,4,4),2) ; F.max_pool3d(torch.rand(1,2,4,4,4),2) ; F.avg_pool3d(torch.rand(1,2,4,4,4),2)
    F.pad(x,(1,1),mode='reflect') ; F.pad(img,(1,1,1,1),mode='reflect') ; F.pad(b,(1,1),mode='replicate')
    F.pad(img,(1,1,1,1),mode='replicate') ; F.pad(b,(1,1),mode='circular') ; F.interpolate(b,scale_factor=2)
    F.interpolate(torch.rand(1,1,2,2,2),scale_factor=2,mode='trilinear') ; F.interpolate(b,size=8,mode='linear')
    F.interpolate(img,size=(3,3),mode='area') ; F.interpolate(torch.rand(1,1,2,2,2),scale_factor=2)
    F.instance_norm(img,weight=torch.ones(4),bias=torch.zeros(4)) ; F.cross_entropy(x,i,label_smoothing=.1)
    F.cross_entropy(torch.rand(2,3,4),torch.ones(2,4).long()) ; F.nll_loss(torch.rand(2,3,4,4),torch.ones(2,4,4).long()) ; F.rrelu(x)
    F.dropout2d(img,.5) ; F.alpha_dropout(x,.5) ; F.feature_alpha_dropout(img,.5) ; F.embedding(i,x.clone(),max_norm=1.)
    x@b.transpose(1,2) ; v@b.expand(2,3,4) ; torch.inner(x,w) ; torch.inner(x,v.new_ones(4)) ; torch.fliplr(x) ; torch.flipud(x)
    torch.argwhere(x) ; torch.nonzero(x,as_tuple=True) ; torch.msort(x) ; torch.argsort(x) ; torch.float_power(x,2) ; torch.diag(x)
    torch.diagflat(v) ; torch.tril_indices(3,3) ; torch.fft.hfft(z) ; torch.fft.ifft(x) ; torch.atleast_2d(v) ; torch.atleast_3d(v)
    torch.positive(x) ; torch.broadcast_tensors(x,v.new_ones(4)) ; x.unfold(1,2,1) ; x.sum_to_size(1,4) ; torch.normal(x,1.)
    torch.logspace(0,1,3) ; torch.hann_window(4) ; torch.kaiser_window(4) ; torch.lu_solve(sq,*torch.linalg.lu_factor(sq))
    torch.cov(g) ; torch.diff(g) ; torch.quantile(g,.5,1) ; torch.cdist(g,w) ; torch.pdist(g) ; F.cosine_similarity(g,w)
    F.pairwise_distance(g,w) ; torch.trapezoid(g) ; F.grid_sample(g[None,None],torch.zeros(1,2,2,2)) ; F.unfold(g[None,None],2)
    F.bilinear(g,w,torch.rand(2,4,4)) ; F.multi_margin_loss(g,i) ; F.poisson_nll_loss(g,w) ; F.triplet_margin_loss(g,w,x+1)
    g.repeat_interleave(2,0) ; torch.isclose(g,w) ; torch.cross(g,w) ; torch.nanmean(g) ; torch.take_along_dim(g,i)
    F.gumbel_softmax(g) ; F.local_response_norm(g[None,None],2) ; F.lp_pool2d(g[None,None],2,2) ; torch.nanmean(g,-1)
    torch.logsumexp(g,-1) ; torch.std(g,-1) ; torch.linalg.norm(g,dim=-1) ; F.cross_entropy(g.expand(2,3,4),torch.ones(2,4).long())
    F.nll_loss(g[None].expand(2,3,4)[...,None],torch.ones(2,4,1).long()) ; F.interpolate(g[None],scale_factor=2)
    F.interpolate(g[None],size=7,mode='linear') ; F.interpolate(g[None,None,None],scale_factor=2.,mode='trilinear')
    F.interpolate(g[None,None,None],scale_factor=2) ; F.pad(g,(1,1),mode='reflect') ; F.pad(g[None],(1,1,1,1),mode='replicate')
    F.max_pool3d(g[None,None,None],(1,2,2)) ; F.avg_pool3d(g[None,None,None],(1,2,2)) ; F.adaptive_max_pool2d(g[None],2)
    F.adaptive_max_pool1d(g[None],2) ; F.adaptive_avg_pool3d(g[None,None,None],(1,2,2))
    F.fractional_max_pool2d(g[None,None],2,output_size=2) ; F.grid_sample(img,torch.rand(2,2,2,2)).sum()*g
    F.grid_sample(g[None,None,None],torch.rand(1,2,2,2,3)) ; F.fold(g.reshape(1,4,3),(2,4),2)
    F.multilabel_margin_loss(g,torch.tensor([[0,1,-1,-1]]*3)) ; F.soft_margin_loss(g,torch.ones(3,4))
    F.cosine_embedding_loss(g,w,torch.ones(3)) ; F.margin_ranking_loss(g,w,torch.ones(3,4)) ; F.hinge_embedding_loss(g,torch.ones(3,4))
    F.gaussian_nll_loss(g,w,torch.ones(3,4)) ; F.triplet_margin_loss(g,w,x+1,p=1,swap=True) ; F.pairwise_distance(g,w,p=1)
    torch.cdist(torch.rand(30,4),g) ; torch.cdist(g[None].expand(2,3,4),torch.rand(2,30,4)) ; torch.gradient(g)[0] ; torch.corrcoef(g)
    torch.inner(g,w) ; torch.diag(g) ; torch.diagflat(g[0]) ; torch.cartesian_prod(g[0],v) ; torch.combinations(g[0])
    torch.repeat_interleave(g,i,0) ; torch.tensor_split(g,2,1)[0] ; torch.fliplr(g) ; torch.msort(g) ; torch.nanquantile(g,.3,0)
    torch.lerp(g,w,.3) ; torch.lerp(g,w,w) ; torch.clamp_min(g,w) ; torch.float_power(g,2) ; g.sum_to_size(1,4) ; g@b.transpose(1,2)
    v@g ; F.embedding(i,g) ; torch.embedding(w,i) ; F.embedding(i,w.clone(),padding_idx=1,max_norm=.5) ; F.dropout2d(img,.3)
    F.alpha_dropout(x,.5,True) ; F.feature_alpha_dropout(img,.5,True) ; torch.hsplit(g,2)[1] ; torch.trapezoid(g,w)
    torch.cumulative_trapezoid(g) ; torch.broadcast_tensors(g,v.new_ones(4))[1] ; F.lp_pool1d(g[None],2,2)
    F.local_response_norm(g[None],3) ; x[:,:4] ; x[0:3] ; x[0:3,1:] ; x[...,0:4] ; x[-1:,None]
    torch.quantile(g,torch.tensor([.2,.7]),1) ; torch.index_select(g,0,i) ; (g*1).unsqueeze_(0) ; (g*1).squeeze_()
    (g[:,:1]*1).squeeze_(1) ; (g*1).t_() ; (g*1).transpose_(0,1)*w.t() ; (g*1).clamp_min_(1) ; (g*1).clamp_(1,2) ; (g*1).relu_()
    (g*1).lerp_(w,.5) ; (g*1).masked_fill_(x>1,2) ; (g*1).sqrt_() ; (g*1).mul_(w).clamp_max_(1) ; (g*1).abs_() ; (g*1).exp_()
    (g*1).sigmoid_() ; (g*1).tanh_() ; (g*1).addcmul_(w,w) ; (g*1).div_(w) ; F.hardtanh_(g*1) ; F.silu(g*1,inplace=True)
    torch.digamma(g+1) ; torch.cummax(g,1)[0] ; torch.atan2(g,w) ; torch.scatter_add(g,1,i[:,None],w) ; torch.index_add(g,0,i,w)
    torch.outer(g[0],v) ; torch.ger(g[0],v) ; torch.kthvalue(g,2)[0] ; torch.median(g,1)[0] ; torch.mode(g)[0] ; torch.tril(g)
    torch.kron(g,w) ; torch.einsum('ij,kj->ik',g,w) ; torch.sinh(g) ; torch.asin(g/9) ; torch.log10(g+1) ; torch.log2(g+1)
    torch.exp2(g) ; torch.erfinv(g/9) ; torch.lgamma(g+1) ; torch.nan_to_num(g) ; torch.hypot(g+1,w) ; torch.logaddexp(g,w)
    torch.softmax(g,1) ; F.glu(g) ; F.kl_div(g,w) ; F.huber_loss(g,w) ; F.triplet_margin_with_distance_loss(g,w,x+1)
    F.instance_norm(g[None,None]) ; F.rms_norm(g,(4,)) ; F.conv1d(g[None],torch.ones(2,3,2)) ; F.pixel_shuffle(g.view(1,4,1,3),2)
    F.one_hot(i)
    torch.linalg.vector_norm(g,3) ; g.norm(1) ; torch.linalg.vector_norm(g,1.5,dim=0) ; torch.linalg.vector_norm(g,float('inf'),dim=1)
    torch.var_mean(g,1)[1] ; torch.logcumsumexp(g,1) ; torch.masked_scatter(g,x>1,w) ; torch.addmv(v,g[:,:3],v) ; torch.trace(g)
    torch.dist(g,w) ; F.rrelu(g) ; F.prelu(g,torch.tensor([.1])) ; torch.fft.fft(g).abs() ; torch.fft.irfft(torch.fft.rfft(g))
    F.max_unpool2d(g[None,None,:2,:2],torch.tensor([[[[0,1],[2,3]]]]),2) ; (g*1).pow_(2)
"""
for case in CASES.replace("\n", ";").split(";"):
    if case.strip():
        torch.manual_seed(0)
        print(case.strip())
        with Noting():
            y = eval(case.strip())
        if isinstance(y, torch.Tensor) and y.requires_grad:
            with Noting():
                y.sum().backward()
            g.grad = None
