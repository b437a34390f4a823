"""`sfumato classify protect`: a file of pictures becomes a file of releases, one for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.cli import options as opt
from sfumato.cli.accounting import Account, announcement, ledger_facts, ledger_text
from sfumato.cli.code_files import read_codes, read_labels
from sfumato.cli.command import applies
from sfumato.cli.options import argument, option
from sfumato.cli.output import JsonFlag, begin_output
from sfumato.cli.protect import (
    CHARGED,
    ExplainFlag,
    OutputOption,
    check_request,
    tell_written,
)
from sfumato.core.accounting import DELTA
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import Release
from sfumato.core.spending import epsilon_per_answer
from sfumato.core.storage import NewFile
from sfumato.core.streams import join_releases
from sfumato.core.types import PrivacyEvent
from sfumato.core.wire import largest_size
from sfumato.device.explain import guess_sentence, short
from sfumato.device.protect import keep_release


@applies(CHARGED | {"--total-epsilon": "not --epsilon"})
def run(
    pictures: Annotated[Path, argument("FILE", "Pictures, or codes (idx, .npy, .npz).")],
    *,
    epsilon: Annotated[
        float | None, option("ε of each code that is sent.", shown="from --total-epsilon")
    ] = None,
    total_epsilon: Annotated[
        float | None,
        option(
            "Instead: E at δ = 1e-6 that all codes of a picture may have together.",
            metavar="E",
            shown="from --epsilon",
        ),
    ] = None,
    output: OutputOption = None,
    encoder: opt.Encoder = None,
    values: Annotated[
        int | None, option("d, the values a code can have, where FILE holds codes.")
    ] = None,
    num_sent: Annotated[
        int | None, option("Codes sent of each picture, at random.", "--send", shown="all")
    ] = None,
    labels: opt.Labels = None,
    account: Account,
    explain_only: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Pictures are encoded first with --encoder; every code is answered at random, so that a
    server learns from many of them and little from one. --labels are sent as they are.

    What is written with -o is charged first, every picture of it, as `sfumato protect` does.

    Example: sfumato classify protect pictures.npy --encoder encoder.npz --epsilon 1 -o out.sfr
    """
    check_request(output, explain_only, account)
    codes, num_values, encoder_name = read_codes(pictures, encoder, values)
    if not len(codes):
        raise InvalidInput("there is no picture in this file; nothing was written.")
    sent_labels = None if labels is None else read_labels(labels, len(codes))
    if epsilon is None:
        if total_epsilon is None:
            raise InvalidInput("give --epsilon for each code, or --total-epsilon for a picture.")
        sent = codes.shape[1] if num_sent is None else num_sent
        epsilon = epsilon_per_answer(total_epsilon, sent, num_values=num_values)
    mechanism = RandomizedResponse(epsilon, num_values, num_sent)
    event = mechanism.event(codes[0])
    facts = _facts(event, codes, num_values, encoder_name) | {"labels_sent": labels is not None}
    counted: dict[str, str] = {}
    if output is not None:
        mechanism.event(codes.reshape(-1))  # all codes are looked at before anything is charged
        size = largest_size("codes", event.num_units, codes.shape[1], num_values)
        with NewFile(output) as file:
            file.reserve(size * len(codes))
            ledger = account.open()
            begin_output(as_json, announcement(ledger))
            if ledger is not None:
                ledger.charge(event, pictures=len(codes))
            data = join_releases(_releases(mechanism, codes, encoder_name, sent_labels))
            keep_release(file, data)
        facts["bytes"] = len(data)
        facts["ledger"] = ledger_facts(ledger, event, len(codes))
        counted = ledger_text(facts["ledger"], event, len(codes))
    tell_written(facts, _text(facts) | counted, output, as_json)


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
    event: PrivacyEvent, codes: NDArray[Any], num_values: int, encoder: str
) -> dict[str, Any]:
    return {
        "mechanism": event.mechanism,
        "pictures": len(codes),
        "encoder": encoder,
        "codes_per_picture": codes.shape[1],
        "codes_sent_per_picture": event.num_units,
        "values_per_code": num_values,
        "unit": event.unit,
        "epsilon_per_unit": event.epsilon,
        "epsilon_per_picture": event.picture_epsilon,
        **_whole_picture(event),
        "private": event.is_private,
        "not_protected": list(event.not_protected),
    }


def _whole_picture(event: PrivacyEvent) -> dict[str, Any]:
    """What all codes of a picture promise together; nothing where they are sent without noise."""
    if event.composition is None or not event.is_private:
        return {}
    return {
        "exact_epsilon_per_picture": event.composition.epsilon(),
        "delta": DELTA,
        "advantage_per_picture": event.composition.advantage,
    }


def _text(facts: dict[str, Any]) -> dict[str, str]:
    sent, all_codes = facts["codes_sent_per_picture"], facts["codes_per_picture"]
    size = f"{facts['bytes']:,} bytes, " if "bytes" in facts else ""
    return {
        "leaves the device": f"{size}{facts['pictures']:,} pictures, {sent:,} of {all_codes:,} "
        f"codes each, {facts['values_per_code']} values a code",
        **_guarantee_text(facts),
        "labels": "sent as they are" if facts["labels_sent"] else "not sent",
        "not protected": ", ".join(facts["not_protected"]),
    }


def _guarantee_text(facts: dict[str, Any]) -> dict[str, str]:
    epsilon, total = facts["epsilon_per_unit"], facts["epsilon_per_picture"]
    if epsilon is None:
        return {"guarantee": "none: the codes are sent without noise"}
    return {
        "guarantee": f"ε = {epsilon:g} for {facts['unit']}, {total:g} for a whole picture",
        "whole picture": f"exactly, E = {short(facts['exact_epsilon_per_picture'])} except with "
        f"probability {facts['delta']:g}; who guesses which of two pictures it was "
        f"{guess_sentence(facts['advantage_per_picture'])}",
    }
