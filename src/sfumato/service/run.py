"""Start the service, keep it running, end it in order.

The first process recovers the store and binds the socket. With one worker it serves itself; with
several it starts them, shares the socket with them and replaces those that die. A worker whose
first process is gone ends itself: it must not serve beside the next one.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from sfumato.core.errors import InvalidInput
from sfumato.service import logs
from sfumato.service.app import create_app
from sfumato.service.database import one_sentence
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.fleet import fleet
from sfumato.service.logs import WARNING, log
from sfumato.service.metrics import VARIABLE
from sfumato.service.permissions import close_to_others, is_open, only_for_the_owner
from sfumato.service.protocol import GuardedHttp, guard_connections, raise_file_limit
from sfumato.service.recovery import StoreLock, recover
from sfumato.service.request_guard import MAX_HEADER_BYTES, STARTING
from sfumato.service.settings import Settings
from sfumato.service.state import make_service
from sfumato.service.storage import Store

if TYPE_CHECKING:
    from sfumato.execution.on_ray.serving import Copies

WORKER_SETTINGS = "SFUMATO_WORKER_SETTINGS"
_RUN = "sfumato-run-"
_LONGEST_FOR_SOCKETS = 70  # of the 107 characters a socket's path may have


def serve(settings: Settings, ready: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM; `ready` is called with host and port once requests are answered."""
    if not sys.platform.startswith("linux"):
        raise InvalidInput(
            f"sfumato serve needs Linux, whose kernel limits what a request may use; this is "
            f"{sys.platform}. Run it in a container or a virtual machine."
        )
    signal.signal(signal.SIGTERM, _leave)
    settings = settings.from_anywhere()
    logs.configure()
    raise_file_limit()
    with (
        only_for_the_owner(),
        _recovered(settings),
        fleet(settings) as copies,  # before the folder of temporary files changes: Ray has one too
        _bind(settings) as listening,
        _run_folder(settings) as run,
    ):
        signal.signal(signal.SIGTERM, _leave)  # Ray has set its own
        _warn_of_plain_http(settings.host)
        _tell_when_ready(listening, ready)
        if settings.workers == 1:
            _serve_alone(settings, run, listening, copies)
        else:
            _serve_together(settings, run, listening)


def _leave(*_: Any) -> None:
    """SIGTERM before uvicorn listens to it, and once more when it has done so."""
    raise SystemExit(0)


@contextmanager
def _recovered(settings: Settings) -> Iterator[None]:
    """A store that is in order, and stays this service's own."""
    dictionaries = Dictionaries(settings.dictionaries)
    store = Store(settings.store, read_only=settings.read_only)
    _close_to_others(settings)
    if settings.read_only:
        yield
        return
    with closing(StoreLock(store.folder)) as lock:
        lock.take_alone()
        with one_sentence(store.folder):
            recover(store, dictionaries, settings)
        lock.share()
        store.database.close()
        yield


def _close_to_others(settings: Settings) -> None:
    """Mend rights that a copy or an open umask has left; of a read-only store they are told."""
    was_open = is_open(settings.store)
    done = "make the folder 0700 and its files 0600"
    if not settings.read_only:
        with suppress(PermissionError):  # somebody else's store, which is told
            close_to_others(settings.store)
            done = "it is now 0700, its files 0600"
    if was_open:
        log(f"other users could look into the store; {done}", level=WARNING)


def _warn_of_plain_http(host: str) -> None:
    if not _is_loopback(host):
        log(
            "this service has no TLS and can be reached from other machines: keys and releases "
            "travel in the clear; put a TLS proxy in front and listen on 127.0.0.1",
            level=WARNING,
            host=host,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InvalidInput(
            f"{settings.host}:{settings.port} cannot be listened on ({error}); choose another port."
        ) from None
    listening.listen(2048)
    listening.set_inheritable(True)
    return listening


@contextmanager
def _run_folder(settings: Settings) -> Iterator[Path]:
    """What the workers of this machine share and nobody needs afterwards.

    Not on the store's disk: counting requests must go on when that is full. The store has a link
    to it, so that the next start removes what a killed one has left.
    """
    link = settings.store / "run"
    if not settings.read_only:
        _remove_run(link)
    folder = Path(tempfile.mkdtemp(prefix=_RUN))
    try:
        if not settings.read_only:
            with suppress(OSError):  # without it a killed service leaves its folder, no more
                link.symlink_to(folder)
        with _temporary_files_in(str(folder)):
            yield folder
    finally:
        if link.is_symlink() and link.readlink() == folder:
            link.unlink()
        if any(folder.glob("pymp-*")):
            # multiprocessing removes its sockets when this process ends; ours is the next to go.
            Finalize(None, shutil.rmtree, (folder, True), exitpriority=-200)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_run(link: Path) -> None:
    """Erase what a killed service left; anything else with that name is not ours to erase."""
    if link.is_symlink():
        left = link.readlink()
        if left.name.startswith(_RUN) and left.parent == Path(tempfile.gettempdir()):
            shutil.rmtree(left, ignore_errors=True)
        link.unlink()
    elif link.is_dir() and all(_is_of_version_1(path) for path in link.iterdir()):
        shutil.rmtree(link, ignore_errors=True)
    elif link.exists():
        log("the store has a `run` that sfumato did not make; it is left alone", level=WARNING)


def _is_of_version_1(path: Path) -> bool:
    """The counters that workers shared, when `run` was a folder of the store."""
    if path.name == "metrics" and path.is_dir():
        return all(file.suffix == ".db" for file in path.iterdir())
    return path.name.startswith("rates.db") and path.is_file()


@contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    """Sockets of computing processes too: they lie where the next start removes them.

    `multiprocessing` asks `tempfile` for the place, in this process and in workers.
    """
    if len(folder) > _LONGEST_FOR_SOCKETS:
        yield
        return
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    try:
        yield
    finally:
        tempfile.tempdir = before[0]
        if before[1] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[1]


def _config(app: Any, settings: Settings, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=GuardedHttp,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=max(1, round(settings.keep_alive_seconds)),
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
        timeout_worker_healthcheck=60,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        **more,
    )


def _serve_alone(
    settings: Settings, run: Path, listening: socket.socket, copies: Copies | None
) -> None:
    guard_connections(settings)
    service = make_service(settings, run=run, copies=copies)
    uvicorn.Server(_config(create_app(service), settings)).run(sockets=[listening])


def _serve_together(settings: Settings, run: Path, listening: socket.socket) -> None:
    (run / "metrics").mkdir()
    os.environ[VARIABLE] = str(run / "metrics")
    os.environ[WORKER_SETTINGS] = json.dumps(
        {"settings": settings.to_json(), "run": str(run), "parent": os.getpid()}
    )
    config = _config(
        "sfumato.service.run:worker_app", settings, factory=True, workers=settings.workers
    )
    Multiprocess(config, sockets=[listening]).run()


def worker_app() -> FastAPI:
    """The application of one of several workers, made in its own process."""
    given = json.loads(os.environ[WORKER_SETTINGS])
    settings = Settings.from_json(given["settings"])
    # Something that tidies temporary folders may have removed them since the start.
    (Path(given["run"]) / "metrics").mkdir(parents=True, exist_ok=True)
    logs.configure()
    threading.Thread(target=_end_with, args=(given["parent"],), daemon=True).start()
    guard_connections(settings)
    app = create_app(make_service(settings, run=Path(given["run"])))
    if not settings.read_only:
        app.state.lock = StoreLock(settings.store)
        app.state.lock.share()
    return app


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


def _tell_when_ready(listening: socket.socket, ready: Callable[[str, int], None]) -> None:
    host, port = listening.getsockname()[:2]
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104

    def wait() -> None:
        while True:
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(reachable, port, timeout=5)
                headers = {"Connection": "close", STARTING: "1"}
                connection.request("GET", "/readyz", headers=headers)
                if connection.getresponse().status == 200:
                    ready(host, port)
                    return
            time.sleep(0.05)

    threading.Thread(target=wait, daemon=True).start()
