"""Work and services on a Ray cluster. Ray is imported in this folder alone.

Nothing is sent to anybody: usage reports of Ray are off, and so is its dashboard where a cluster is
started here.
"""

import os

from sfumato.core.extras import need

need("ray", "work on Ray", "ray")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # of a cluster started here: as our processes
# With it, processes that Ray forks while gRPC works now and then abort before they begin.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from sfumato.execution.on_ray.cluster import OnRay, connect  # noqa: E402

__all__ = ["OnRay", "connect"]
