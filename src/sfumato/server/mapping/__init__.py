"""Maps: from images, from a COLMAP model, and how they are stored."""

from sfumato.server.mapping.map import Map

__all__ = ["Map"]
