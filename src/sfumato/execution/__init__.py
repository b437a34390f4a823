"""The same work over many items, wherever it runs: threads, processes, or a Ray cluster."""

from sfumato.execution.base import Actor, Execution, Shared
from sfumato.execution.choose import current, started, use

__all__ = ["Actor", "Execution", "Shared", "current", "started", "use"]
