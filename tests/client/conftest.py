"""Services for the clients to ask."""

from service_fixtures import serve, served, undisturbed, world

__all__ = ["serve", "served", "undisturbed", "world"]
