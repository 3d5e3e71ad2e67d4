"""Arguments that a body would make something of, and that torch's parser refuses: flags that are no bools, None where something must be
said, positions where only a keyword is."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F

X = torch.arange(6.).reshape(2, 3)
EYE = torch.eye(2)


@pytest.mark.parametrize("call, text", [
    (lambda: X.squeeze(None), r"squeeze\(\) received an invalid combination of arguments - got \(NoneType\)"),
    (lambda: X.clone().squeeze_(None), r"squeeze_\(\) received an invalid combination of arguments - got \(NoneType\)"),
    (lambda: torch.squeeze(X, None), r"squeeze\(\) received an invalid combination of arguments - got \(Tensor, NoneType\)"),
    (lambda: X.prod(None), r"prod\(\) received an invalid combination of arguments - got \(NoneType\)"),
    (lambda: X.logsumexp(None), r"logsumexp\(\): argument 'dim' \(position 1\) must be tuple of ints, not NoneType"),
    (lambda: X.tril(object), r"tril\(\): argument 'diagonal' \(position 1\) must be int, not type"),
    (lambda: X.svd(1), r"svd\(\): argument 'some' \(position 1\) must be bool, not int"),
    (lambda: torch.svd(X, some=1), r"svd\(\): argument 'some' must be bool, not int"),
    (lambda: X.qr(None), r"qr\(\): argument 'some' \(position 1\) must be bool, not NoneType"),
    (lambda: torch.cholesky(EYE, 1), r"cholesky\(\): argument 'upper' \(position 2\) must be bool, not int"),
    (lambda: torch.linalg.cholesky(EYE, upper=1), r"linalg_cholesky\(\): argument 'upper' must be bool, not int"),
    (lambda: torch.linalg.svd(X, 1), r"linalg_svd\(\): argument 'full_matrices' \(position 2\) must be bool, not int"),
    (lambda: torch.linalg.pinv(X, None), r"linalg_pinv\(\) received an invalid combination of arguments"),
    (lambda: X.pinverse(None), r"pinverse\(\): argument 'rcond' \(position 1\) must be float, not NoneType"),
    (lambda: X.lu(1), r"_lu_with_info\(\): argument 'pivot' must be bool, not int"),
    (lambda: X.unique(1), r"_unique2\(\): argument 'sorted' must be bool, not int"),
    (lambda: X.unique(dim=0, sorted=1), r"unique_dim\(\): argument 'sorted' must be bool, not int"),
    (lambda: X.unique_consecutive(return_inverse=None), r"unique_consecutive\(\): argument 'return_inverse' must be bool, not NoneType"),
    (lambda: torch.allclose(X, X, equal_nan=1), r"allclose\(\): argument 'equal_nan' must be bool, not int"),
    (lambda: X.clone().put_(torch.tensor([1]), X[0, :1], 1.5), r"put_\(\): argument 'accumulate' \(position 3\) must be bool, not float"),
    (lambda: torch.movedim(X, 0, True), r"movedim\(\) received an invalid combination of arguments - got \(Tensor, int, bool\)"),
    (lambda: torch.embedding(X, torch.tensor([0]), True), r"embedding\(\): argument 'padding_idx' \(position 3\) must be int, not bool"),
    (lambda: torch.gradient(X, dim=[1], edge_order="a"), r"gradient\(\) received an invalid combination of arguments - got \(Tensor, "
                                                         r"edge_order=str, dim=list\), but expected one of:\n \* \(Tensor input, \*, tuple "
                                                         r"of ints dim, int edge_order = 1\)"),
    (lambda: X.less_equal(None), r"less_equal\(\) received an invalid combination of arguments - got \(NoneType\), but expected one of:"),
    (lambda: torch.fft.fftfreq(1.5), r"fft_fftfreq\(\): argument 'n' \(position 1\) must be int, not float"),
    (lambda: torch.kaiser_window(4, beta=2.0), r"kaiser_window\(\) received an invalid combination of arguments - got \(int, beta=float\)"),
    (lambda: torch.hann_window(4, out=X), r"hann_window\(\) received an invalid combination of arguments - got \(int, out=Tensor\)"),
    (lambda: torch.polygamma(X, 1), r"polygamma\(\): argument 'n' \(position 1\) must be int, not Tensor"),
    (lambda: torch.special.polygamma(1, 2), r"special_polygamma\(\): argument 'input' \(position 2\) must be Tensor, not int"),
    (lambda: torch.polygamma(1), 'polygamma\\(\\) missing 1 required positional arguments: "input"'),
    (lambda: X.polygamma(), 'polygamma\\(\\) missing 1 required positional arguments: "n"'),
    (lambda: torch.amax(X, [True]), r"amax\(\): argument 'dim' \(position 2\) must be tuple of ints, but found element of type bool at pos 0"),
    (lambda: X.sum((1, "a")), "sum\\(\\): argument 'dim' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but "
                              "got str\""),
    (lambda: X.float(None), r"float\(\) takes"),
    (lambda: X.cpu(None), r"cpu\(\) takes"),
    (lambda: X.is_contiguous(None), r"is_contiguous\(\) takes"),
    (lambda: X.is_pinned(object), r"is_pinned\(\): argument 'device' \(position 1\) must be torch.device, not type"),
    (lambda: X.is_same_size(None), r"is_same_size\(\): argument 'other' \(position 1\) must be Tensor, not NoneType"),
    (lambda: torch.scalar_tensor(None), r"scalar_tensor\(\): argument 's' \(position 1\) must be Number, not NoneType"),
    (lambda: torch.scalar_tensor(X), r"scalar_tensor\(\): argument 's' \(position 1\) must be Number, not Tensor"),
    (lambda: torch.detach(None), r"detach\(\): argument 'input' \(position 1\) must be Tensor, not NoneType"),
    (lambda: torch.values_copy(None), r"values_copy\(\): argument 'input' \(position 1\) must be Tensor, not NoneType"),
    (lambda: torch.lstm(None), r"lstm\(\) received an invalid combination of arguments - got \(NoneType\)"),
    (lambda: torch.dropout(X, 0.5, 1), r"dropout\(\): argument 'train' \(position 3\) must be bool, not int"),
    (lambda: X.norm(2, 0, 3), r"linalg_vector_norm\(\): argument 'keepdim' \(position 4\) must be bool, not int"),
    (lambda: F.alpha_dropout(None), r"alpha_dropout\(\): argument 'input' \(position 1\) must be Tensor, not NoneType"),
    (lambda: F.feature_alpha_dropout("a"), r"feature_alpha_dropout\(\): argument 'input' \(position 1\) must be Tensor, not str"),
    (lambda: F.max_pool1d(X, True), r"max_pool1d\(\): argument 'kernel_size' \(position 2\) must be tuple of ints, not bool"),
    (lambda: F.max_pool1d(X, [True]), r"max_pool1d\(\): argument 'kernel_size' \(position 2\) must be tuple of ints, but found element of type"
                                      " bool at pos 0"),
    (lambda: X.coalesce(1), r"coalesce\(\) takes"),
    (lambda: X.diag(True), r"diag\(\): argument 'diagonal' \(position 1\) must be int, not bool"),
    (lambda: X.clone().fill_diagonal_(2, 1), r"fill_diagonal_\(\): argument 'wrap' \(position 2\) must be bool, not int"),
    (lambda: torch.tile(X, 0), r"tile\(\): argument 'dims' \(position 2\) must be tuple of ints, not int"),
    (lambda: X.clone().polygamma_(True), r"polygamma_\(\): argument 'n' \(position 1\) must be int, not bool"),
    (lambda: X.clone().cauchy_(None), r"cauchy_\(\): argument 'median' \(position 1\) must be float, not NoneType"),
    (lambda: torch.is_nonzero(2), r"is_nonzero\(\): argument 'input' \(position 1\) must be Tensor, not int"),
    (lambda: torch.randint(1, [3, 4], 1), r"randint\(\) received an invalid combination of arguments - got \(int, list, int\)"),
    (lambda: torch.randint_like(X, 1.5), r"randint_like\(\) received an invalid combination of arguments - got \(Tensor, float\)"),
    (lambda: torch.normal(0.5, 0.5, 0), r"normal\(\) received an invalid combination of arguments - got \(float, float, int\)"),
])
def test_what_the_parser_refuses(call, text):
    for _ in range(2):                         # what was refused once is not remembered as taken
        with pytest.raises(TypeError, match=text):
            call()


def test_what_it_takes():
    assert X.amax(None) == 5                   # a list with a default may be None
    assert X.squeeze().shape == X.shape
    assert torch.scalar_tensor(torch.tensor(1.5)) == 1.5 and torch.scalar_tensor(True) == 1
    assert X.is_pinned("cpu") is False and X.is_pinned() is False
    assert torch.linalg.pinv(X, 1e-3).shape == (3, 2) and torch.linalg.pinv(X, rtol=torch.tensor(1e-3)).shape == (3, 2)
    assert torch.svd(X, True, False)[1].shape == (2,)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        X.is_pinned("a")


@pytest.mark.parametrize("call, text", [
    (lambda x: torch.flip(x, 0), "flip(): argument 'dims' (position 2) must be tuple of ints, not int"),
    (lambda x: torch.as_strided(x, [True], [0]), "as_strided(): argument 'size' (position 2) must be tuple of ints, but found element of type "
                                                "bool at pos 0"),
    (lambda x: torch.frobenius_norm(x, [1], 1), "frobenius_norm(): argument 'keepdim' (position 3) must be bool, not int"),
    (lambda x: torch.ones(2, requires_grad=1), "ones(): argument 'requires_grad' must be bool, not int"),
    (lambda x: torch.tensor(1., requires_grad=None), "tensor(): argument 'requires_grad' must be bool, not NoneType"),
    (lambda x: x.new_ones(2, requires_grad=1), "new_ones(): argument 'requires_grad' must be bool, not int"),
    (lambda x: torch.tensor(None, dtype=torch.float64), "must be real number, not NoneType"),
    (lambda x: torch.tensor(None, dtype=torch.int64), "'NoneType' object cannot be interpreted as an integer"),
    (lambda x: x.uniform_("a", 1), "uniform_(): argument 'from' (position 1) must be float, not str"),
    (lambda x: torch.max_pool2d(None, 1), "max_pool2d(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda x: torch.nn.functional.pairwise_distance(x, 2), "pairwise_distance(): argument 'x2' (position 2) must be Tensor, not int"),
    (lambda x: torch.nn.functional.poisson_nll_loss(x, x, 1), "poisson_nll_loss(): argument 'log_input' (position 3) must be bool, not int"),
    (lambda x: torch.nn.functional.triplet_margin_loss(x, x, x, swap=1), "triplet_margin_loss(): argument 'swap' (position 7) must be bool, not "
                                                                        "int"),
    (lambda x: torch.nn.functional.kl_div(x, x, reduction="sum", log_target=1), "kl_div(): argument 'log_target' must be bool, not int"),
    (lambda x: torch.fft.irfftn(x, [True], [1]), "fft_irfftn(): argument 's' (position 2) must be tuple of ints, but found element of type bool at "
                                               "pos 0")])
def test_what_another_type_would_mean_is_not_guessed(call, text):
    with pytest.raises(TypeError) as raised:
        call(torch.ones(2, 2))
    assert str(raised.value) == text


def test_signatures_without_out_take_none():
    x = torch.ones(2)
    for call in (lambda: torch.masked_fill(x, x > 1, 1, out=x), lambda: torch.bernoulli(x, 0.5, out=x)):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            call()


def test_a_truth_is_no_size_to_a_cache():
    for sizes in ((1, True), (1, 1)):
        assert torch.sum(torch.ones(2, 2), (0, True)).item() == 4 and torch.ones(2, 2).reshape(4, *sizes).shape == (4, 1, 1)
    with pytest.raises(TypeError):
        torch.fft.hfftn(torch.ones(3, 4), [True], [1])
    assert torch.fft.irfftn(torch.ones(3, 4), [1], [1]).shape == (3, 1)
    assert torch.gradient(torch.tensor([1., 3.]), spacing=2j)[0].tolist() == [-1j, -1j] and torch.gradient(torch.ones(2), dim=()) == ()
