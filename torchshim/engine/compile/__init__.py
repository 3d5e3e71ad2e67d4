"""From a trace to numbers: operators at given shapes, XLA programs, their cache, and when a program is worth compiling."""
