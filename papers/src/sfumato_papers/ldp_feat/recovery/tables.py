"""LDP-FEAT, Tables 1, S2 and S3: `sfumato experiment recover`, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, crossed, show, table_of
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


def _shared(row: Record) -> str:
    return f"{show(row['words_shared'], '.1p')} ({show(row['words_shared_expected'], '.1p')})"


def _lifts(rows: list[Record]) -> list[str | Table]:
    across = ("m", "dimension")
    certified, wrong = (sum(row[name] for row in rows) for name in ("certified", "certified_wrong"))
    alone = [row for row in rows if row["strategy"] == rows[-1]["strategy"]]
    return [
        crossed(
            rows,
            (("strategy", "strategy"), ("attack", "attack"),
             ("descriptors", "descriptors", ",")),
            across,
            ("% exact", "exact", ".0p"), (f"% within {CLOSE:g}", "close", ".0p"),
            ("median", "median_error", ".2f"),
            left=(0, 1), fold=("descriptors",),
        ),
        f"Errors are distances between unit descriptors; exact: below {EXACT:g}. Lifting has no ε.",
        f"{certified:,} answers were certified, {wrong} of them wrong.",
        "",
        f"Cost and the paper's figures, {rows[-1]['strategy']}",
        crossed(
            alone, (("attack", "attack"),), across,
            ("ms", "seconds_per_descriptor", ".1f", 1e3),
            ("paper's SSIM",
             lambda row: PAPER_SSIM.get(row["attack"], {}).get(row["dimension"]), ".3f"),
        ),
        "ms: of one core for a descriptor. The paper lifts sub-hybrid and measures the picture a",
        "network paints, on other photographs: compare the order.",
    ]  # fmt: skip


def _assumptions(rows: list[Record]) -> list[str | Table]:
    columns = (
        ("strategy", "strategy"), ("m", "dimension"), ("subspaces", "subspaces", ","),
        ("% all words found", "all_words_found", ".2p"),
        ("% a wrong one", "wrong_words_found", ".2p"),
        *((f"S2 N={top}", _near(top)) for top in TOP), ("others", "others", ",.0f"),
        ("shared", _shared), ("unmet", "none_met", ".1p"),
        ("untouched", "d_not_touched", ".1p"), ("farthest", "d_farthest", ".1p"),
        ("S3", "no_collision_paper", ".2f"),
    )  # fmt: skip
    fold = ("subspaces", "% all words found", "% a wrong one")
    return [
        table_of(rows, *columns, fold=fold),
        "S2: of the N database descriptors nearest to D (its own words left out), % that are",
        "clearly nearest to one maker of D (ratio .8); the paper's in brackets. others: subspaces",
        "of the picture. shared: % of words that another of them has, and what is expected.",
        "unmet: % that no other meets. untouched: no subspace that meets D comes within .1 of d.",
        "farthest: d is farther from them than every word of D, which the clustering attack needs.",
        "S3: the paper's, which does not define its collision. Its data and words are others.",
    ]


def _words(rows: list[Record]) -> list[str | Table]:
    counts = {row["prior"]: f"{row['descriptors']:,} ({row['prior']})" for row in rows}
    return [
        crossed(
            rows,
            (("|K|", "num_words", ","), ("ω", "subset_size"), ("ε", "epsilon", "g")),
            ("prior", "prior"),
            ("", _guess),
            left=(),
        ),
        "Cells: % right [99.9 % interval] ≤ bound; ! where the whole interval lies above the "
        "bound.",
        f"Descriptors: {', '.join(counts.values())}.",
        "ε is per descriptor; N descriptors compose to N·ε. Positions, N, camera and pose are not",
        "protected. Bounds: uniform p/ω; frequency: the best possible for words as frequent as in",
        "these pictures; context: p + (1 − p)·(share right by context alone), or less.",
    ]


def _guess(row: Record) -> str:
    right, bound, low, high = (
        show(value, ".2p") for value in (row["accuracy"], row["bound"], *row["interval"])
    )
    return f"{right} [{low}–{high}] ≤ {bound}" + ("" if row["is_within_bound"] else " !")


def _repeats(rows: list[Record]) -> list[str | Table]:
    side = (("drawn", "mechanism"), ("share in %", "what"), ("|K|", "num_words", ","),
            ("ω", "subset_size"), ("ε", "epsilon", "g"),
            ("descriptors", "descriptors", ","))  # fmt: skip
    asked = {"most frequent word is the true one": "most_frequent_is_true",
             "best guess right": "right"}  # fmt: skip
    cells = [{**row, "what": what, "share": row[name]}
             for what, name in asked.items() for row in rows]  # fmt: skip
    return [
        crossed(
            cells, side, ("releases", "releases"), ("", "share", ".1p"),
            left=(0, 1), fold=("|K|", "ω", "ε", "descriptors"),
        ),
        "ε is per descriptor and per release.",
    ]  # fmt: skip


def _repeated_lifts(rows: list[Record]) -> list[str | Table]:
    return [table_of(
        rows, ("m", "dimension"), ("descriptors", "descriptors", ","), ("% exact", "exact", ".2p"),
        ("certified", "certified"), ("of them wrong", "certified_wrong"), left=(),
    )]  # fmt: skip


def _inliers(rows: list[Record]) -> list[str | Table]:
    return [
        table_of(
            rows, ("release", "mechanism"), ("pictures", "pictures"), ("localized", "localized"),
            ("% inliers", "share_revealed", ".1p"), ("% word right", "word_right", ".1p"),
            (f"% within {CLOSE:g}", "close", ".1p"), ("median error", "median_error", ".3f"),
        ),
        "inliers: of all keypoints; the columns behind it are of the inliers.",
    ]  # fmt: skip


#: Every table by its rows' name: title, and what makes it with what must be known to read it.
TABLES: dict[str, tuple[str, Callable[[list[Record]], list[str | Table]]]] = {
    "lifts": ("Lifted descriptors recovered", _lifts),
    "assumptions": ("Assumptions of the published attacks [ldp-feat, S2 and S3]", _assumptions),
    "words": ("True words guessed from one LDP release, and what ε allows", _words),
    "repeats": ("Repeated LDP releases of one picture", _repeats),
    "repeated_lifts": ("Two lifts of one picture (sub-hybrid), intersected", _repeated_lifts),
    "inliers": ("What the server's own localization reveals", _inliers),
}


def report_lines(problem: Record, tables: dict[str, list[Record]]) -> list[str | Table]:
    """All tables that have rows, each with what must be known to read it."""
    lines: list[str | Table] = [
        f"{problem['data']}: {problem['pictures']} photographs, at most {problem['keypoints']} "
        "keypoints of each attacked.",
        f"W: {problem['words']:,} words ({problem['words_provenance']}); Z: "
        f"{problem['public']:,} descriptors of other pictures.",
        "Releases are reproducible (seeded), not for sending.",
    ]
    for name, (title, make) in TABLES.items():
        if name == "inliers":
            lines += _ledger(tables["ledger"])
        if tables[name]:
            lines += ["", title, *make(tables[name])]
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
