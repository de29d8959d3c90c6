"""No deadline for property tests: a slow machine is not a failure."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "core", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("core")
