"""Clients are tested beside the command line: the same fixture for logging."""

from tests.cli.conftest import quiet_log

__all__ = ["quiet_log"]
