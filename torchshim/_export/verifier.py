"""torch._export.verifier: the kinds of programs, by what checks them in torch. Programs are checked as they are made here."""


class SpecViolationError(Exception):
    """A graph that is no program."""


class Verifier:
    """Of programs after run_decompositions."""
    dialect = "ATEN"

    def check(self, ep):
        """Nothing is left to check."""


class TrainingIRVerifier(Verifier):
    """Of programs as torch.export.export makes them."""
    dialect = "TRAINING"
