"""Values and arithmetic: standard library only, no I/O. Everything above stands on these."""
