"""Memory that a Reverie service keeps, read through a local copy."""
