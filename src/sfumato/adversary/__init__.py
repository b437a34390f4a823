"""What a curious server can learn from what it was sent."""

from __future__ import annotations

from sfumato.core.extras import need

need("attack", "sfumato.adversary", "numba", "onnxruntime", "scipy", "skimage", "sklearn")
