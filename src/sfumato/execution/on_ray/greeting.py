"""Ask who listens at an address, before Ray tries for half a minute and says less.

Heads of a cluster answer such a question at once, even to somebody without the right token.
"""

from __future__ import annotations

import os
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.execution.nodes import CLIENT, SECONDS_TO_ANSWER

try:
    from ray._private import grpc_utils
    from ray._private.ray_constants import GLOBAL_GRPC_OPTIONS
    from ray._private.services import get_ray_address_from_environment
    from ray.core.generated import ray_client_pb2
except ImportError:  # a Ray with less than the extra installs, or an older one: it is not asked
    grpc_utils = None

_ASKED_TOKEN, _NOT_KNOWN, _NO_TALK = "UNAUTHENTICATED", "UNIMPLEMENTED", "UNAVAILABLE"


def greet(address: str) -> None:
    """Refuse an address where no Ray cluster listens, or one that listens to others only."""
    check_token(address)
    if _refusal(address) in (_NOT_KNOWN, _NO_TALK):
        raise InvalidInput(
            f"something listens at {address}, but not a Ray cluster "
            + (
                "for its clients; their port is 10001 unless `ray start --head` was given another "
                "with --ray-client-server-port."
                if address.startswith(CLIENT)
                else "for its machines; their port is 6379 unless `ray start --head` was given "
                "another with --port."
            )
        )


def check_token(address: str, instead: str = "") -> None:
    """Refuse a cluster that asks for another token than the one given."""
    if _refusal(address) == _ASKED_TOKEN:
        given = os.environ.get("RAY_AUTH_MODE") == "token"
        raise InvalidInput(
            f"the Ray cluster at {address} asks for "
            + ("another token; " if given else "a token; set RAY_AUTH_MODE=token and ")
            + f"name the file that has its token in RAY_AUTH_TOKEN_PATH{instead}."
        )


def _refusal(address: str) -> str | None:
    """The name of gRPC's code for why the simplest question is not answered."""
    if grpc_utils is None:
        return None
    method, question = "NodeInfoGcsService/CheckAlive", b""
    if address.startswith(CLIENT):
        ping: Any = ray_client_pb2.ClusterInfoType.PING
        method = "RayletDriver/ClusterInfo"
        question = ray_client_pb2.ClusterInfoRequest(type=ping).SerializeToString()
    channel: Any = grpc_utils.init_grpc_channel(
        address.removeprefix(CLIENT), options=GLOBAL_GRPC_OPTIONS
    )
    try:
        channel.unary_unary(f"/ray.rpc.{method}")(question, timeout=SECONDS_TO_ANSWER)
    except grpc_utils.grpc.RpcError as error:
        return str(error.code().name)
    finally:
        channel.close()
    return None


def found_here() -> str | None:
    """Where a cluster that this machine belongs to has its head, if there is one."""
    if grpc_utils is None:
        return None
    try:
        return str(get_ray_address_from_environment("auto", None))
    except ConnectionError:
        return None
