"""Rows of the kept outcomes as `sfumato experiment frontier` computes them, for the studio's chart.

python make_golden.py > golden.json
"""

from __future__ import annotations

import json
from pathlib import Path

from sfumato_papers.ours.frontier import JOURNAL
from sfumato_papers.ours.frontier_advice import rows_of
from sfumato_papers.ours.frontier_table import said

OUTCOMES = Path(__file__).parents[4] / "papers/outcomes/frontier"
NAMES = ("share", "share_interval_95", "wrong", "keypoints", "picture", "object", "ssim", "fronts")


def main() -> None:
    told = {}
    for name in ("strecha", "room"):
        head, outcomes = JOURNAL.read(OUTCOMES / name / "outcomes.jsonl")
        rows = rows_of(outcomes, head["queries"])
        told[name] = [
            {"said": said(row["way"]), "family": row["way"].family} | {n: row[n] for n in NAMES}
            for row in rows
        ]
    print(json.dumps(told, indent=0, ensure_ascii=False))


if __name__ == "__main__":
    main()
