"""The logging fixture of the command line's tests, for the clients' tests."""

from tests.cli.conftest import quiet_log

__all__ = ["quiet_log"]
