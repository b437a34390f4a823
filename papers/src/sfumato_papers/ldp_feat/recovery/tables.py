"""LDP-FEAT, Tables 1, S2 and S3: `sfumato experiment recover`, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, show, table_of
from sfumato_papers.ldp_feat.attacker_knowledge import load_pictures, load_words
from sfumato_papers.ldp_feat.recovery.inliers import run_inliers
from sfumato_papers.ldp_feat.recovery.lifts import (
    CLOSE,
    EXACT,
    TOP,
    Settings,
    open_results,
    read_results,
    run_recover,
)
from sfumato_papers.ldp_feat.recovery.rows import summarise
from sfumato_papers.ldp_feat.recovery.words import run_posterior, run_repeats

Record = dict[str, Any]

#: SSIM of pictures painted from recovered descriptors, by m [ldp-feat, Table 1]: another measure,
#: on other pictures; only the order can be compared.
PAPER_SSIM = {
    "nearest": {2: 0.3611, 4: 0.3273, 8: 0.2481, 16: 0.2457},
    "clustering": {2: 0.5919, 4: 0.5652, 8: 0.5160, 16: 0.4122},
    "database": {2: 0.6566, 4: 0.6543, 8: 0.6385, 16: 0.5882},
}


def _near(top: int) -> Callable[[Record], str]:
    """The share among the N nearest, with the paper's in brackets."""
    return lambda row: (
        f"{show(row['near_forming'][str(top)], '.1p')} "
        f"({show((row['near_forming_paper'] or {}).get(top), '.1f')})"
    )


def _paper_ssim(row: Record) -> str:
    if row["strategy"] != "sub-hybrid":
        return ""
    return show(PAPER_SSIM.get(row["attack"], {}).get(row["dimension"]), ".4f")


def _shared(row: Record) -> str:
    return f"{show(row['words_shared'], '.1p')} ({show(row['words_shared_expected'], '.1p')})"


#: Every table by its rows' name: title, columns, and what must be known to read it.
TABLES: dict[str, tuple[str, tuple[tuple[Any, ...], ...], tuple[str, ...]]] = {
    "lifts": ("Lifted descriptors recovered", (
        ("strategy", "strategy"), ("attack", "attack"), ("m", "dimension"),
        ("descriptors", "descriptors", ","), (f"% exact (<{EXACT:g})", "exact", ".1p"),
        (f"% within {CLOSE:g}", "close", ".1p"), ("median error", "median_error", ".3f"),
        ("certified", lambda row: row["certified"] or None),
        ("of them wrong", lambda row: row["certified_wrong"] if row["certified"] else None),
        ("ms/descriptor", "seconds_per_descriptor", ".1f", 1e3), ("paper's SSIM", _paper_ssim),
    ), (
        "Errors are distances between unit descriptors. Milliseconds on one core (sum of all). "
        "Lifting has no ε.",
        "The paper measures the picture a network paints, on other photographs: compare the order.",
    )),
    "assumptions": ("Assumptions of the published attacks [ldp-feat, S2 and S3]", (
        ("strategy", "strategy"), ("m", "dimension"), ("subspaces", "subspaces", ","),
        ("% all words found", "all_words_found", ".2p"),
        ("% a wrong one", "wrong_words_found", ".2p"),
        *((f"S2 N={top} (paper)", _near(top)) for top in TOP), ("others", "others", ",.0f"),
        ("% words shared (expected)", _shared), ("% no one meets D", "none_met", ".1p"),
        ("% d untouched", "d_not_touched", ".1p"), ("% d farthest", "d_farthest", ".1p"),
        ("paper's S3", "no_collision_paper", ".2f"),
    ), (
        "S2: of the N database descriptors nearest to D (its own words left out), % that are "
        "clearly nearest to one maker of D (ratio .8).",
        "S3: the paper does not define its collision. untouched: no subspace that meets D comes "
        "within .1 of d; farthest: d is farther from them than every word of D, which the "
        "clustering attack needs. Data and words differ from the paper's.",
    )),
    "words": ("True words guessed from one LDP release, and what ε allows", (
        ("prior", "prior"), ("|K|", "num_words", ","), ("ω", "subset_size"), ("ε", "epsilon", "g"),
        ("descriptors", "descriptors", ","), ("% right", "accuracy", ".2p"),
        ("99.9 % interval", lambda row: "–".join(show(end, ".2p") for end in row["interval"])),
        ("% believed", "believed", ".2p"), ("% bound", "bound", ".2p"),
        ("within", lambda row: "yes" if row["is_within_bound"] else "NO"),
    ), (
        "ε is per descriptor; N descriptors compose to N·ε. Positions, N, camera and pose are not "
        "protected.",
        "Bounds: uniform p/ω; frequency: the best possible for words as frequent as in these "
        "pictures; context: p + (1 − p)·(share right by context alone), or less.",
        "believed: what the attacker thinks; above '% right' where its model is too sure.",
    )),
    "repeats": ("Repeated LDP releases of one picture", (
        ("releases drawn", "mechanism"), ("releases", "releases"), ("|K|", "num_words", ","),
        ("ω", "subset_size"), ("ε", "epsilon", "g"), ("descriptors", "descriptors", ","),
        ("% most frequent = true", "most_frequent_is_true", ".1p"),
        ("% best guess right", "right", ".1p"), ("% believed", "believed", ".1p"),
    ), ()),
    "repeated_lifts": ("Two lifts of one picture (sub-hybrid), intersected", (
        ("m", "dimension"), ("descriptors", "descriptors", ","), ("% exact", "exact", ".2p"),
        ("certified", "certified"), ("of them wrong", "certified_wrong"),
    ), ()),
    "inliers": ("What the server's own localization reveals", (
        ("release", "mechanism"), ("pictures", "pictures"), ("localized", "localized"),
        ("% keypoints that are inliers", "share_revealed", ".1p"),
        ("% of them: word right", "word_right", ".1p"),
        (f"% of them: within {CLOSE:g}", "close", ".1p"), ("median error", "median_error", ".3f"),
    ), ()),
}  # fmt: skip


def report_lines(problem: Record, tables: dict[str, list[Record]]) -> list[str | Table]:
    """All tables that have rows, each with what must be known to read it."""
    lines: list[str | Table] = [
        f"{problem['data']}: {problem['pictures']} photographs, at most {problem['keypoints']} "
        f"keypoints of each attacked. W: {problem['words']:,} words "
        f"({problem['words_provenance']}); Z: {problem['public']:,} descriptors of other pictures.",
        "Releases are reproducible (seeded), not for sending.",
    ]
    for name, (title, columns, notes) in TABLES.items():
        if name == "inliers":
            lines += _ledger(tables["ledger"])
        if tables[name]:
            left = (0, 1) if name == "lifts" else (0,)
            lines += ["", title, table_of(tables[name], *columns, left=left), *notes]
    return lines


def _ledger(rows: list[Record]) -> list[str]:
    return [
        line
        for row in rows
        for line in (
            "",
            f"Ledger with a cap of two pictures: {row['fewest_sent']} to {row['most_sent']} "
            f"releases left the device for each of {row['pictures']} pictures; then it refused.",
        )
    ]


def _run(settings: Settings, path: Path) -> None:
    pictures = load_pictures(settings.data, num_pictures=settings.num_pictures)
    words, strangers = load_words(settings.database, settings.public, settings.words)
    file = open_results(path, pictures, words, strangers, settings)
    if "lifts" in settings.parts:
        run_recover(pictures, words, strangers, settings, file)
    if "words" in settings.parts:
        folders = settings.public or tuple(
            Path(one) for one in settings.database if Path(one).is_dir()
        )
        if not folders:
            raise InvalidInput("frequencies of words need pictures; give --public.")
        learned = [*load_pictures(folders, num_pictures=100_000).values()]
        ldp = Dictionary.load(settings.dictionary)
        run_posterior(pictures, learned, ldp, settings, file)
    if "repeats" in settings.parts:
        run_repeats(pictures, words, settings, file)
    if "inliers" in settings.parts and settings.scenes:
        epsilons = sorted(settings.epsilons)[-2:]
        ldp = Dictionary.load(settings.dictionary)
        run_inliers(settings.scenes, path.parent, ldp, epsilons, 4, file)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    records = read_results(path)
    tables = summarise(records)
    lines = [*report_lines(records[0], tables), "", f"results: {path}"]
    return Report(lines, {"problem": records[0], **tables, "results": str(path)})


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-recover",
    file="recoveries.jsonl",
    writes="Folder for results (and the scenes' map).",
)
