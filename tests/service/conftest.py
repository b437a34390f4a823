"""Services for the tests of the service."""

from service_fixtures import serve, served, undisturbed, world

__all__ = ["serve", "served", "undisturbed", "world"]
