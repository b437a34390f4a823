"""HTTP: a device asks, a server that never sees the picture answers."""
