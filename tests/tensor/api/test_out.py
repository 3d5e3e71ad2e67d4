"""`out=` tensors: which dtypes an operator takes there, in torch's words, and which operators compute in the out tensor's dtype."""
import pytest

import torchshim as torch

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])


def refused(call, *, out, error=RuntimeError):
    with pytest.raises(error) as caught:
        call(out=out)
    return str(caught.value)


@pytest.mark.parametrize("call, dtype, words", [
    (lambda out: torch.true_divide(X, 2, out=out), torch.int32, "result type Float can't be cast to the desired output type Int"),
    (lambda out: torch.divide(X, 2, out=out), torch.int32, "result type Float can't be cast to the desired output type Int"),
    (lambda out: torch.exp(X, out=out), torch.int32, "result type Float can't be cast to the desired output type Int"),
    (lambda out: torch.neg(X, out=out), torch.float64, "Found dtype Double but expected Float"),
    (lambda out: torch.absolute(X, out=out), torch.float64, "Found dtype Double but expected Float"),
    (lambda out: torch.argmax(X, 1, out=out), torch.int32, "Expected out tensor to have dtype long int, but got int instead"),
    (lambda out: torch.linalg.inv(X[:, :2], out=out), torch.float64, "Expected out tensor to have dtype float, but got double instead"),
    (lambda out: torch.all(X, 1, out=out), torch.float32, "all only supports bool tensor for result, got: Float"),
    (lambda out: torch.isposinf(X, out=out), torch.float32, "isposinf does not support non-boolean outputs."),
    (lambda out: torch.heaviside(X, X, out=out), torch.complex64, "heaviside is not yet implemented for complex tensors."),
    (lambda out: torch.sum(X, 1, dtype=torch.float32, out=out), torch.float64, "Expected out tensor to have dtype float, but got double "
     "instead"),
])
def test_dtypes_that_an_out_tensor_may_not_have(call, dtype, words):
    assert refused(call, out=torch.empty(0, dtype=dtype)) == words


def test_each_of_several_results_has_its_words():
    said = lambda v, i: refused(lambda out: torch.kthvalue(X, 1, out=out), out=(torch.empty(0, dtype=v), torch.empty(0, dtype=i)))
    assert said(torch.float64, torch.int64) == "output values must be of same type as input"
    assert said(torch.float32, torch.int32) == "output indices must be of scalar type Long"


def test_cat_refuses_with_a_type_error():
    assert "input types can't be cast" in refused(lambda out: torch.cat([X, X], out=out), out=torch.empty(0, dtype=torch.int64),
                                                  error=TypeError)


def test_comparisons_write_into_any_dtype():
    assert torch.gt(X, 2, out=torch.empty(0, dtype=torch.int32)).tolist() == [[0, 0, 1], [1, 1, 1]]


def test_sums_compute_in_the_dtype_of_out():
    assert torch.sum(X, 1, out=torch.empty(0, dtype=torch.uint8)).tolist() == [6, 15]
    assert torch.mean(X, 1, out=torch.empty(0, dtype=torch.float64)).tolist() == [2.0, 15.5 / 3]
    assert refused(lambda out: torch.mean(X, 1, out=out), out=torch.empty(0, dtype=torch.int64)).startswith("result type Float")


@pytest.mark.parametrize("call", [
    lambda x, out: torch.cat((x,), out=out), lambda x, out: torch.gather(x, 0, torch.arange(3), out=out),
    lambda x, out: torch.cumsum(x, 0, out=out), lambda x, out: torch.where(x > 0, x, x, out=out), lambda x, out: torch.msort(x, out=out),
    lambda x, out: torch.index_add(torch.ones(3), 0, torch.arange(3), x, out=out),
    lambda x, out: torch.max(x[None], 0, out=(out, torch.arange(3))), lambda x, out: torch.pow(x, 42, out=out),
    lambda x, out: torch.pow(2, x, out=out), lambda x, out: torch.pow(torch.ones(3), x, out=out), lambda x, out: torch.square(x, out=out),
    lambda x, out: torch.outer(torch.ones(1), x, out=out),
])
def test_an_out_tensor_may_not_overlap_what_is_read(call):
    memory = torch.arange(4.0)
    assert "refer to a single memory location" in refused(lambda out: call(memory[:3], out), out=memory[1:])


def test_some_operators_write_over_what_they_read():
    x = torch.tensor([3.0, 1.0, 2.0])
    assert torch.cumsum(x, 0, out=x) is x and x.tolist() == [3, 4, 6]
    assert "refer to a single memory location" in refused(lambda out: torch.take(x, torch.arange(3), out=out), out=x)


@pytest.mark.parametrize("call", [
    lambda out: torch.cat([X, X], out=out), lambda out: torch.cumsum(X[0], 0, out=out), lambda out: torch.gather(X, 0, torch.tensor([[1]]), out=out),
    lambda out: torch.addmm(X[:, :2], X, X.t(), out=out), lambda out: torch.msort(X[0], out=out), lambda out: torch.hstack([X, X], out=out),
    lambda out: torch.renorm(X, 1, 1, 1, out=out), lambda out: torch.normal(X, 1.0, out=out)])
def test_what_is_resized_has_no_elements_in_one_place(call):
    """An expanded tensor of another shape than the result's: what is written is memory of its own."""
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        made = call(torch.ones(1).expand(5, 4))
    assert made.is_contiguous() and made.shape != (5, 4)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.take(X, torch.tensor([1]), out=torch.ones(1).expand(5, 4))       # asks before it resizes


def test_copying_one_number_is_no_filling():
    """A filled tensor may have elements that lie in one place; a tensor that is copied into may not, though it be one number."""
    for write in (lambda x: x.copy_(1), lambda x: x.copy_(True), lambda x: x.fill_(torch.tensor(2.0))):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
            write(torch.ones(3, 1).expand(3, 4))
    assert torch.ones(3, 1).expand(3, 4).fill_(2).tolist() == [[2.0] * 4] * 3
    x = torch.ones(2, 2)
    assert x.fill_(x[0, 1]).tolist() == [[1.0, 1.0]] * 2


def test_the_larger_of_two_tensors_may_be_written_into_one_of_them():
    """torch.max(a, b, out=a) is maximum's (running maxima of optimizers); the reductions share no memory with their results."""
    a, b = torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0])
    assert torch.max(a, b, out=a) is a and a.tolist() == [2, 5]
    assert torch.min(a, b, out=b) is b and b.tolist() == [2, 3]
    m = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        torch.max(m, 0, out=(m[0], torch.empty(2, dtype=torch.int64)))


def test_a_write_that_resizes_counts_once():
    for shape in ((0,), (1,), (3, 1), (4,)):
        out = torch.zeros(shape)
        same = out.detach()
        torch.exp(torch.zeros(3), out=out)
        assert out.tolist() == [1.0, 1.0, 1.0] and out._version == same._version == 1


def test_memory_that_grows_goes_on_being_counted_together():
    x = torch.ones(3)
    part = x[:2]
    x.resize_(6)
    assert x._version == part._version == 1 and x.shape == (6,)


def test_what_has_no_history_says_so_before_its_arguments_are_looked_at():
    a, b = torch.ones(3, 2, requires_grad=True), torch.ones(3, 3)
    for refused in (lambda: torch.add(a, b, out=b), lambda: torch.mm(a, a, out=b), lambda: torch.sum(a, 5, out=b)):
        with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
            refused()
    with pytest.raises(RuntimeError, match="^The size of tensor a"):
        torch.eq(a, b, out=b)
    with torch.no_grad(), pytest.raises(RuntimeError, match="^The size of tensor a"):
        torch.add(a, b, out=b)


@pytest.mark.parametrize("call", [
    lambda x, out: torch.clamp(x, 0, 1, out=out), lambda x, out: torch.clip(x, 0, out=out), lambda x, out: torch.clamp_min(x, 0, out=out),
    lambda x, out: torch.clamp_max(x, 0, out=out), lambda x, out: torch.lerp(x, x, x, out=out)])
def test_bounds_and_weights_of_which_the_result_keeps_its_dtype(call):
    with pytest.raises(RuntimeError, match="^Found dtype Double but expected Float$"):
        call(torch.ones(3), torch.zeros(3, dtype=torch.float64))
    assert call(torch.ones(3), torch.zeros(3)).dtype is torch.float32


@pytest.mark.parametrize("call", [
    lambda x, out: torch.clamp(x, x, out=out), lambda x, out: torch.clamp_max(x, x, out=out), lambda x, out: torch.lerp(x, x, 0.5, out=out),
    lambda x, out: torch.lerp(x, x, torch.tensor(0.5), out=out)])
def test_those_of_which_it_may_be_cast(call):
    assert call(torch.ones(3), torch.zeros(3, dtype=torch.float64)).tolist() == [1.0] * 3


@pytest.mark.parametrize("call, dtype, text", [
    (lambda x, out: torch.argsort(x, stable=True, out=out), torch.int32, "Expected out tensor to have dtype long int, but got int instead"),
    (lambda x, out: torch.frobenius_norm(x, 1, out=out), torch.float64, "Expected out tensor to have dtype float, but got double instead"),
    (lambda x, out: torch.nuclear_norm(x, out=out), torch.float64, "linalg.matrix_norm expected out tensor dtype Float but got: Double"),
    (lambda x, out: torch.diag(x, out=out), torch.int64, "Expected out tensor to have dtype float, but got long int instead")])
def test_sorts_and_norms_want_their_own_dtype(call, dtype, text):
    with pytest.raises(RuntimeError) as e:
        call(torch.ones(3, 3), torch.zeros(0, dtype=dtype))
    assert str(e.value) == text


EMPTY, WIDE, LONG, COMPLEX = [lambda dtype=dtype: torch.empty(0, dtype=dtype) for dtype in (
    torch.float32, torch.float64, torch.int64, torch.complex64)]


@pytest.mark.parametrize("call, out, text", [
    (torch.linalg.qr, (EMPTY, WIDE), "Expected out tensor to have dtype float, but got double instead"),
    (torch.linalg.svd, (EMPTY, EMPTY, WIDE), "Expected out tensor to have dtype float, but got double instead"),
    (torch.linalg.svd, (LONG, EMPTY, EMPTY), "Expected out tensor to have dtype float, but got long int instead"),
    (torch.svd, (EMPTY, WIDE, EMPTY), "Expected out tensor to have dtype float, but got double instead"),
    (torch.linalg.eigh, (EMPTY, WIDE), "Expected out tensor to have dtype float, but got double instead"),
    (torch.linalg.lu, (EMPTY, EMPTY, WIDE), "Expected out tensor to have dtype float, but got double instead"),
    (torch.linalg.lu_factor, (EMPTY, EMPTY), "Expected out tensor to have dtype int, but got float instead"),
    (torch.linalg.eig, (COMPLEX, EMPTY), "torch.linalg.eig: Expected eigenvectors to be safely castable from ComplexFloat dtype, but got "
                                         "eigenvectors with dtype Float")])
def test_decompositions_want_their_own_dtypes(call, out, text):
    with pytest.raises(RuntimeError) as e:
        call(torch.eye(3), out=tuple([make() for make in out]))
    assert str(e.value) == text


@pytest.mark.parametrize("call, text", [
    (lambda x, out: torch.mv(x, x[0], out=out(3, dtype=torch.float64)),
     "addmv input tensors must have the same dtype, but got Double, Float, and Float"),
    (lambda x, out: torch.chain_matmul(x, x, out=out(3, 3, dtype=torch.float64)),
     "multi_dot(): expected out tensor to have dtype float but got double"),
    (lambda x, out: torch.linalg.eigvals(x, out=out(3)),
     "torch.linalg.eigvals: Expected eigenvalues to be safely castable from ComplexFloat dtype, but got eigenvalues with dtype Float"),
    (lambda x, out: torch.sin(x, out=out(3, 3, device="meta")),
     "Attempting to copy from device cpu to device meta, but cross-device copies are not allowed!"),
    (lambda x, out: torch.sum(x.to("meta"), 1, out=out(3)),
     "Attempting to copy from device meta to device cpu, but cross-device copies are not allowed!"),
    (lambda x, out: torch.gather(x, 1, torch.zeros(3, 1, dtype=torch.int64), out=out(3, 1, device="meta")),
     "Expected out tensor to have device cpu, but got meta instead")])
def test_products_and_places_have_words_of_their_own(call, text):
    with pytest.raises(RuntimeError) as e:
        call(torch.eye(3), torch.empty)
    assert str(e.value) == text


def test_zeros_and_ones_are_drawn_into_any_real_dtype():
    p = torch.tensor([0.0, 1.0, 1.0])
    for dtype in (torch.int8, torch.int64, torch.bool, torch.float64):
        assert torch.bernoulli(p, out=torch.empty(3, dtype=dtype)).tolist() == [0, 1, 1]
    with pytest.raises(NotImplementedError, match="\"bernoulli_tensor_cpu_self_\" not implemented for 'ComplexFloat'"):
        torch.bernoulli(p, out=torch.empty(3, dtype=torch.complex64))


def test_lists_of_results_are_written_and_nothing_is_returned():
    x, out = torch.arange(6.).reshape(3, 2), [torch.empty(0), torch.empty(2, 2)]
    assert torch.split_with_sizes_copy(x, [1, 2], out=out) is None and [o.tolist() for o in out] == [[[0, 1]], [[2, 3], [4, 5]]]
    assert torch.unbind_copy(x, 1, out=(o := (torch.empty(0), torch.empty(0)))) is None and o[1].tolist() == [1, 3, 5]
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype float, but got double instead$"):
        torch.unbind_copy(x, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.float64)))


def test_results_with_gaps_and_names_of_written_ones():
    empty = torch.empty
    X = torch.linalg.lstsq(torch.eye(3, 2), torch.eye(3, 2), out=(empty(0), empty(0), empty(0, dtype=torch.int64), empty(0))).solution
    assert X.stride() == (1, 3) and X.tolist() == [[1, 0], [0, 1]]
    assert type(torch.histogram(torch.ones(3), 3, out=(empty(0), empty(0)))).__name__ == "histogram_out"


@pytest.mark.parametrize("call, text", [
    (lambda out: torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), out=out), "Expected out tensor to have dtype float, but got double "
                                                                                      "instead"),
    (lambda out: torch.nn.functional.avg_pool2d(torch.ones(1, 4, 4), 2, out=out), "Expected out tensor to have dtype float, but got double instead"),
    (lambda out: torch.nn.functional.logsigmoid(torch.ones(3), out=out), "expected scalar type Float but found Double")])
def test_bindings_tell_what_they_refuse_of_out(call, text):
    with pytest.raises(RuntimeError) as e:
        call(torch.empty(0, dtype=torch.float64))
    assert str(e.value) == text


@pytest.mark.parametrize("f, dtype, shape", [
    (lambda x, o: torch.mean(x, 1, out=o), torch.int32, [2]), (lambda x, o: torch.stack([x, x], out=o), torch.bool, [2, 2, 3]),
    (lambda x, o: torch.dot(x[0], x[0], out=o), torch.float32, []), (lambda x, o: torch.kron(x, x, out=o), torch.bool, [4, 9]),
    (lambda x, o: torch.std(x, 1, out=o), torch.int32, [2]), (lambda x, o: torch.inverse(x[:, :2], out=o), torch.float32, [0]),
    (lambda x, o: torch.sin(x, out=o), torch.int32, [0])])
def test_some_are_resized_before_their_dtype_is_refused(f, dtype, shape):
    out = torch.zeros(0, dtype=dtype)
    with pytest.raises((RuntimeError, TypeError)):
        f(torch.arange(6.).reshape(2, 3).double(), out)
    assert list(out.shape) == shape


@pytest.mark.parametrize("call", [lambda out: torch.linspace(0, 1, 3, out=out), lambda out: torch.arange(3, out=out),
                                  lambda out: torch.rand(3, out=out), lambda out: torch.cumsum(X[0], 0, out=out),
                                  lambda out: torch.mean(X.T, 1, out=out), lambda out: torch.take(X, torch.arange(3), out=out)])
def test_an_out_tensor_whose_elements_lie_in_one_place_is_refused(call):
    assert refused(call, out=torch.zeros(1).expand(3)).startswith("unsupported operation: more than one element of the written-to tensor refers")


def test_what_torch_writes_to_one_place_is_missing_and_says_so():
    for call in (lambda out: torch.sum(X, 0, out=out), lambda out: torch.ones(3, out=out)):
        with pytest.raises(NotImplementedError, match="elements lie in one place"):
            call(torch.zeros(1).expand(3))
