"""The wheel as a device gets it: built, installed without extras, and used."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sfumato

ROOT = Path(__file__).parents[1]
#: Half of what the whole toolkit takes.
MAX_MEGABYTES = 650

PROTECT = """
import sys
import sfumato as sf
words = sf.Dictionary.load("bsds-16k")
mechanism = sf.SubsetMechanism(epsilon=8, subset_size=2, dictionary=words)
print(sf.protect(sys.argv[1], sf.Pipeline(mechanism)))
try:
    sf.localize
except ImportError as error:
    print(error)
"""


def run(*words: str | Path, folder: Path) -> str:
    """What a program prints, started in a folder where only what is installed is found."""
    ended = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, with the locked setuptools that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    compiled = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", folder / "copy" / "src", ignore=compiled)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "copy")
    build = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    run(sys.executable, "-c", build, folder=folder / "copy")
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"sfumato-{sfumato.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"sfumato", info}
    source = ROOT / "src" / "sfumato"
    wanted = {
        f"sfumato/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in names if name.startswith("sfumato/")}
    assert inside == wanted
    assert {"sfumato/py.typed", "sfumato/__init__.pyi"} <= inside
    # Without it Attack paints nothing: a wheel carries what networks need in a browser.
    assert "sfumato/studio/runtime/ort.wasm.gz" in inside
    for suffix in (".html", ".css", ".js", ".wasm", ".onnx", ".npy"):
        assert any(name.endswith(suffix) for name in inside), suffix


def test_a_device_installs_the_base_alone_and_protects_a_picture(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(sys.executable, "-m", "venv", "env", folder=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check")
    lock = ROOT / "requirements" / "base.txt"
    run(*pip, "--require-hashes", "--only-binary=:all:", "-r", lock, folder=tmp_path)
    run(*pip, wheel, folder=tmp_path)
    run(python, "-m", "pip", "check", folder=tmp_path)
    rng = np.random.default_rng(0)
    blocks = np.kron(rng.integers(0, 256, (16, 16)), np.ones((12, 12)))
    Image.fromarray(blocks.astype(np.uint8)).save(tmp_path / "photo.png")

    shown = run(python, "-c", PROTECT, "photo.png", folder=tmp_path).splitlines()
    assert shown[0].startswith("WordRelease(")
    assert shown[1].startswith('sf.localize needs the server extra: pip install "sfumato[server]"')

    command = tmp_path / "env" / "bin" / "sfumato"
    assert "protect" in run(command, "--help", folder=tmp_path)
    words = ("protect", "photo.png", "--epsilon", "8", "--no-ledger", "-o", "out.sfr")
    assert "wrote out.sfr" in run(command, *words, folder=tmp_path)
    assert (tmp_path / "out.sfr").stat().st_size > 100

    files = [path for path in (tmp_path / "env").rglob("*") if not path.is_symlink()]
    megabytes = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
    with capsys.disabled():
        print(f"\na device with sfumato: {megabytes:.0f} MB, Python's own library not counted")
    assert megabytes < MAX_MEGABYTES
