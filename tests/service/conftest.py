"""Services for the tests of the service."""

from service_fixtures import serve, served, world

__all__ = ["serve", "served", "world"]
