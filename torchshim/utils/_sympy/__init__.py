"""torch.utils._sympy: the ranges of sizes that are symbols, by the names that programs import."""
