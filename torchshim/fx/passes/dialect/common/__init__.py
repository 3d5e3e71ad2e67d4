"""torch.fx.passes.dialect.common: passes over graphs of any operators."""
