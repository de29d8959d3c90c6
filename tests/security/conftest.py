"""The command line starts logging for its process; a test gives it back."""

from tests.surfaces.conftest import quiet_log

__all__ = ["quiet_log"]
