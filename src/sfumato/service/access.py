"""Who asks: the key of a request, its role, and how often it has asked."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sfumato.service.errors import busy, forbidden_role, unauthorized
from sfumato.service.keys import Key
from sfumato.service.state import Service

_bearer = HTTPBearer(
    auto_error=False, bearerFormat="sfk_<id>_<secret>", description="`sfumato keys create`"
)


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


async def any_key(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    service: Annotated[Service, Depends(service_of)],
) -> Key:
    """A valid key of any role, within its rate."""
    key = service.store.keys.find(credentials.credentials if credentials else "")
    if key is None:
        raise unauthorized()
    request.state.tenant = key.tenant
    request.state.key_id = key.id
    if service.draining.is_set():
        raise busy("this server is about to stop; ask again.", 2)
    service.rates.spend(key.id)
    return key


async def owner_key(key: Annotated[Key, Depends(any_key)]) -> Key:
    """A key that may change its tenant's maps."""
    if key.role != "owner":
        raise forbidden_role()
    return key


AnyKey = Annotated[Key, Depends(any_key)]
OwnerKey = Annotated[Key, Depends(owner_key)]
TheService = Annotated[Service, Depends(service_of)]
