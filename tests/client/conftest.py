"""Services for the clients to ask."""

from service_fixtures import serve, served, world

__all__ = ["serve", "served", "world"]
