"""The command line starts logging for its process; a test gives it back."""

from tests.cli.conftest import quiet_log

__all__ = ["quiet_log"]
