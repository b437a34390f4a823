"""What a stopped build leaves behind, so that the same command goes on from there.

`<output>.partial/` holds the settings, the sample, the coarse cells, and the last two
states of k-means. Each part is a checked directory that exists whole or not at all; a
damaged state is passed over for the one before it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.storage import load_array, load_manifest, save_arrays
from sfumato.core.unfinished import Unfinished
from sfumato.dictionary.cells import Cells, sorted_rows
from sfumato.dictionary.kmeans import Clustering
from sfumato.dictionary.sampling import Sample
from sfumato.execution import current

_KEPT_STATES = 2


class Partial(Unfinished):
    """The unfinished build of one output, bound to its settings; one process at a time."""

    WORK = ("build", "building", "pictures")

    def __exit__(self, *raised: object) -> None:
        if isinstance(raised[1], InvalidInput):
            self.remove()  # the same call would be refused again: nothing to go on with
        super().__exit__(*raised)

    def save_sample(self, sample: Sample) -> None:
        self._forget_clustering()  # it belonged to another sample
        ids = sample.image_ids
        save_arrays(
            self.folder / "sample",
            {
                "descriptors": sample.descriptors,
                "image_ids": np.empty(0, dtype=np.int32) if ids is None else ids,
            },
            {
                "kind": "dictionary sample",
                "seen": sample.seen,
                "num_images": sample.num_images,
                "unreadable": sample.unreadable,
                "has_ids": ids is not None,
            },
            replace=True,
        )

    def load_sample(self) -> Sample | None:
        folder = self.folder / "sample"
        if not folder.exists():
            return None
        try:
            manifest = load_manifest(folder, kind="dictionary sample")
            ids = load_array(folder, "image_ids", manifest)
            return Sample(
                load_array(folder, "descriptors", manifest),
                ids if manifest["has_ids"] else None,
                seen=manifest["seen"],
                num_images=manifest["num_images"],
                unreadable=manifest["unreadable"],
            )
        except DamagedFile:
            return None  # the pictures are still there: sample again

    def keep(self, cells: Cells, state: Clustering) -> None:
        """Save one state of k-means; the cells are saved with the first."""
        if not (self.folder / "cells").exists():
            save_arrays(
                self.folder / "cells",
                {
                    "order": cells.order,
                    "offsets": cells.offsets,
                    "centres": cells.centres,
                    "costs": cells.costs,
                },
                {"kind": "dictionary cells"},
            )
        save_arrays(
            self.folder / f"state-{state.iteration:06d}",
            {"words": state.words, "assignment": state.assignment},
            {
                "kind": "dictionary state",
                "errors": list(state.errors),
                "reseeded": state.reseeded,
            },
            replace=True,
        )
        for old in self._states()[_KEPT_STATES:]:
            shutil.rmtree(old)

    def resume(self, sample: Sample) -> tuple[Cells, Clustering] | None:
        """The last whole state, or None when there is none."""
        try:
            cells = self._load_cells(sample)
            for folder in self._states():
                try:
                    return cells, _load_state(folder)
                except DamagedFile:
                    continue
        except (DamagedFile, InvalidInput):
            pass
        self._forget_clustering()
        return None

    def _load_cells(self, sample: Sample) -> Cells:
        folder = self.folder / "cells"
        manifest = load_manifest(folder, kind="dictionary cells")
        order = load_array(folder, "order", manifest)
        return Cells(
            rows=sorted_rows(
                sample.descriptors, order, self.folder if current().is_spread else None
            ),
            order=order,
            offsets=load_array(folder, "offsets", manifest),
            centres=load_array(folder, "centres", manifest),
            costs=load_array(folder, "costs", manifest),
        )

    def _forget_clustering(self) -> None:
        for folder in (self.folder / "cells", *self._states()):
            shutil.rmtree(folder, ignore_errors=True)

    def _states(self) -> list[Path]:
        return sorted(self.folder.glob("state-*"), reverse=True)


def _load_state(folder: Path) -> Clustering:
    manifest = load_manifest(folder, kind="dictionary state")
    return Clustering(
        # Copied, because the folder is removed while the words live on.
        np.array(load_array(folder, "words", manifest)),
        np.array(load_array(folder, "assignment", manifest)),
        tuple(manifest["errors"]),
        manifest["reseeded"],
    )
