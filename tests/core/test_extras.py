"""What `pip install sfumato` leaves out is named in one sentence and declared in pyproject.toml."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sfumato
from sfumato.core.errors import Missing, MissingExtra
from sfumato.core.extras import file_in_package, name_extras, need, public_name

SOURCE = Path(sfumato.__file__).parent
ROOT = SOURCE.parents[1]

#: Extras whose packages a folder may import; every folder may import the base.
FOLDERS: dict[str, tuple[str, ...]] = {
    "core": ("detectors", "server"),
    "features": ("train",),
    "dictionary": ("server",),
    "matching": ("server",),
    "detectors": ("detectors",),
    "server": ("server",),
    "service": ("service",),
    "adversary": ("attack", "train"),
    "classification": ("classify", "train"),
    "faces": ("faces",),
    "privacy": ("attack",),
    "datasets": ("studio",),
    "execution": ("ray",),
    "pages": ("studio",),
}
#: Distributions whose import name is another one.
IMPORTED_AS = {
    "cv2": "opencv-contrib-python-headless",
    "dlib": "dlib-bin",
    "faiss": "faiss-cpu",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}
#: What an extra of another package brings.
BROUGHT = {
    ("ray", "client"): {"grpc"},
    ("ray", "serve"): {"starlette", "fastapi", "aiohttp", "watchfiles", "opencensus"},
}


def distribution(module: str) -> str:
    top = module.split(".")[0]
    return canonicalize_name(IMPORTED_AS.get(top, top))


@cache
def declared(project: str, *extras: str) -> frozenset[str]:
    """The distributions of a pyproject.toml's base and of these extras."""
    table = tomllib.loads((ROOT / project).read_text(encoding="utf-8"))["project"]
    names: set[str] = set()
    listed = [*table["dependencies"]]
    for extra in extras:
        listed += table["optional-dependencies"][extra]
    for requirement in map(Requirement, listed):
        if requirement.name == "sfumato":
            names |= declared("pyproject.toml", *sorted(requirement.extras))
        else:
            names.add(canonicalize_name(requirement.name))
            for extra in requirement.extras:
                names |= BROUGHT.get((requirement.name, extra), set())
    return frozenset(names)


def third_party(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    ours = {"sfumato", "sfumato_papers"}
    return {name for name in names if name.split(".")[0] not in sys.stdlib_module_names | ours}


def test_every_import_is_declared_by_an_extra_of_its_folder() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        folder = path.relative_to(SOURCE).parts[0]
        allowed = declared("pyproject.toml", *FOLDERS.get(folder, ()))
        for name in third_party(path):
            assert distribution(name) in allowed, f"{path}: {name} is not declared for {folder}"


def test_every_import_of_the_papers_is_declared() -> None:
    allowed = declared("papers/pyproject.toml")
    for path in sorted((ROOT / "papers" / "src").rglob("*.py")):
        for name in third_party(path):
            assert distribution(name) in allowed, f"{path}: {name} is not declared"


def test_every_package_of_the_base_is_imported() -> None:
    imported = {distribution(name) for path in SOURCE.rglob("*.py") for name in third_party(path)}
    assert declared("pyproject.toml") - imported == set()


def calls_of_need() -> list[tuple[Path, str, list[str]]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "need":
                words = [
                    str(leaf.value)
                    for argument in (node.args[0], *node.args[2:])
                    for leaf in ast.walk(argument)
                    if isinstance(leaf, ast.Constant)
                ]
                found.append((path, words[0], words[1:]))
    return found


def test_the_extra_that_is_named_brings_the_packages() -> None:
    calls = calls_of_need()
    assert len(calls) >= 10
    for path, extra, packages in calls:
        brought = declared("pyproject.toml", extra)
        for package in packages:
            assert distribution(package) in brought, f"{path}: {extra} does not bring {package}"


def test_a_missing_extra_is_one_sentence_and_an_import_error() -> None:
    need("server", "sf.localize", "numpy")
    with pytest.raises(MissingExtra) as raised:
        need("server", "sf.localize", "numpy", "no_such_package")
    assert isinstance(raised.value, ImportError)
    assert isinstance(raised.value, Missing)
    assert str(raised.value) == (
        'sf.localize needs the server extra: pip install "sfumato[server]"; '
        "not installed here: no_such_package."
    )


def test_a_folder_is_called_by_the_name_that_was_asked_for() -> None:
    of_folder = MissingExtra("sfumato.server", "server", ["poselib"])
    assert str(public_name(of_folder, "sf.localize")).startswith("sf.localize needs the server")
    special = MissingExtra("the detector 'text'", "detectors", ["onnxruntime"])
    assert public_name(special, "sfumato protect") is special

    def load(name: str) -> object:
        raise of_folder

    with pytest.raises(MissingExtra, match=r"^sf\.localize needs the server extra"):
        name_extras(load, "sf")("localize")


def test_a_file_inside_a_package_is_found_without_importing_it() -> None:
    assert file_in_package("sfumato", "py.ty*", "there is none").name == "py.typed"
    for package, pattern in (("sfumato", "no-such-file"), ("no_such_package", "*")):
        with pytest.raises(Missing, match="there is none"):
            file_in_package(package, pattern, "there is none")


HIDE = """
import importlib.util, sys
find = importlib.util.find_spec
hidden = set({hidden!r})
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
importlib.util.find_spec = lambda name, *more: None if name in hidden else find(name, *more)
"""


def without_extras(code: str, *but: str) -> str:
    """What the code prints where only the base is installed, and the extras named."""
    extras = declared("pyproject.toml", "all") - declared("pyproject.toml", *but)
    named = {distribution: name for name, distribution in IMPORTED_AS.items()}
    hidden = sorted(named.get(name, name.replace("-", "_")) for name in extras)
    script = HIDE.format(hidden=hidden) + code
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert not ended.stderr, ended.stderr[-1000:]
    return ended.stdout


def loads(*folders: str, extras: tuple[str, ...] = ()) -> bool:
    """Whether every module of these folders is imported with the base and these extras alone."""
    modules = [
        ".".join(("sfumato", *path.relative_to(SOURCE).with_suffix("").parts))
        for folder in folders
        for path in sorted((SOURCE / folder).rglob("*.py"))
        if "torch" not in third_party(path)
    ]
    code = f"""
import importlib
for name in {modules}:
    importlib.import_module(name)
print("loaded")
"""
    return without_extras(code, *extras) == "loaded\n"


def test_device_and_client_load_without_any_extra() -> None:
    assert loads("core", "features", "dictionary", "detectors", "device", "client")


@pytest.mark.parametrize(
    ("extra", "folders"),
    [
        ("server", ("matching", "server")),
        ("service", ("service",)),
        ("attack", ("adversary",)),
        ("classify", ("classification",)),
        ("faces", ("faces",)),
        ("studio", ("datasets", "pages", "privacy")),
    ],
)
def test_an_extra_is_all_that_its_folders_need(extra: str, folders: tuple[str, ...]) -> None:
    assert loads(*folders, extras=(extra,))


def test_every_public_name_is_there_or_names_its_extra() -> None:
    code = """
import sfumato
for name in dir(sfumato):
    try:
        getattr(sfumato, name)
    except ImportError as error:
        print(error)
"""
    lines = without_extras(code).splitlines()
    refused = [
        re.match(r'(sf\.[\w.]+) needs the (\w+) extra: pip install "', line) for line in lines
    ]
    assert {(match[1], match[2]) for match in refused if match} == {
        ("sf.Attack", "attack"),
        ("sf.Map", "server"),
        ("sf.attacks", "attack"),
        ("sf.build_map", "server"),
        ("sf.distances", "server"),
        ("sf.localize", "server"),
        ("sf.plan", "server"),
        ("sf.score", "attack"),
    }
    assert all(refused)


def test_a_star_gives_what_is_installed() -> None:
    names = without_extras("from sfumato import *\nprint(*sorted(globals()))").split()
    assert {"protect", "SubsetMechanism", "Client"} <= set(names)
    assert {"localize", "attacks", "plan"} & set(names) == set()
    assert {"localize", "attacks", "plan"} <= set(sfumato.__all__)


def without_extras_command(*words: str) -> list[str]:
    """The lines that a command prints and writes to stderr, and its exit code."""
    code = f"""
from sfumato.cli.app import main
sys.stderr = sys.stdout
try:
    main({list(words)})
except SystemExit as end:
    print(end.code)
"""
    return without_extras(code).splitlines()


@pytest.mark.parametrize("command", [[], ["protect"], ["ask"], ["extract"], ["dictionary"]])
def test_the_commands_of_a_device_need_no_extra(command: list[str]) -> None:
    shown = without_extras_command(*command, "--help")
    assert shown[0].startswith("Usage: sfumato")
    assert shown[-1] == "0"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["localize", "x.sfr", "--map", "x"], "sfumato localize needs the server extra"),
        (["serve", "--store", "x"], "sfumato serve needs the service extra"),
        (["demo"], "sfumato demo needs the studio extra"),
        (["audit"], "sf.audit needs the attack extra"),
    ],
)
def test_a_command_names_its_extra_and_ends_with_code_2(words: list[str], sentence: str) -> None:
    said = without_extras_command(*words)
    assert said[0].startswith(f"sfumato: {sentence}: pip install")
    assert said[1:] == ["2"]
