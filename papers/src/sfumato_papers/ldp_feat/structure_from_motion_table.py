"""LDP-FEAT, Fig. S1; affine embeddings, Table 2: reconstructions on disk, judged and told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.ldp_feat.poses import center_of
from sfumato_papers.ldp_feat.structure_from_motion import FORMAT, Setting, Settings, run_sfm

Floats = NDArray[np.float64]

#: What the papers report, on other data, features and machines.
PAPER = """\
ldp-feat, Fig. S1, Fountain (its own features and dictionary of 512k words, COLMAP):
  |K| raw, ε ∞, ω 1: 11 images, 15,332 points, track 4.42, 2.82 px
  |K| 512k, ε ∞, ω 1: 11 images, 8,612 points, track 3.80, 2.39 px
  |K| 512k, ε 10, ω 4: 11 images, 983 points, track 2.86, 1.26 px
  |K| 512k, ε 10, ω 8: 11 images, 1,827 points, track 2.98, 1.35 px
  |K| 512k, ε 10, ω 16: 11 images, 2,598 points, track 3.03, 1.50 px
  |K| 512k, ε 10, ω 32: 11 images, 3,078 points, track 3.02, 1.52 px
  |K| 512k, ε 10, ω 64: 11 images, 3,242 points, track 2.89, 1.41 px
affine, Table 2, SIFT, images / points, raw → m = 2 → m = 4 (internet photos):
  Madrid Metropolis, 1,344: 400 / 28,862 → 302 / 17,232 → 227 / 11,461
  Gendarmenmarkt, 1,463: 896 / 74,348 → 783 / 64,554 → 458 / 33,291
  Tower of London, 1,576: 635 / 64,490 → 525 / 55,439 → 439 / 37,819"""

Row = dict[str, Any]


def read_rows(paths: Iterable[str | Path]) -> list[Row]:
    """Judge every file; one that is not ours is refused by name."""
    rows = []
    for path in paths:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InvalidInput(f"there is no file of predictions at {path}.") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DamagedFile(f"{path} is not a whole file of predictions: {error}.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInput(f"{path} is not a prediction of `sfumato experiment sfm`.")
        try:
            rows.append(judge(content))
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path} is damaged: {error!r}.") from None
    return rows


def judge(content: dict[str, Any]) -> Row:
    """One reconstruction, judged.

    points, long_tracks        all points; those that three or more images see
    long_tracks_by_matches     the latter without keypoints that were added by position alone
    long_tracks_by_chance      estimate of those that owe their third image to chance
    errors of cameras          in the truth's unit (metres for Strecha), after the similarity that
                               fits the centers best; None with fewer than three images or no truth
    picture_epsilon            ε·N of a picture, by composition; None without guarantee
    """
    tracks = np.array(content.get("tracks", [0]))
    points = int(tracks.sum())
    errors = camera_errors(content["poses"], content["truth"])
    setting = Setting(**content["setting"])
    keypoints = content["mean_keypoints"]
    return {
        "scene": content["scene"],
        "setting": setting,
        "seed": content["seed"],
        "images": len(content["images"]),
        "registered": len(content["poses"]),
        "mean_keypoints": keypoints,
        "points": points,
        "long_tracks": int(tracks[3:].sum()),
        "long_tracks_by_matches": content.get("long_tracks_by_matches", 0),
        "long_tracks_by_chance": content.get("long_tracks_by_chance", 0),
        "mean_track_length": float((tracks * np.arange(len(tracks))).sum() / max(points, 1)),
        "mean_reprojection_error_px": content.get("mean_reprojection_error_px", 0.0),
        "median_camera_error": None if errors is None else float(np.median(errors)),
        "max_camera_error": None if errors is None else float(errors.max()),
        "seconds": content["seconds"],
        "reason": content["reason"],
        "picture_epsilon": None if setting.epsilon is None else setting.epsilon * keypoints,
    }


def camera_errors(poses: dict[str, list[float]], truth: dict[str, list[float]]) -> Floats | None:
    """How far each center is from its true one, after the best similarity; None for too few."""
    names = sorted(set(poses) & set(truth))
    if len(names) < 3:
        return None
    found = np.stack([center_of(poses[name]) for name in names])
    wanted = np.stack([center_of(truth[name]) for name in names])
    return np.asarray(np.linalg.norm(fit_similarity(found, wanted) - wanted, axis=1))


def fit_similarity(points: Floats, targets: Floats) -> Floats:
    """points (N, 3) moved by the scale, rotation and shift that bring them nearest to targets.

    Umeyama, 1991: the rotation of the covariance's singular vectors, a mirror excluded.
    """
    middle, goal = points.mean(axis=0), targets.mean(axis=0)
    centered = points - middle
    left, size, right = np.linalg.svd((targets - goal).T @ centered)
    flip = np.array([1.0, 1.0, np.sign(np.linalg.det(left @ right)) or 1.0])
    spread = float((centered**2).sum())
    scale = float((size * flip).sum()) / spread if spread > 0 else 1.0
    return np.asarray(scale * centered @ ((left * flip) @ right).T + goal)


def report_lines(rows: Sequence[Row]) -> list[str | Table]:
    """Ours as a table, a legend, and the papers' figures."""
    raw = {row["scene"]: row["long_tracks"] for row in rows if row["setting"].method == "raw"}
    columns = [
        ("scene", "scene"), ("release", _name), ("|K|", "setting.num_words", ","),
        ("ω", "setting.subset_size"), ("ε", "setting.epsilon", "g"),
        ("N", "mean_keypoints", ",.0f"), ("ε·N", "picture_epsilon", ",.0f"),
        ("images", lambda row: f"{row['registered']}/{row['images']}"), ("points", "points", ","),
        ("≥3", "long_tracks", ","),
        ("% raw", lambda row: raw.get(row["scene"]) and row["long_tracks"] / raw[row["scene"]],
         ".0p"),
        ("matched", "long_tracks_by_matches", ","), ("chance", "long_tracks_by_chance", ","),
        ("track", "mean_track_length", ".2f"), ("px", "mean_reprojection_error_px", ".2f"),
        ("mm", "median_camera_error", ".1f", 1000),
        ("max mm", "max_camera_error", ".1f", 1000), ("s", "seconds", ".0f"),
    ]  # fmt: skip
    reasons = [f"{row['scene']}, {_name(row)}: {row['reason']}" for row in rows if row["reason"]]
    table = table_of(rows, *columns, left=(0, 1), fold=("scene", "ω", "N", "images"))
    return [table, *reasons, "", *NOTES, "", PAPER]


def _name(row: Row) -> str:
    setting = row["setting"]
    return f"lifted, m = {setting.dimension}" if setting.method == "lifted" else setting.method


NOTES = (
    "points: all, two-view tracks among them; ≥3: seen by three or more images; % raw: of the",
    "≥3 of raw descriptors with the same matcher. matched: of the ≥3, before keypoints were",
    "added to tracks by their position alone. chance: of the ≥3, about how many owe their",
    "third image to a keypoint that was there by chance. track: mean over all points.",
    "px: mean reprojection error. mm, max mm: camera centers after the best similarity, median",
    "and largest; cameras.json taken in metres.",
    "ε is per descriptor, ε·N per picture, and k views of one point of the scene cost k·ε",
    "about it; lifted has no guarantee. Positions and N are not protected. Releases are",
    "reproducible (seeded), not for sending. s: the server's seconds, matching included.",
)


def _run(settings: Settings, path: Path) -> list[Path]:
    words = Dictionary.load(settings.dictionary)
    return run_sfm(settings.data, settings, words, path)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    files = ran or sorted(path.glob("*.json"))
    if not files:
        raise InvalidInput(f"there are no predictions (*.json) in {path}.")
    rows = read_rows(files)
    facts = {"rows": rows, "predictions": files}
    return Report(report_lines(rows), facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-sfm",
    file="predictions",
    writes="Folder for features and predictions.",
    evaluates="Print the table of this folder of predictions, run nothing.",
)
