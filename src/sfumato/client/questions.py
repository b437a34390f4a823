"""Asking about pictures, as flows; `client.py` only says how their steps are done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.client.answers import MapInfo, read_answer, read_map
from sfumato.client.archives import TarStream, unpack_map
from sfumato.client.device import Image, Prepared, check_leaving, draw
from sfumato.client.errors import Refused, ServerError, Unreachable
from sfumato.client.flow import ask
from sfumato.client.lookup import Lookups, check_gravity, check_map
from sfumato.client.outbox import Outbox, release_name
from sfumato.client.steps import Flow, work
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.gravity import GRAVITY_HEADER, Gravity
from sfumato.core.lens import check_possible
from sfumato.core.releases import KeypointRelease, Release
from sfumato.core.storage import NewFile, new_directory
from sfumato.core.types import Camera, Localization
from sfumato.device.ledger import Ledger
from sfumato.dictionary import Dictionary

PathLike = str | os.PathLike[str]
#: The longest archive of a map that is read, unless more is asked for.
MAX_MAP_BYTES = 8 << 30


@dataclass(frozen=True)
class Outcome:
    """What became of one waiting release: an answer, or an error and it still waits.

    cost  of the release, charged when it was drawn; None where its file cannot be read
    """

    path: Path
    localization: Localization | None
    error: SfumatoError | None
    cost: Mapping[str, Any] | None = None


@dataclass(kw_only=True)
class Questions(Lookups):
    """All that a client asks; see `Lookups` for the settings."""

    ledger: Ledger | None
    outbox: Outbox | None

    def prepare(
        self, image: Image, camera: Camera, *, save: PathLike | None = None
    ) -> Flow[Prepared | None]:
        """Charge and draw a release without sending it; None where a picture has no keypoints.

        Needs no network unless words are missing.
        """
        check_possible(camera)  # before anything is charged
        pipeline = yield from self.pipeline()

        def drawn() -> Prepared | None:
            with self._kept_in(save) as file:
                return draw(
                    image,
                    camera,
                    pipeline,
                    limits=self.limits,
                    ledger=self.ledger,
                    file=file,
                    name=release_name if save is None else lambda _: None,
                )

        prepared = yield from work(drawn)
        return prepared

    def _kept_in(self, save: PathLike | None) -> AbstractContextManager[NewFile | None]:
        """The file that will keep a release, made before anything is charged."""
        if save is not None:
            _check_new(Path(save))
            return NewFile(Path(save))
        return nullcontext() if self.outbox is None else self.outbox.new_file()

    def localize(
        self,
        image: Image,
        camera: Camera,
        *,
        map: str | None = None,
        save: PathLike | None = None,
        tell: Callable[[Prepared], None] | None = None,
        gravity: Gravity | None = None,
    ) -> Flow[Localization]:
        """Where was this picture taken? It is protected here; only words of it are sent.

        save     a file that keeps the release, instead of the outbox; it stays after the answer
        tell     called with what is about to leave
        gravity  sent beside it, unprotected, where the map knows which way is up. It is not kept
                 with a release that waits
        """
        offline: Unreachable | None = None
        try:
            asked = yield from self.find_map(map)
            pipeline = yield from self.pipeline()
            check_map(asked, pipeline)
            check_gravity(asked, gravity)
        except Unreachable as problem:
            if save is None and self.outbox is None:
                raise
            offline = problem
        prepared = yield from self.prepare(image, camera, save=save)
        if prepared is None:
            nothing = "the picture has no keypoints; nothing was charged or sent"
            return Localization(None, 0, 0, 0.0, nothing)
        if tell is not None:
            tell(prepared)
        if offline is not None:
            raise _kept(offline, prepared)
        answer = yield from self.send(prepared, map=map, gravity=gravity)
        return answer

    def send(
        self,
        release: Prepared | Release | PathLike,
        *,
        map: str | None = None,
        gravity: Gravity | None = None,
    ) -> Flow[Localization]:
        """Send a release that exists, as it is: nothing is drawn and nothing is charged."""
        prepared = yield from work(lambda: _as_prepared(release))
        dictionary = self.words if isinstance(self.words, Dictionary) else None
        check_leaving(prepared.release, self.limits, dictionary)
        try:
            asked = yield from self.find_map(map)
            check_gravity(asked, gravity)
            beside = {} if gravity is None else {GRAVITY_HEADER: gravity.to_text()}
            reply = yield from ask(
                self.request(
                    "POST",
                    f"v1/maps/{asked.id}/localize",
                    content=prepared.data,
                    headers={"Content-Type": "application/octet-stream"} | beside,
                ),
                self.patience,
            )
            answer = read_answer(reply.body, prepared.release)
        except ServerError as problem:
            if isinstance(problem, Refused) and problem.status == 404:
                self.known_maps.clear()
            raise _kept(problem, prepared) from None
        path, outbox = prepared.path, self.outbox
        if path is not None and outbox is not None and outbox.holds(path):
            yield from work(lambda: outbox.remove(path))
        return answer

    def flush(self, *, map: str | None = None) -> Flow[list[Outcome]]:
        """Send what waits in the outbox, oldest first; what cannot be sent stays there."""
        outbox = self.outbox
        if outbox is None:
            raise InvalidInput("this client has no outbox; give outbox= a folder.")
        outcomes: list[Outcome] = []
        for path in (yield from work(outbox.waiting)):
            cost = None
            try:
                prepared = yield from work(partial(_as_prepared, path))
                cost = prepared.cost
                answer = yield from self.send(prepared, map=map)
                outcomes.append(Outcome(path, answer, None, cost))
            except SfumatoError as problem:
                outcomes.append(Outcome(path, None, problem, cost))
                if isinstance(problem, ServerError) and not _concerns_one(problem):
                    break
        return outcomes

    def push_map(
        self, folder: PathLike, *, name: str, accept: tuple[str, ...] = ()
    ) -> Flow[MapInfo]:
        """Upload a map of your own, never your users' pictures; the server checks its digest."""
        body = yield from work(lambda: TarStream.of_map(Path(folder)))
        digest = yield from work(body.digest)
        params = {"name": name} | ({"accept": ",".join(accept)} if accept else {})
        request = self.request(
            "POST",
            "v1/maps",
            params=params,
            stream=body,
            headers={
                "Content-Type": "application/x-tar",
                "Content-Length": str(body.length),
                "Content-Digest": digest,
            },
        )
        reply = yield from ask(request, self.patience, repeatable=False)
        return read_map(reply.body)

    def fetch_map(
        self, folder: PathLike, *, map: str | None = None, max_bytes: int = MAX_MAP_BYTES
    ) -> Flow[MapInfo]:
        """Download a map of your own into a new folder, whole and checked or not at all.

        It needs a key of the role owner: a map shows what its maker's pictures show.
        """
        found = yield from self.find_map(map)
        with (
            new_directory(Path(folder), make_parents=False) as draft,
            tempfile.TemporaryFile(dir=draft) as archive,
        ):
            yield from ask(
                self.request("GET", f"v1/maps/{found.id}/archive"),
                self.patience,
                max_bytes=max_bytes,
                sink=archive,
            )
            yield from work(lambda: unpack_map(archive, draft))
        return found

    def delete_map(self, map: str) -> Flow[MapInfo]:
        """Erase a map of your own from the server, its files included; what it was."""
        found = yield from self.find_map(map)
        yield from ask(
            self.request("DELETE", f"v1/maps/{found.id}"), self.patience, repeatable=False
        )
        self.known_maps.clear()
        return found


def _as_prepared(given: Prepared | Release | PathLike) -> Prepared:
    if isinstance(given, Prepared):
        return given
    path: Path | None = None
    if isinstance(given, Release):
        release, data = given, given.to_bytes()
    else:
        path = Path(given)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
        release = Release.from_bytes(data)
    if not isinstance(release, KeypointRelease):
        raise InvalidInput(f"a release of {release.kind} cannot be localized; it was not sent.")
    return Prepared(release, data, path)


def _check_new(path: Path) -> None:
    if path.exists():
        raise InvalidInput(
            f"{path} exists already; send it as it is, which costs nothing more, or remove it to "
            "draw (and pay) anew."
        )


def _kept(problem: ServerError, prepared: Prepared) -> ServerError:
    problem.prepared = prepared
    if prepared.path is not None and isinstance(problem, Unreachable):
        sentence = (
            f"{problem} The release is kept in {prepared.path}; sending it costs nothing more."
        )
        problem.args = (sentence,)
    return problem


def _concerns_one(problem: ServerError) -> bool:
    """Whether the next release may fare better with the same server, key and map."""
    return isinstance(problem, Refused) and problem.status in (400, 403, 409, 413, 422)
