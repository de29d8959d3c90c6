"""Whole conversations talk to the provider on loopback, through the official SDKs."""

from tests.provider.fixtures import provider, provider_server

__all__ = ["provider", "provider_server"]
