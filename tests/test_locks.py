"""The lock files fit pyproject.toml, and whoever installs from them checks what arrives."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))
#: What scripts/setup installs first; each further extra adds to it.
TOOLKIT = ("base.txt", "service.txt", "toolkit.txt")
#: Where each extra of pyproject.toml is locked.
LOCKED_IN = {
    "server": TOOLKIT[:2],
    "service": TOOLKIT[:2],
    "attack": TOOLKIT,
    "classify": TOOLKIT,
    "studio": TOOLKIT,
    "detectors": TOOLKIT,
    "dev": (*TOOLKIT, "dev.txt"),
    "faces": (*TOOLKIT, "faces.txt"),
    "heic": (*TOOLKIT, "heic.txt"),
    "train": (*TOOLKIT, "train.txt", "torch.txt"),
    "ray": (*TOOLKIT, "dev.txt", "ray.txt"),
    "docs": ("docs.txt",),
    "all": (*TOOLKIT, "faces.txt", "heic.txt", "train.txt", "torch.txt", "ray.txt"),
}
#: Virtual environments of their own.
APART = ("tools.txt", "docs.txt", "wasm.txt")


def text_of(lock: str) -> str:
    return (ROOT / "requirements" / lock).read_text(encoding="utf-8")


def entries(lock: str) -> list[str]:
    """One entry for each package, with the hashes on its further lines."""
    lines = [line for line in text_of(lock).splitlines() if line and not line.startswith("#")]
    return re.split(r"\n(?=\S)", "\n".join(lines))


def versions(*locks: str) -> dict[str, str]:
    found = [
        re.match(r"([a-z0-9._-]+)==([^ \n]+)", entry) for lock in locks for entry in entries(lock)
    ]
    assert all(found)
    return {canonicalize_name(match[1]): match[2] for match in found if match}


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock != "torch.txt"])
def test_every_locked_package_has_a_hash(lock: str) -> None:
    assert entries(lock)
    for entry in entries(lock):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_place_to_download_from(lock: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host", text_of(lock))


def requirements(extra: str | None) -> list[Requirement]:
    """What an extra asks for (None: the base), with the extras that it names in turn."""
    project = PROJECT["project"]
    listed = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    asked = []
    for requirement in map(Requirement, listed):
        if requirement.name == project["name"]:
            asked += [one for name in requirement.extras for one in requirements(name)]
        else:
            asked.append(requirement)
    return asked


@pytest.mark.parametrize("extra", [None, *PROJECT["project"]["optional-dependencies"]])
def test_the_locks_satisfy_pyproject(extra: str | None) -> None:
    locked = versions(*(("base.txt",) if extra is None else LOCKED_IN[extra]))
    for requirement in requirements(extra):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked; run scripts/lock"
        assert requirement.specifier.contains(version, prereleases=True), requirement


def test_the_locks_satisfy_the_papers() -> None:
    locked = versions(*TOOLKIT)
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))
    for requirement in map(Requirement, papers["project"]["dependencies"]):
        if requirement.name == PROJECT["project"]["name"]:
            names = {one.name for extra in requirement.extras for one in requirements(extra)}
            assert {canonicalize_name(name) for name in names} <= set(locked)
        else:
            assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_what_builds_the_package_is_locked() -> None:
    locked = versions("build.txt")
    for requirement in map(Requirement, PROJECT["build-system"]["requires"]):
        assert requirement.specifier.contains(locked[requirement.name])


def test_no_package_is_locked_to_two_versions() -> None:
    seen: dict[str, str] = {}
    for lock in LOCKS:
        if lock in APART:
            continue
        for name, version in versions(lock).items():
            assert seen.setdefault(name, version) == version, name


def test_setup_installs_only_what_has_the_right_hash() -> None:
    """Every installation goes through --require-hashes, but for torch and this package itself."""
    script = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    assert 'locked() { pip --require-hashes --no-deps "$@"; }' in script
    calls = [
        line.strip() for line in script.splitlines() if re.search(r"(^|\s)pip --(?!quiet)", line)
    ]
    assert len(calls) == 3
    for call in calls:
        assert (
            "--require-hashes" in call
            or call.startswith("torch.txt)")
            # packages of this tree, built with what is locked
            or call == 'pip --no-deps --no-build-isolation "${packages[@]}"'
        ), call
    assert set(re.findall(r"packages=\((.*?)\)", script)) == {"--editable . --editable papers", ""}


def test_the_image_installs_only_what_has_the_right_hash() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    calls = re.findall(r"pip install ([^&\n]*)", text)
    assert len(calls) == 2
    assert "--no-deps --require-hashes --only-binary :all:" in calls[0]
    assert re.findall(r"-r requirements/(\S+)", calls[0]) == [
        "base.txt",
        "service.txt",
        "build.txt",
    ]
    assert calls[1].split() == ["--no-cache-dir", "--no-deps", "--no-build-isolation", "."]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert {f"!{name}" for name in copied.split()} <= set(allowed)
