"""torch._dynamo.backends: who gets graphs."""
