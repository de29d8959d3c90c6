"""Property tests have no deadline: a slow machine is not a failure."""

from hypothesis import settings

settings.register_profile("patient", deadline=None, max_examples=200)
settings.load_profile("patient")
