"""The docs: links, menu and commands are right, and the site loads nothing from other hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.registry import in_full, make_root

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
AROUND = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
MENU = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
_INDENTED = re.compile(r"^ {4,}\$? ?(sfumato (?:\\\n|.)*)", re.MULTILINE)
_INLINE = re.compile(r"`(sfumato [^`]+)`")
#: Where a command ends and the shell goes on.
_SHELL = {"|", ">", ">>", "&&", ";", "&"}
#: Stand for any command.
_ANY = {"NAME", "COMMAND"}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The headings as they are linked to: lower case, without signs, spaces as dashes."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_in(text: str) -> Iterator[str]:
    """Every `sfumato …` that a page shows: in blocks, in indented lines, in a sentence."""
    for language, block in _FENCE.findall(text):
        if language not in ("", "bash"):
            continue
        lines = block.replace("\\\n", " ").split("\n")
        prompts = [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
        for line in prompts or [line.strip() for line in lines]:
            if command := re.match(r"(?:[A-Z_]+=\S+ )*(sfumato [a-z-].*)", line):
                yield command[1]
    rest = _FENCE.sub("", text)
    for shown in (*_INDENTED.findall(rest), *_INLINE.findall(rest)):
        yield shown.replace("\\\n", " ")


def check(command: str) -> None:
    """Walk down the command tree, then look each option up."""
    node: Any = make_root()
    words = iter(in_full(shlex.split(command.replace("\n", " "), comments=True)[1:]))
    for word in words:
        if word in _SHELL or word in _ANY:
            return
        flag = word.split("=")[0]
        if re.match(r"--?[a-z]", flag):
            known = {name for p in node.params for name in (*p.opts, *p.secondary_opts)}
            assert flag in {*known, "-h", "--help"}, f"{command}: no option {flag}"
        elif hasattr(node, "list_commands"):
            below = node.get_command(node.context_class(node, info_name="sfumato"), word)
            assert below is not None, f"{command}: no command {word}"
            node = below


@pytest.mark.parametrize("page", [*PAGES, *AROUND], ids=name_of)
def test_every_link_and_image_exists(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", text_of(page))):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} does not exist"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize("page", [*PAGES, *AROUND], ids=name_of)
def test_every_file_that_a_command_installs_or_runs_exists(page: Path) -> None:
    folders = r"(?:web/[\w-]+/)?\b(?:requirements|scripts|benchmarks)"
    for path in re.findall(rf"{folders}/[\w.-]+\w", text_of(page)):
        assert (ROOT / path).exists(), f"{path} does not exist"


def test_every_page_is_in_the_menu_once_and_the_menu_names_no_other() -> None:
    listed = re.findall(r"^ +- .*?: (\S+\.md)$", MENU, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) ^ {str(page.relative_to(DOCS)) for page in PAGES} == set()


def test_every_public_name_is_in_the_reference() -> None:
    described = re.findall(r"^::: sfumato\.(\w+)$", text_of(DOCS / "api.md"), re.MULTILINE)
    assert set(described) ^ set(import_module("sfumato").__all__) == set()


def test_every_page_that_the_source_names_exists() -> None:
    for folder in ("src", "papers/src", "scripts"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in ("", ".py"):
                for page in re.findall(r"(?<!build/)docs/[\w-]+\.md", text_of(path)):
                    assert (ROOT / page).exists(), f"{path.name} names {page}"


@pytest.mark.parametrize("page", [*PAGES, *AROUND], ids=name_of)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    for command in commands_in(text_of(page)):
        check(command)


@pytest.mark.parametrize(
    "command", ["sfumato vanish", "sfumato protect a.jpg --no-such-option", "sfumato map burn x"]
)
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    shown = list(commands_in(f"```bash\n{command}\n```\nor `{command}`\n\n    $ {command}\n"))
    assert shown == [command] * 3
    with pytest.raises(AssertionError, match=r"no (command|option)"):
        check(command)


def test_the_site_loads_nothing_from_another_host() -> None:
    assert "font: false" in MENU
    # each of these makes the theme fetch something: facts of a repository, a worker, scripts
    assert not re.search(r"repo_url|offline|extra_javascript|mermaid|analytics|://", MENU)
    for style in (DOCS / "assets").iterdir():
        assert not re.search(r"@import|url\((?!#)|(src|href)=", text_of(style)), style.name
    for page in PAGES:
        shown = re.sub(r"(?ms)^```(?!mermaid).*?^```$", "", text_of(page))  # code is only printed
        assert not re.search(r"!\[[^\]]*\]\(\w+:|<(script|img|link|iframe)|```mermaid", shown)


def test_the_first_program_of_the_readme_prints_what_is_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    blocks = [block for _, block in _FENCE.findall(text_of(ROOT / "README.md"))]
    program = next(i for i, block in enumerate(blocks) if block.startswith("import sfumato"))
    exec(blocks[program], {})
    assert capsys.readouterr().out == blocks[program + 1]
