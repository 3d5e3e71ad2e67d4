"""Linear algebra: factorizations, spectra, systems of equations, functions of matrices.

Everything works on batches of matrices (..., m, n). Where LAPACK decides (signs, phases, pivots) the results are LAPACK's, as
torch's are. Derivatives are tangent rules, so that both modes and higher orders follow.
"""
from . import factor, functions, householder, ldl, solve, spectrum          # noqa: F401
