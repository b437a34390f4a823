"""LDP-FEAT, Tables 1, S2 and S3: `sfumato experiment recover`, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress
from sfumato.dictionary import Dictionary
from sfumato_papers.attacker_knowledge import load_pictures, load_words
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, percent, show
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


def report_lines(problem: Record, tables: dict[str, list[Record]]) -> list[str | Table]:
    """All tables that have rows, each with what must be known to read it."""
    lines: list[str | Table] = [
        f"{problem['data']}: {problem['pictures']} photographs, at most {problem['keypoints']} "
        f"keypoints of each attacked. W: {problem['words']:,} words "
        f"({problem['words_provenance']}); Z: {problem['public']:,} descriptors of other pictures.",
        "Releases are reproducible (seeded), not for sending.",
    ]
    makers: dict[str, Callable[[list[Record]], list[str | Table]]] = {
        "lifts": _lifts,
        "assumptions": _assumptions,
        "words": _words,
        "repeats": _repeats,
        "repeated_lifts": _repeated_lifts,
        "ledger": _ledger,
        "inliers": _inliers,
    }
    for name, make in makers.items():
        if tables[name]:
            lines += ["", *make(tables[name])]
    return lines


def _lifts(rows: list[Record]) -> list[str | Table]:
    heads = ["strategy", "attack", "m", "descriptors", f"% exact (<{EXACT:g})",
             f"% within {CLOSE:g}", "median error", "certified", "of them wrong",
             "ms/descriptor", "paper's SSIM"]  # fmt: skip
    body = [
        [
            row["strategy"],
            row["attack"],
            str(row["dimension"]),
            f"{row['descriptors']:,}",
            percent(row["exact"]),
            percent(row["close"]),
            f"{row['median_error']:.3f}",
            str(row["certified"]) if row["certified"] else "–",
            str(row["certified_wrong"]) if row["certified"] else "–",
            f"{1e3 * row['seconds_per_descriptor']:.1f}",
            _paper(row),
        ]
        for row in rows
    ]
    return [
        "Lifted descriptors recovered",
        Table(heads, body, left=(0, 1)),
        "Errors are distances between unit descriptors. Milliseconds on one core (sum of all). "
        "Lifting has no ε.",
        "The paper measures the picture a network paints, on other photographs: compare the order.",
    ]


def _paper(row: Record) -> str:
    if row["strategy"] != "sub-hybrid":
        return ""
    return show(PAPER_SSIM.get(row["attack"], {}).get(row["dimension"]), ".4f")


def _assumptions(rows: list[Record]) -> list[str | Table]:
    heads = ["strategy", "m", "subspaces", "% all words found", "% a wrong one",
             *(f"S2 N={top} (paper)" for top in TOP), "others", "% words shared (expected)",
             "% no one meets D", "% d untouched", "% d farthest", "paper's S3"]  # fmt: skip
    body = [
        [
            row["strategy"],
            str(row["dimension"]),
            f"{row['subspaces']:,}",
            percent(row["all_words_found"], 2),
            percent(row["wrong_words_found"], 2),
            *(_near(row, top) for top in TOP),
            f"{row['others']:,.0f}",
            f"{percent(row['words_shared'])} ({percent(row['words_shared_expected'])})",
            percent(row["none_met"]),
            percent(row["d_not_touched"]),
            percent(row["d_farthest"]),
            show(row["no_collision_paper"], ".2f"),
        ]
        for row in rows
    ]
    return [
        "Assumptions of the published attacks [ldp-feat, S2 and S3]",
        Table(heads, body),
        "S2: of the N database descriptors nearest to D (its own words left out), % that are "
        "clearly nearest to one maker of D (ratio .8).",
        "S3: the paper does not define its collision. untouched: no subspace that meets D comes "
        "within .1 of d; farthest: d is farther from them than every word of D, which the "
        "clustering attack needs. Data and words differ from the paper's.",
    ]


def _near(row: Record, top: int) -> str:
    paper = (row["near_forming_paper"] or {}).get(top)
    return percent(row["near_forming"][str(top)]) + (f" ({paper:.1f})" if paper else " (–)")


def _words(rows: list[Record]) -> list[str | Table]:
    heads = ["prior", "|K|", "ω", "ε", "descriptors", "% right", "99.9 % interval", "% believed",
             "% bound", "within"]  # fmt: skip
    body = [
        [
            row["prior"],
            f"{row['num_words']:,}",
            str(row["subset_size"]),
            f"{row['epsilon']:g}",
            f"{row['descriptors']:,}",
            percent(row["accuracy"], 2),
            f"{percent(row['interval'][0], 2)}–{percent(row['interval'][1], 2)}",
            percent(row["believed"], 2),
            percent(row["bound"], 2),
            "yes" if row["is_within_bound"] else "NO",
        ]
        for row in rows
    ]
    return [
        "True words guessed from one LDP release, and what ε allows",
        Table(heads, body),
        "ε is per descriptor; N descriptors compose to N·ε. Positions, N, camera and pose are not "
        "protected.",
        "Bounds: uniform p/ω; frequency: the best possible for words as frequent as in these "
        "pictures; context: p + (1 − p)·(share right by context alone), or less.",
        "believed: what the attacker thinks; above '% right' where its model is too sure.",
    ]


def _repeats(rows: list[Record]) -> list[str | Table]:
    heads = ["releases drawn", "releases", "|K|", "ω", "ε", "descriptors",
             "% most frequent = true", "% best guess right", "% believed"]  # fmt: skip
    body = [
        [
            row["mechanism"],
            str(row["releases"]),
            f"{row['num_words']:,}",
            str(row["subset_size"]),
            f"{row['epsilon']:g}",
            f"{row['descriptors']:,}",
            percent(row["most_frequent_is_true"]),
            percent(row["right"]),
            percent(row["believed"]),
        ]
        for row in rows
    ]
    return ["Repeated LDP releases of one picture", Table(heads, body)]


def _repeated_lifts(rows: list[Record]) -> list[str | Table]:
    heads = ["m", "descriptors", "% exact", "certified", "of them wrong"]
    body = [
        [
            str(row["dimension"]),
            f"{row['descriptors']:,}",
            percent(row["exact"], 2),
            str(row["certified"]),
            str(row["certified_wrong"]),
        ]
        for row in rows
    ]
    return ["Two lifts of one picture (sub-hybrid), intersected", Table(heads, body)]


def _ledger(rows: list[Record]) -> list[str | Table]:
    row = rows[0]
    return [
        f"Ledger with a cap of two pictures: {row['fewest_sent']} to {row['most_sent']} releases "
        f"left the device for each of {row['pictures']} pictures; then it refused."
    ]


def _inliers(rows: list[Record]) -> list[str | Table]:
    heads = ["release", "pictures", "localized", "% keypoints that are inliers",
             "% of them: word right", f"% of them: within {CLOSE:g}", "median error"]  # fmt: skip
    body = [
        [
            row["mechanism"],
            str(row["pictures"]),
            str(row["localized"]),
            percent(row["share_revealed"]),
            percent(row["word_right"]),
            percent(row["close"]),
            show(row["median_error"], ".3f"),
        ]
        for row in rows
    ]
    return ["What the server's own localization reveals", Table(heads, body)]


def _run(settings: Settings, path: Path, progress: Progress) -> None:
    pictures = load_pictures(settings.data, num_pictures=settings.num_pictures, progress=progress)
    words, strangers = load_words(
        settings.database, settings.public, settings.words, progress=progress
    )
    file = open_results(path, pictures, words, strangers, settings)
    if "lifts" in settings.parts:
        run_recover(pictures, words, strangers, settings, file, progress=progress)
    if "words" in settings.parts:
        folders = settings.public or tuple(
            Path(one) for one in settings.database if Path(one).is_dir()
        )
        if not folders:
            raise InvalidInput("frequencies of words need pictures; give --public.")
        learned = [*load_pictures(folders, num_pictures=100_000, progress=progress).values()]
        ldp = Dictionary.load(settings.dictionary)
        run_posterior(pictures, learned, ldp, settings, file, progress=progress)
    if "repeats" in settings.parts:
        run_repeats(pictures, words, settings, file, progress=progress)
    if "inliers" in settings.parts and settings.scenes:
        epsilons = sorted(settings.epsilons)[-2:]
        ldp = Dictionary.load(settings.dictionary)
        run_inliers(settings.scenes, path.parent, ldp, epsilons, 4, file, progress=progress)


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
