"""All that an operator can set, in one dataclass: from a file, the environment, the command."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.core.checks import check_choice
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput

PREFIX = "SFUMATO_"
#: Read elsewhere: the client's key, and how the first process talks to its workers.
NOT_SETTINGS = frozenset({"SFUMATO_KEY", "SFUMATO_LEDGER", "SFUMATO_WORKER_SETTINGS"})


@dataclass(frozen=True)
class Settings:
    """How the service runs. Later sources win: defaults, file, environment, command line."""

    store: Path = Path("store")
    dictionaries: tuple[str, ...] = (DEFAULT_DICTIONARY,)
    host: str = "127.0.0.1"
    port: int = 8750
    workers: int = 1
    parallel: int = 2  # localizations of each worker at once, each in a process of its own
    read_only: bool = False
    allow_origins: tuple[str, ...] = ()  # web sites whose pages may ask, each as https://host
    shown_points: int = 4000  # of a map, to whoever may ask it; 0: none
    on: str = "local"  # where localizations are computed: in processes here, or on a Ray cluster

    replicas: int = 1  # on Ray: copies of what localizes, each `parallel` at once
    max_replicas: int = 0  # … and so many under load; 0: no more
    shards: int = 1  # on Ray: parts that large maps are cut into, each held by a copy of its own
    shard_replicas: int = 1  # copies of each shard
    shard_observations: int = 1_000_000  # a map of fewer stays in one piece
    shard_seconds: float = 2.0  # a shard that has not answered after this was not looked at

    queue_size: int = 32  # requests that may wait for a thread, per worker
    deadline_seconds: float = 30.0  # from the end of a request's body to its answer
    rate_per_minute: float = 600.0  # requests of one key, over all workers; 0: no limit
    rate_burst: int = 60
    candidates_per_request: int = 100_000  # a costlier request counts as several

    max_release_bytes: int = 16 << 20
    max_keypoints: int = 20_000
    max_candidates: int = 8_000_000  # pairs of keypoint and feature that one request may weigh
    max_cpu_seconds: int = 10  # of computing for one request
    max_request_memory_bytes: int = 1 << 30  # beside the map, while one request is worked on
    max_upload_memory_bytes: int = 4 << 30  # while a map is checked, or planned for
    max_comparisons: int = 4_000_000_000  # of descriptors, for plain and subspace releases
    max_buffered_bytes: int = 256 << 20  # bodies of releases held at once, per worker
    max_map_bytes: int = 8 << 30
    max_maps: int = 1000  # per tenant
    max_uploads: int = 4  # at once, per worker; half of them for one tenant
    min_free_bytes: int = 256 << 20  # uploads stop before the disk is fuller than this

    audit_bytes: int = 16 << 20  # of audit.log, and of each of the older ones kept beside it

    body_seconds: float = 10.0  # a body may take this long, and longer only if it …
    body_bytes_per_second: float = 16_384.0  # … arrives at least this fast
    header_seconds: float = 10.0
    keep_alive_seconds: float = 30.0
    max_connections: int = 4096  # per worker
    max_connections_per_address: int = 512  # per worker; 0: no limit (a proxy counts as one)
    grace_seconds: float = 20.0  # from SIGTERM to the end of the last answer

    plan_images: int = 8  # images of a map that a plan is tried on; 0: no plans
    plan_epsilons: tuple[float, ...] = (4.0, 10.0)  # an ε between these is recommended …
    plan_share: float = 0.75  # … with what localizes so many at the least E per picture

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool) or not isinstance(field.default, int | float):
                continue
            low = 0 if field.name in _MAY_BE_ZERO else 1 if isinstance(field.default, int) else None
            if not math.isfinite(value) or (low is not None and value < low) or value < 0:
                raise InvalidInput(
                    f"{field.name} must be {'a number' if low is None else f'at least {low}'}, "
                    f"got {value!r}."
                )
        check_choice("on", self.on, ("local", "ray"))
        given = [name for name in _ON_RAY if getattr(self, name) > 1]
        if self.on == "local" and given:
            raise InvalidInput(f"{given[0]} applies to a service on Ray; give --on ray as well.")
        if self.on == "ray" and self.workers > 1:
            raise InvalidInput(
                f"workers must be 1 on Ray, got {self.workers}: localizations are computed in the "
                "cluster; give replicas instead."
            )
        if not self.port < 65_536:
            raise InvalidInput(f"port must be between 0 and 65535, got {self.port}.")
        if not self.dictionaries:
            raise InvalidInput("the service needs at least one dictionary; give --dictionary.")
        if not self.plan_epsilons or min(self.plan_epsilons) <= 0:
            raise InvalidInput("plan_epsilons must be positive numbers.")
        for origin in self.allow_origins:
            _check_origin(origin)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), default=str)

    @staticmethod
    def from_json(text: str) -> Settings:
        return Settings().updated(json.loads(text), source="the first process")

    def from_anywhere(self) -> Settings:
        """The same with whole paths, for processes that work elsewhere."""
        words = tuple(
            str(Path(name).absolute()) if Path(name).exists() else name
            for name in self.dictionaries
        )
        return dataclasses.replace(self, store=self.store.absolute(), dictionaries=words)

    def updated(self, values: Mapping[str, Any], *, source: str) -> Settings:
        """The same with these values, given as text or as TOML's types."""
        known = {field.name: field.default for field in fields(self)}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise InvalidInput(
                f"{source} sets {unknown[0]!r}, which is no setting; known are {', '.join(known)}."
            )
        changes = {name: _parsed(name, known[name], value) for name, value in values.items()}
        return dataclasses.replace(self, **changes)


_ON_RAY = ("replicas", "max_replicas", "shards", "shard_replicas")
_MAY_BE_ZERO = {
    "port",
    "rate_per_minute",
    "min_free_bytes",
    "queue_size",
    "shown_points",
    "plan_share",
    "plan_images",
    "max_connections_per_address",
    "max_replicas",
}

_HOST = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\]"
_ORIGIN = re.compile(rf"https://({_HOST})(:[1-9][0-9]{{0,4}})?")
_THIS_MACHINE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[1-9][0-9]{0,4})?")
_USUAL_PORT = re.compile(r"https://[^:]*:443|http://[^:]*:80")


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Settings named SFUMATO_… ; a list is written with commas."""
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name not in NOT_SETTINGS
    }


def _parsed(name: str, default: Any, value: Any) -> Any:
    try:
        if isinstance(default, tuple):
            items = value.split(",") if isinstance(value, str) and value else list(value)
            kind = type(default[0]) if default else str
            return tuple(kind(item.strip() if isinstance(item, str) else item) for item in items)
        if isinstance(default, bool):
            if isinstance(value, bool):
                return value
            return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
        if isinstance(default, int):
            if isinstance(value, float | bool):
                raise ValueError
            return int(value)
        return type(default)(value) if not isinstance(default, Path) else Path(value)
    except (ValueError, TypeError, KeyError):
        raise InvalidInput(
            f"the setting {name} must be like {_example(default)}, got {value!r}."
        ) from None


def _example(default: Any) -> str:
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _check_origin(text: str) -> None:
    """An origin must be written as browsers write it."""
    if "*" in text:
        raise InvalidInput(
            f"allow_origins must name each web site, got {text!r}: requests carry a key, which any "
            "page could use then; list the origins that you trust."
        )
    if not (_ORIGIN.fullmatch(text) or _THIS_MACHINE.fullmatch(text)) or _USUAL_PORT.fullmatch(
        text
    ):
        raise InvalidInput(
            f"allow_origins must be like https://app.example or https://app.example:8443 in small "
            f"letters (http only for this machine), got {text!r}; leave out the path, the last "
            "slash and the usual port."
        )
