"""`sfumato ask photo` and `sfumato ask release`: protect here, ask a server, say what left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.accounting import (
    Account,
    announcement,
    ledger_facts,
    ledger_text,
    release_text,
)
from sfumato.cli.cameras import AUTO, camera_of
from sfumato.cli.command import refuse_given, was_given
from sfumato.cli.files import read_release, refuse_release
from sfumato.cli.localize_many import Query, ask_one
from sfumato.cli.options import argument, option
from sfumato.cli.output import JsonFlag, begin_output, emit_facts, note
from sfumato.cli.own_code import find_extractor
from sfumato.cli.pictures import Which
from sfumato.cli.protection import no_words
from sfumato.cli.selection import Selection, suppression_facts, words_to_send
from sfumato.cli.server_options import Question, Server
from sfumato.cli.tell_pose import tell_localization
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import TILT, Gravity
from sfumato.device.explain import Observed


def ask_photo(
    photo: Annotated[
        Path, argument("IMAGE", "A photograph, or features (.h5) with --name. They stay here.")
    ],
    *,
    server: Server,
    question: Question,
    epsilon: Annotated[float, option("ε per descriptor.")],
    camera: Annotated[
        str,
        option(
            "The camera's intrinsics; auto: by EXIF, else the map's own.",
            metavar="MODEL,PARAM,…|auto",
        ),
    ] = AUTO,
    which: Which,
    extractor: Annotated[
        str | None,
        option(
            "What describes the picture: a name, an .onnx file, module:name.",
            metavar="NAME",
            shown="what the dictionary names",
        ),
    ] = None,
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE,
    words: opt.Words = None,
    cache: Annotated[
        Path | None,
        option("Where words are kept that --dictionary names by fingerprint.", metavar="FOLDER"),
    ] = None,
    follow_plan: Annotated[bool, option("Take the server's advice, within these limits.")] = False,
    save: Annotated[Path | None, option("Keep the release in this file before it is sent.")] = None,
    measured: opt.Measured,
    selection: Selection,
    account: Account,
    as_json: JsonFlag = False,
) -> None:
    """The photograph is protected as `sfumato protect` does it, charged to your own ledger unless
    --ledger names another or --no-ledger says that nothing is to be counted. Only its words are
    sent. A dictionary given by its fingerprint is fetched once from the server and checked.

    Exit code 0: localized. 1: not localized. 2: bad input, or no answer.

    Example: sfumato ask photo photo.jpg --server https://maps.example --map town --epsilon 8
    --camera SIMPLE_PINHOLE,500,256,256
    """
    from sfumato.client import Prepared
    from sfumato.client.pins import own_words
    from sfumato.client.release_cost import release_cost
    from sfumato.dictionary import Dictionary
    from sfumato.features import load_image
    from sfumato.features.extractors import extractor_name
    from sfumato.features.h5 import extractor_of_file, read_strongest
    from sfumato.features.image import MAX_SIFT_PIXELS

    if photo.is_file():
        refuse_release(photo, "ask release")
    account.check()
    gravity = measured.read()
    wanted = which.of(photo)
    if wanted.several:
        raise InvalidInput(
            "several pictures are given; `sfumato localize SOURCE --server URL -o poses.txt` asks "
            "about all of them."
        )
    picture = wanted.items[0]
    made_by = None if extractor is None else find_extractor(extractor)
    image: Any
    if picture.is_features:
        made_by = extractor_of_file(picture.path, extractor)
        image = read_strongest(picture.path, picture.name, extractor=made_by)
        size = image.image_size
    else:
        image = load_image(photo, max_pixels=MAX_SIFT_PIXELS)
        size = (image.shape[1], image.shape[0])
    public = own_words(dictionary)
    if isinstance(public, Dictionary):
        refuse_given("keeps words that are fetched, and these are here", "cache")
        if made_by is not None and extractor_name(made_by) != public.extractor:
            raise Mismatch(no_words(extractor_name(made_by), public.extractor))
    here = public if isinstance(public, Dictionary) else None
    observed = Observed()
    level = here
    if here is not None:
        level = words_to_send(here, words, epsilon, subset_size)
    filters = selection.filters(level, observed, made_by)
    ledger = account.open()
    facts: dict[str, Any] = {"server": server.server, "map": question.map}
    with question.client(
        server,
        epsilon=epsilon,
        subset_size=subset_size if was_given("subset_size") else None,  # else a plan may choose
        num_words=words,
        dictionary=dictionary,
        cache=cache,
        filters=filters,
        extractor=made_by,
        ledger=ledger,
    ) as client:
        known = camera_of(picture, size, camera, lambda: client.find_map().usual_camera)
        assert known is not None
        facts["camera_source"] = known.source
        if follow_plan:
            client.follow_plan(say=lambda text: _tell_plan(text, facts))
        begin_output(as_json, announcement(ledger))
        drawn: list[Prepared] = []

        def tell(prepared: Prepared) -> None:
            drawn.append(prepared)
            event, facts["sent"] = release_cost(
                prepared.release, observed.most_seen_by, observed.found
            )
            _add_gravity(facts, gravity)
            if observed.hidden:
                facts["hidden"] = suppression_facts(observed.hidden[0])
            facts["ledger"] = ledger_facts(ledger, event)
            shown = ledger_text(facts["ledger"], event)
            _tell_leaving(facts, shown, as_json, observed.most_seen_by is not None)

        result = client.localize(image, known.camera, save=save, tell=tell, gravity=gravity)
        if known.is_guess and not result.localized and drawn:
            # The same words with another camera beside them: nothing is drawn again.
            again = Query("", drawn[0].release, known)
            result = ask_one(
                again,
                lambda release, _: client.send(
                    Prepared(release, release.to_bytes()), gravity=gravity
                ),
            )
    tell_localization(result, as_json, facts)


def ask_release(
    release: opt.Release,
    server: Server,
    question: Question,
    measured: opt.Measured,
    camera: opt.Camera = None,
    as_json: JsonFlag = False,
) -> None:
    """The release was drawn and charged before: it is sent as it is, and costs nothing more.

    Exit code 0: localized. 1: not localized. 2: bad input, or no answer.

    Example: sfumato ask release out.sfr --server https://maps.example --map town
    """
    from sfumato.client import Prepared
    from sfumato.client.release_cost import release_cost

    gravity = measured.read()
    sent = read_release(release, purpose="localize")
    if camera is not None:
        if sent.camera is not None:
            raise InvalidInput("the release carries a camera already; leave out --camera.")
        # The same words with intrinsics beside them: nothing is drawn again.
        sent = replace(sent, camera=opt.parse_camera(camera, sent.image_size))
    facts: dict[str, Any] = {"server": server.server, "map": question.map}
    facts["sent"] = release_cost(sent)[1]
    _add_gravity(facts, gravity)
    with question.client(server) as client:
        uncharged = "nothing is charged now: the release was charged when it was drawn"
        _tell_leaving(facts, {"ledger": uncharged}, as_json)
        result = client.send(Prepared(sent, sent.to_bytes()), gravity=gravity)
    tell_localization(result, as_json, facts)


def _add_gravity(facts: dict[str, Any], gravity: Gravity | None) -> None:
    """What leaves beside the release, and is not protected."""
    if gravity is not None:
        facts["sent"]["not_protected"].append(TILT)
        facts["sent"]["gravity"] = {
            "in_camera": list(gravity.in_camera),
            "error_deg": gravity.error_deg,
        }


def _tell_plan(text: str, facts: dict[str, Any]) -> None:
    facts["plan"] = text
    note(text)


def _tell_leaving(
    facts: dict[str, Any], counted: dict[str, str], as_json: bool, with_object: bool = False
) -> None:
    """Say what is about to leave, before it does."""
    if not as_json:
        shown = release_text(facts["sent"], facts.get("hidden"), with_object=with_object)
        emit_facts(f"asking {facts['server']}", shown | counted)
