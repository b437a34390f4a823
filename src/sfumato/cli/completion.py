"""`sfumato completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

from typing import Annotated

from typer.completion import get_completion_script  # type: ignore[attr-defined]

from sfumato.cli.options import argument
from sfumato.cli.output import JsonFlag, emit_json, emit_lines
from sfumato.cli.registry import COMPLETE_VARIABLE
from sfumato.core.checks import check_choice

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def run(
    shell: Annotated[str, argument("SHELL", f"{', '.join(SHELLS)}.")], as_json: JsonFlag = False
) -> None:
    """Nothing is installed: put the script where your shell reads it. For bash that is
    ~/.local/share/bash-completion/completions/sfumato.

    Example: sfumato completion bash > ~/.local/share/bash-completion/completions/sfumato
    """
    check_choice("the shell", shell, SHELLS)
    script = get_completion_script(prog_name="sfumato", complete_var=COMPLETE_VARIABLE, shell=shell)
    if as_json:
        emit_json({"shell": shell, "script": script})
    else:
        emit_lines([script])
