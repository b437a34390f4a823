"""Imported once by the process that computing processes are forked from: so the first request
finds everything loaded and compiled.
"""

from __future__ import annotations

import faiss  # noqa: F401 - a query loads it where a map learns its own error

import sfumato.service.work  # noqa: F401
from sfumato.service.warm_up import warm_up

warm_up()
