"""`sfumato protect --codes`: a file of pictures becomes a file of releases, one for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.cli.accounting import announcement, ledger_facts, ledger_text, open_account
from sfumato.cli.code_files import read_codes, read_labels
from sfumato.cli.output import begin_output, emit_facts, emit_json
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import Release
from sfumato.core.storage import NewFile
from sfumato.core.streams import join_releases
from sfumato.core.types import PrivacyEvent
from sfumato.core.wire import largest_size
from sfumato.device.protect import keep_release


@dataclass(frozen=True)
class CodesRequest:
    """What was asked for, beside the file of pictures."""

    epsilon: float | None
    encoder: Path | None
    values: int | None
    num_sent: int | None
    labels: Path | None
    output: Path | None
    ledger: Path | None
    no_ledger: bool
    session: str
    cap: float | None


def protect_codes(pictures: Path, request: CodesRequest, *, as_json: bool) -> None:
    """Encode, charge every picture, answer, write all releases behind each other."""
    if request.epsilon is None:
        raise InvalidInput("--codes needs --epsilon, the ε of each code that is sent.")
    codes, num_values, encoder = read_codes(pictures, request.encoder, request.values)
    if not len(codes):
        raise InvalidInput("there is no picture in this file; nothing was written.")
    labels = None if request.labels is None else read_labels(request.labels, len(codes))
    mechanism = RandomizedResponse(request.epsilon, num_values, request.num_sent)
    event = mechanism.event(codes[0])
    facts = _facts(event, len(codes), codes.shape[1], num_values, encoder, labels is not None)
    text: dict[str, str] = {}
    if request.output is not None:
        mechanism.event(codes.reshape(-1))  # all codes are looked at before anything is charged
        size = largest_size("codes", event.num_units, codes.shape[1], num_values)
        with NewFile(request.output) as file:
            file.reserve(size * len(codes))
            account = open_account(request.ledger, request.no_ledger, request.session, request.cap)
            begin_output(as_json, announcement(account))
            if account is not None:
                account.charge(event, pictures=len(codes))
            data = join_releases(_releases(mechanism, codes, encoder, labels))
            keep_release(file, data)
        facts["bytes"] = len(data)
        facts["output"] = str(request.output)
        facts["ledger"] = ledger_facts(account, event, len(codes))
        text = ledger_text(facts["ledger"], event, len(codes))
    if as_json:
        emit_json(facts)
        return
    title = f"wrote {request.output}" if request.output else "nothing was written"
    emit_facts(title, _text(facts) | text)


def _releases(
    mechanism: RandomizedResponse,
    codes: NDArray[Any],
    encoder: str,
    labels: NDArray[np.int64] | None,
) -> Iterator[Release]:
    rng = SecureRandom()
    for i, row in enumerate(codes):
        label = None if labels is None else int(labels[i])
        yield mechanism.release(row, rng=rng, encoder=encoder, label=label)


def _facts(
    event: PrivacyEvent, count: int, num_codes: int, num_values: int, encoder: str, labelled: bool
) -> dict[str, Any]:
    return {
        "mechanism": event.mechanism,
        "pictures": count,
        "encoder": encoder,
        "codes_per_picture": num_codes,
        "codes_sent_per_picture": event.num_units,
        "values_per_code": num_values,
        "unit": event.unit,
        "epsilon_per_unit": event.epsilon,
        "epsilon_per_picture": event.picture_epsilon,
        "private": event.is_private,
        "labels_sent": labelled,
        "not_protected": list(event.not_protected),
    }


def _text(facts: dict[str, Any]) -> dict[str, str]:
    epsilon, total = facts["epsilon_per_unit"], facts["epsilon_per_picture"]
    sent, all_codes = facts["codes_sent_per_picture"], facts["codes_per_picture"]
    size = f"{facts['bytes']:,} bytes, " if "bytes" in facts else ""
    return {
        "leaves the device": f"{size}{facts['pictures']:,} pictures, {sent:,} of {all_codes:,} "
        f"codes each, {facts['values_per_code']} values a code",
        "guarantee": "none: the codes are sent without noise"
        if epsilon is None
        else f"ε = {epsilon:g} for {facts['unit']}, {total:g} for a whole picture",
        "labels": "sent as they are" if facts["labels_sent"] else "not sent",
        "not protected": ", ".join(facts["not_protected"]),
    }
