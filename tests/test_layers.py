"""The tree is the threat model: who may import whom, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import sfumato

ROOT = Path(sfumato.__file__).parent

# Every folder, and the folders it may import besides itself.
BASE = {"core", "execution", "features", "dictionary", "matching", "detectors"}
PARTIES = BASE | {"device", "server", "adversary", "classification", "faces"}
MIDDLE = PARTIES | {"privacy", "datasets"}
ALLOWED = {
    "core": set(),
    "execution": {"core"},
    "features": {"core", "execution"},
    "dictionary": {"core", "execution", "features"},
    "matching": {"core", "features", "dictionary"},
    "detectors": {"core", "features"},
    "device": BASE,
    "server": BASE,
    "adversary": BASE,
    "classification": BASE,
    "faces": BASE,
    "privacy": MIDDLE,
    "datasets": MIDDLE,
    "client": BASE | {"device"},
    "service": BASE | {"server"},
    "pages": MIDDLE,
    "studio": MIDDLE | {"pages", "service"},
    "cli": MIDDLE | {"pages", "client", "service", "studio"},
}
# The one place where a server knows devices: it plans for a map by pretending to be some. And
# the service's own page is made as all pages are; `pages/render.py` itself knows no party.
EXCEPTIONS = {"service/plans.py": {"privacy"}, "service/operation_routes.py": {"pages"}}

# Heavy packages, and the only places that may import them.
ONLY_IN = {
    "torch": ("adversary/invert/", "features/learned.py", "classification/bnn.py"),
    "kornia": ("features/learned.py",),
    "ray": ("execution/on_ray/",),
    "pycolmap": ("server/mapping/colmap.py",),
    "onnxruntime": ("core/onnx_file.py",),
    "dlib": ("faces/dlib_network.py",),
    "fastapi": ("service/",),
}


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layers"
            names.add(node.module or "")
    return names


def test_imports_point_down_and_parties_do_not_know_each_other() -> None:
    files = sorted(ROOT.glob("*/**/*.py"))
    assert len(files) > 20
    for path in files:
        folder = path.relative_to(ROOT).parts[0]
        allowed = ALLOWED[folder] | EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set())
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "sfumato" and len(parts) > 1 and parts[1] != folder:
                assert parts[1] in allowed, f"{path}: {folder} must not know {parts[1]}"


def test_the_renderer_of_pages_knows_no_party() -> None:
    own = {name for name in imports(ROOT / "pages/render.py") if name.startswith("sfumato")}
    assert own == {"sfumato"}


def test_the_product_does_not_know_the_papers() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        known = {name.split(".")[0] for name in imports(path)}
        assert "sfumato_papers" not in known, f"{path} imports the experiments"


def test_heavy_packages_stay_where_they_belong() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT).as_posix()
        for name in imports(path):
            places = ONLY_IN.get(name.split(".")[0])
            assert places is None or inside.startswith(places), f"{inside} imports {name}"


def test_importing_sfumato_is_light() -> None:
    heavy = {"torch", "ray", "pycolmap", "numba", "fastapi", "cv2", "faiss", "scipy", "h5py"}
    code = f"import sys, sfumato; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "[]"
