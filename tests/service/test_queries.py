"""Plans, dictionaries, health, metrics, and the document that describes it all."""

from __future__ import annotations

import io
import json
import re
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from computations import hopeless_plan, quick_plan
from served import Serve, Served
from sfumato.dictionary import Dictionary
from sfumato.service import plans, state


@pytest.fixture
def quick_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """One number of keypoints is tried instead of four."""
    monkeypatch.setattr(state, "plan_for_map", quick_plan)


def wait_for_plan(served: Served, path: str) -> Any:
    while True:
        answer = served.client.get(path, headers=served.query)
        if answer.status_code != 503:
            return answer
        assert int(answer.headers["retry-after"]) >= 1
        assert "being made" in answer.json()["detail"]
        time.sleep(0.05)


@pytest.mark.usefixtures("quick_plans")
def test_a_plan_is_made_in_the_background_and_kept(serve: Serve) -> None:
    served = serve(plan_images=1)
    room = served.map_id()
    made = wait_for_plan(served, f"/v1/maps/{room}/plan").json()
    assert made["epsilon"] == 8.0
    assert made["epsilon_per_picture"] >= 4 * 8.0
    whole = Dictionary.load(served.world.words)
    assert made["dictionary"] == whole.fingerprint_at(made["num_words"])
    assert "the positions of the keypoints" in made["not_protected"]
    assert 0 <= made["share_interval_95"][0] <= made["share_localized"] <= 1
    again = served.client.get(f"/v1/maps/{room}/plan", headers=served.owner)
    assert again.json() == made


@pytest.mark.usefixtures("quick_plans")
def test_a_plan_for_a_given_epsilon_is_rounded_down(serve: Serve) -> None:
    served = serve(plan_images=1)
    room = served.map_id()
    made = wait_for_plan(served, f"/v1/maps/{room}/plan?epsilon=7.9").json()
    assert made["epsilon"] == 7.5
    for text in ("0", "-1", "nan", "inf", "17", "x"):
        path = f"/v1/maps/{room}/plan?epsilon={text}"
        refused = served.client.get(path, headers=served.query)
        assert refused.status_code == 400, text
        assert "epsilon" in refused.json()["detail"]


def test_a_map_that_cannot_be_planned_for_says_so(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "plan_for_map", hopeless_plan)
    served = serve(plan_images=1)
    answer = wait_for_plan(served, f"/v1/maps/{served.map_id()}/plan")
    assert answer.status_code == 409
    assert "20 points" in answer.json()["detail"]


def test_a_service_without_plans_says_so(served: Served) -> None:
    answer = served.client.get(f"/v1/maps/{served.map_id()}/plan", headers=served.query)
    assert (answer.status_code, answer.json()["error"]) == (409, "no-plan")


def test_a_plan_ends_when_its_map_is_deleted(tmp_path: Path) -> None:
    with pytest.raises(plans._Stopped):
        plans._Watch(tmp_path / "gone")("planning", 0, 1)
    plans._Watch(tmp_path)("planning", 0, 1)


def test_only_one_process_makes_a_plan(tmp_path: Path) -> None:
    with plans._only_one(tmp_path) as first, plans._only_one(tmp_path) as second:
        assert (first, second) == (True, False)
    with plans._only_one(tmp_path / "gone") as first:
        assert first is False


def test_devices_can_fetch_the_words(served: Served, tmp_path: Path) -> None:
    whole = Dictionary.load(served.world.words)
    for fingerprint in (whole.fingerprint, whole.fingerprint_at(64)):
        answer = served.client.get(f"/v1/dictionaries/{fingerprint}", headers=served.stranger)
        assert answer.headers["content-type"] == "application/x-tar"
        assert answer.headers["etag"] == f'"{whole.fingerprint}"'
        assert len(answer.content) == int(answer.headers["content-length"])
    folder = tmp_path / "fetched"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        tar.extractall(folder, filter="data")
    assert Dictionary.load(folder).fingerprint == whole.fingerprint
    path = f"/v1/dictionaries/{whole.fingerprint}"
    known = {**served.query, "If-None-Match": f'"other", "{whole.fingerprint}"'}
    assert served.client.get(path, headers=known).status_code == 304
    assert served.client.get(path).status_code == 401
    missing = served.client.get(f"/v1/dictionaries/{'0' * 64}", headers=served.query)
    assert (missing.status_code, missing.json()["error"]) == (404, "no-such-dictionary")
    odd = served.client.get("/v1/dictionaries/..%2f..%2fetc", headers=served.query)
    assert odd.status_code in (400, 404)


def test_health_readiness_and_metrics_need_no_key(served: Served) -> None:
    assert served.client.get("/healthz").json() == {"status": "ok"}
    while served.client.get("/readyz").status_code == 503:
        time.sleep(0.01)
    assert served.client.get("/readyz").json()["status"] == "ready"
    room = served.map_id("a-name")
    served.localize(room, served.world.release)
    served.client.get("/nowhere/at/all")
    shown = served.client.get("/metrics").text
    assert 'route="/v1/maps/{id}/localize",status="200"} 1.0' in shown
    assert 'sfumato_localizations_total{kind="words",localized="true"} 1.0' in shown
    assert 'route="unmatched",status="404"' in shown
    assert "sfumato_requests_in_flight 1.0" in shown
    for secret in (room, "a-name", served.owner_id, "nowhere"):
        assert secret not in shown


def test_a_server_about_to_stop_says_so(served: Served) -> None:
    room = served.map_id()
    served.service.draining.set()
    for answer in (
        served.client.get("/readyz"),
        served.localize(room, served.world.release),
    ):
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
    assert served.client.get("/healthz").status_code == 200


def test_unknown_addresses_and_methods_have_one_sentence(served: Served) -> None:
    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/v1", 404),
        ("GET", "/v1/maps/", 404),
        ("PUT", "/v1/maps", 405),
        ("DELETE", "/healthz", 405),
    ):
        answer = served.client.request(method, path)
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "detail"}
        assert answer.json()["detail"].endswith(".")
        assert status != 405 or answer.headers["allow"]
    both = served.client.request("PUT", "/v1/maps/x").headers["allow"]
    assert both == "DELETE, GET"


def test_the_document_describes_every_error_and_no_picture(served: Served) -> None:
    document = served.client.get("/openapi.json").json()
    text = json.dumps(document)
    assert not re.search(r"image/|jpe?g|png|multipart", text, re.IGNORECASE)
    bodies = {
        (path, kind)
        for path, operations in document["paths"].items()
        for operation in operations.values()
        for kind in operation.get("requestBody", {}).get("content", {})
    }
    assert bodies == {
        ("/v1/maps", "application/x-tar"),
        ("/v1/maps", "application/octet-stream"),
        ("/v1/maps/{id}/localize", "application/octet-stream"),
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert "422" not in operation["responses"]
            if path.startswith("/v1"):
                assert operation["security"]
                assert {"401", "429", "503"} <= set(operation["responses"])


def test_the_page_of_the_document_loads_nothing_from_elsewhere(served: Served) -> None:
    page = served.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/maps/{id}/localize" in page.text
    assert not re.search(r"https?://|<script", page.text)
