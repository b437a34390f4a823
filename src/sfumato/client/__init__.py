"""The device's half of the service: protect here, ask there, believe little."""

from sfumato.client.client import AsyncClient, Client, Outcome, Prepared

__all__ = ["AsyncClient", "Client", "Outcome", "Prepared"]
