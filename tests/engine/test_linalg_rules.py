"""The rooms that LAPACK's routines work in, and what JAX asks of a platform, where it is interpreted."""
import threading

import jax
import jax.numpy as jnp
import numpy as np

from torchshim.engine.interpret import build, fallback, linalg_rules

A = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)


def interpreted(f, *args):
    with jax.disable_jit():
        return build(jax.make_jaxpr(f)(*args))


def test_results_of_two_calls_have_their_own_memory():
    for f in (jax.lax.linalg.cholesky, lambda x: jax.lax.linalg.qr(x)[0], lambda x: jax.lax.linalg.svd(x)[0],
              lambda x: jax.lax.linalg.lu(x)[0]):
        run = interpreted(f, A)
        first = np.array(kept := run(A)[0])
        run(2 * A + np.eye(3, dtype=np.float32))
        np.testing.assert_array_equal(kept, first)


def test_threads_do_not_share_a_room():
    n = 40
    run = interpreted(lambda x: jnp.linalg.inv(x), np.eye(n, dtype=np.float32))
    matrices = [np.eye(n, dtype=np.float32) * k for k in (2, 4, 8, 16)]
    wrong = []

    def work(x, k):
        for _ in range(200):
            if not (run(x)[0].diagonal() == np.float32(1 / k)).all():
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(x, x[0, 0])) for x in matrices]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_whole_factorization_reads_one_triangle_and_says_where_it_failed():
    bad = A.copy()
    bad[1, 1] = -1
    batch = np.stack([A, bad])
    L, info = linalg_rules.factored((2, 3, 3), np.dtype(np.float32), False)(np.tril(batch)
                                                                            + np.triu(np.full((3, 3), np.nan), 1).astype("f"))
    np.testing.assert_allclose(L[0] @ L[0].T, A, rtol=1e-6)
    assert info.tolist() == [0, 2] and np.isnan(L[1][np.tril_indices(3)]).all() and (L[1][np.triu_indices(3, 1)] == 0).all()
    H = A.astype(np.complex64)
    H[0, 1], H[1, 0] = 1j, -1j
    U, info = linalg_rules.factored((3, 3), np.dtype(np.complex64), True)(np.triu(H))
    np.testing.assert_allclose(U.conj().T @ U, H, rtol=1e-6, atol=1e-6)
    assert info == 0 and (U[np.tril_indices(3, -1)] == 0).all()


def test_what_depends_on_the_platform_alone_is_decided_beforehand():
    run = interpreted(lambda x: jax.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1), A)
    before = set(fallback._JITTED)
    np.testing.assert_array_equal(run(A)[0], A + 1)
    assert set(fallback._JITTED) == before


def test_least_squares_of_ranks_and_of_what_is_not_finite():
    solve = linalg_rules.least_squares((2, 3, 2), (2, 3, 1), np.dtype(np.float32), lambda A, B: "slowly")
    A = np.stack([np.ones((3, 2)), [[1, 0], [0, 1], [0, 0]]]).astype("f")
    B = np.array([[[1], [2], [3]]] * 2, "f")
    for again in range(2):
        X, rank, values = solve(A, B)
        np.testing.assert_allclose(X[..., 0], [[1, 1], [1, 2]], rtol=1e-5)
        assert rank.tolist() == [1, 2] and rank.dtype == np.int64 and values.shape == (0,)
    assert solve(A + np.float32(np.inf), B) == "slowly"
