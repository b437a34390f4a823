"""schemathesis against the served OpenAPI document: no 5xx, and nothing the document does not say.

    python tests/endurance/schema.py --examples 500

Requests that the document allows and requests that it does not, for every operation, as many
examples of each. Every other allowed one that names a map or a dictionary names one that is there,
and every other release sent to that map is a valid one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import PATIENCE, ask_once
from endurance.rig import Findings, ForkedServer, make_key, make_world, scratch

schemathesis.serializer.alias("application/x-tar", "application/octet-stream")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--examples", type=int, default=500, help="per operation and mode")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    findings = Findings()
    with scratch() as folder:
        world = make_world(folder)
        store = folder / "store"
        key = make_key(store)
        server = ForkedServer(store, world.words)
        try:
            url = server.wait_ready()
            reply = asyncio.run(ask_once(url, key, "POST", "/v1/maps?name=room", world.tar()))
            Asker(url, key, reply.json(), world.release, findings).run(options)
        finally:
            server.kill()
    return findings.close()


class Asker:
    """Asks what hypothesis makes up, with a valid key."""

    def __init__(
        self, url: str, key: str, room: dict[str, Any], release: bytes, findings: Findings
    ) -> None:
        self._url, self._release, self._findings = url, release, findings
        self._real = {"id": room["id"], "fingerprint": room["dictionaries"][0]["fingerprint"]}
        self._headers = {"Authorization": f"Bearer {key}"}
        self._session = requests.Session()

    def run(self, options: argparse.Namespace) -> None:
        schema = schemathesis.openapi.from_url(f"{self._url}/openapi.json", timeout=PATIENCE)
        for result in schema.get_all_operations():
            assert isinstance(result, Ok), result
            operation = result.ok()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                self._counts: Counter[int] = Counter()
                self._try(operation, mode, options)
                shown = ", ".join(f"{n} × {code}" for code, n in sorted(self._counts.items()))
                print(f"{operation.label}, {mode.value}: {shown or 'nothing to try'}", flush=True)
        self._session.close()

    def _try(self, operation: Any, mode: GenerationMode, options: argparse.Namespace) -> None:
        @seed(options.seed)
        @settings(
            max_examples=options.examples,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            if mode is GenerationMode.POSITIVE:
                self._make_real(case)
            self._ask(case)

        try:
            ask()
        except Unsatisfiable:
            return  # without parameters there is nothing that the document forbids
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - checks raise anything
            self._findings.add(f"{operation.label}, {mode.value}: {_first_lines(error)}")

    def _make_real(self, case: Any) -> None:
        number = sum(self._counts.values())
        for name in set(case.path_parameters or {}) & set(self._real):
            if case.method != "DELETE" and number % 2:
                case.path_parameters[name] = self._real[name]
        if case.path.endswith("/localize") and number % 4 == 3:
            case.body = self._release

    def _ask(self, case: Any) -> None:
        response = case.call(
            base_url=self._url, session=self._session, headers=self._headers, timeout=PATIENCE
        )
        self._counts[response.status_code] += 1
        # No schema can say which bytes are a release or a map: most are rightly refused. And the
        # key was put in here, which schemathesis cannot know.
        case.validate_response(response, excluded_checks=[positive_data_acceptance, ignored_auth])


def _first_lines(error: BaseException) -> str:
    shown = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
    return " / ".join(str(shown).splitlines()[:12])


if __name__ == "__main__":
    sys.exit(main())
