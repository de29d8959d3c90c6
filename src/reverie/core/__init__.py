"""Value types and arithmetic. Standard library only, no I/O; all other packages build on these."""
