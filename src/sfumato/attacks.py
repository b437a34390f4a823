"""The attacks by their short names: `sf.attacks.vertex(release)`.

nearest, database, clustering, vertex  subspaces → descriptors
repeats                                several releases of one picture → descriptors
history                                several releases of one person's face → embedding
posterior                              words → likeliest word
inliers                                a localized release → what the map knows of it

`sf.score(recovered, features)` says how well an attack did. An own attack is an `Attack`: it
refuses other kinds of releases with `check_kind` and answers with `Recovered`.
"""

from __future__ import annotations

from sfumato.adversary.recover.base import Attack, Recovered, check_kind
from sfumato.adversary.recover.clustering import clustering_attack as clustering
from sfumato.adversary.recover.database import database_attack as database
from sfumato.adversary.recover.history import history_attack as history
from sfumato.adversary.recover.inliers import inliers_attack as inliers
from sfumato.adversary.recover.nearest import nearest_attack as nearest
from sfumato.adversary.recover.posterior import posterior_attack as posterior
from sfumato.adversary.recover.repeats import repeats_attack as repeats
from sfumato.adversary.recover.vertex import vertex_attack as vertex
from sfumato.adversary.score import Score

__all__ = [
    "Attack",
    "Recovered",
    "Score",
    "check_kind",
    "clustering",
    "database",
    "history",
    "inliers",
    "nearest",
    "posterior",
    "repeats",
    "vertex",
]
