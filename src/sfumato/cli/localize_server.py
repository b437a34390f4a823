"""`sfumato localize --server`: protect here, ask there, and say what left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.accounting import (
    announcement,
    check_account,
    ledger_facts,
    ledger_text,
    open_account,
)
from sfumato.cli.files import read_release
from sfumato.cli.output import begin_output, emit_facts, note
from sfumato.cli.protect import parse_camera
from sfumato.cli.server_options import read_certificates, read_key
from sfumato.cli.suppression import make_suppress, suppression_facts, suppression_text
from sfumato.client import Client, Prepared
from sfumato.client.pins import own_words
from sfumato.client.release_cost import release_cost
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Localization
from sfumato.core.wire import MAGIC
from sfumato.device.explain import explanation_text
from sfumato.device.filters import ConstantCount, Suppression
from sfumato.device.filters.keep import keep_filter
from sfumato.device.ledger import Ledger
from sfumato.device.protect import Filter, PictureFilter
from sfumato.dictionary import Dictionary
from sfumato.features import load_image
from sfumato.features.image import MAX_SIFT_PIXELS

if TYPE_CHECKING:
    from collections.abc import Callable

_HIDING = ("suppress", "boxes", "mask", "detector", "decoys")
_SHORT = ("leaves the device", "guarantee", "whole picture", "not protected")


@dataclass(frozen=True, kw_only=True)
class ServerRequest:
    """The options of `sfumato localize` that mean something with --server."""

    server: str
    map: str
    camera: str | None
    dictionary: str | None
    epsilon: float | None
    subset_size: int | None
    words: int | None
    keep: int | None
    keep_by: str
    constant_count: int | None
    hiding: dict[str, Any]
    ledger: Path | None
    no_ledger: bool
    session: str
    cap: float | None
    save: Path | None
    key_file: Path | None
    cache: Path | None
    max_epsilon: float | None
    min_words: int
    follow_plan: bool
    deadline: float
    allow_http: bool
    ca_file: Path | None


def ask_server(
    source: Path, request: ServerRequest, *, quiet: bool
) -> tuple[Localization, dict[str, Any]]:
    """Ask with a photograph or with a release; the answer, and facts about what left."""
    key = read_key(request.key_file)
    common: dict[str, Any] = {
        "map": request.map,
        "max_epsilon": request.max_epsilon,
        "min_words": request.min_words,
        "deadline": request.deadline,
        "timeout": min(request.deadline, 30.0),
        "allow_http": request.allow_http,
        "verify": read_certificates(request.ca_file),
    }
    facts: dict[str, Any] = {"server": request.server, "map": request.map}
    if _is_release(source):
        return _send_saved(source, request, Client(request.server, key, **common), facts, quiet)
    return _send_photo(source, request, key, common, facts, quiet)


def _is_release(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC or path.suffix == ".sfr"
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None


def _send_saved(
    source: Path, request: ServerRequest, client: Client, facts: dict[str, Any], quiet: bool
) -> tuple[Localization, dict[str, Any]]:
    drawing = (request.epsilon, request.subset_size, request.words, request.keep)
    keeping = (request.constant_count, request.ledger, request.cap, request.save)
    if request.no_ledger or any(one is not None for one in (*drawing, *keeping)) or _hides(request):
        raise InvalidInput(
            f"{source} is a release: it was drawn and charged, and is sent as it is; leave out "
            "--epsilon and what else would make another."
        )
    release = read_release(source, purpose="localize")
    if request.camera is not None:
        if release.camera is not None:
            raise InvalidInput("the release carries a camera already; leave out --camera.")
        # The same words with intrinsics beside them: nothing is drawn again.
        release = replace(release, camera=parse_camera(request.camera, release.image_size))
    prepared = Prepared(release, release.to_bytes())
    _leaving(facts, quiet)(prepared)
    with client:
        return client.send(prepared), facts


def _send_photo(
    photo: Path,
    request: ServerRequest,
    key: str,
    common: dict[str, Any],
    facts: dict[str, Any],
    quiet: bool,
) -> tuple[Localization, dict[str, Any]]:
    if request.epsilon is None:
        raise InvalidInput(
            "a photograph is protected before it is asked about: give --epsilon, or a release "
            "made with `sfumato protect`."
        )
    if request.camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics: give --camera MODEL,param,…")
    check_account(request.ledger, request.no_ledger, request.cap)
    picture = load_image(photo, max_pixels=MAX_SIFT_PIXELS)
    camera = parse_camera(request.camera, (picture.shape[1], picture.shape[0]))
    hidden: list[Suppression] = []
    filters = _filters(request, hidden)
    account = open_account(request.ledger, request.no_ledger, request.session, request.cap)
    client = Client(
        request.server,
        key,
        epsilon=request.epsilon,
        subset_size=request.subset_size,
        num_words=request.words,
        dictionary=request.dictionary,
        cache=request.cache,
        filters=filters,
        ledger=account,
        **common,
    )
    with client:
        if request.follow_plan:
            client.follow_plan(say=lambda text: _note(text, facts))
        begin_output(quiet, announcement(account))
        tell = _leaving(facts, quiet, hidden, account, drawn=True)
        found = client.localize(picture, camera, save=request.save, tell=tell)
    return found, facts


def _filters(
    request: ServerRequest, hidden: list[Suppression]
) -> tuple[Filter | PictureFilter, ...]:
    filters: list[Filter | PictureFilter] = []
    needs_words = request.hiding["decoys"] or request.constant_count is not None
    words = own_words(request.dictionary)
    if needs_words and not isinstance(words, Dictionary):
        raise InvalidInput("decoys are public words: --dictionary must be one that is here.")
    public = words if isinstance(words, Dictionary) else None
    if public is not None and request.words is not None:
        public = public.at(request.words)
    if _hides(request):
        hide = make_suppress(public, hidden.append, **request.hiding)  # type: ignore[arg-type]
        filters += [] if hide is None else [hide]
    if request.keep is not None:
        filters.append(keep_filter(request.keep, request.keep_by))
    elif request.keep_by != "strength":
        raise InvalidInput("--keep-by chooses among keypoints; say how many with --keep N.")
    if request.constant_count is not None and public is not None:
        filters.append(ConstantCount(request.constant_count, public))
    return tuple(filters)


def _hides(request: ServerRequest) -> bool:
    return any(request.hiding[name] for name in _HIDING)


def _note(text: str, facts: dict[str, Any]) -> None:
    facts["plan"] = text
    note(f"{text}")


def _leaving(
    facts: dict[str, Any],
    quiet: bool,
    hidden: list[Suppression] | None = None,
    account: Ledger | None = None,
    drawn: bool = False,
) -> Callable[[Prepared], None]:
    """Say what is about to leave, before it does."""

    def tell(prepared: Prepared) -> None:
        event, facts["sent"] = release_cost(prepared.release)
        text = explanation_text(facts["sent"])
        shown = {name: value for name, value in text.items() if name in _SHORT}
        if hidden:
            facts["hidden"] = suppression_facts(hidden[0])
            shown["hidden"] = suppression_text(facts["hidden"])
        if drawn:
            facts["ledger"] = ledger_facts(account, event)
            shown |= ledger_text(facts["ledger"], event)
        else:
            shown["ledger"] = "nothing is charged now: the release was charged when it was drawn"
        if not quiet:
            emit_facts(f"asking {facts['server']}", shown)

    return tell
