"""Maps are described, listed, and go out for good."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from served import Served, files_of, nothing_is_left, refused
from sfumato.core.errors import SfumatoError
from sfumato.server.mapping.filing import store_derived
from sfumato.server.mapping.map import Map
from sfumato.service import map_routes
from sfumato.service.localizing import OpenMaps
from support import tiny_dictionary


def test_an_uploaded_map_is_described_without_the_makers_names(served: Served) -> None:
    answer = served.upload()
    info = answer.json()
    assert answer.status_code == 201
    assert len(info["id"]) == 22
    assert info["num_images"] == 6
    assert info["accepts"] == ["words"]
    assert info["dictionaries"][0]["num_words"] == 512
    assert "positions" in info["notice"]
    assert "view-0" not in answer.text
    assert served.client.get("/v1/maps", headers=served.query).json() == {"maps": [info]}
    alone = served.client.get(f"/v1/maps/{info['id']}", headers=served.query)
    assert alone.json() == info


def test_everything_a_query_needs_is_stored_beside_the_map(served: Served) -> None:
    folder = served.service.store.folder_of(served.map_id())
    opened = Map.load(folder, verify=False)
    assert len(opened.filed_under) == 2  # the dictionary and its level
    assert isinstance(opened._image_of_feature.base, np.memmap | np.ndarray)
    assert set(opened._derived) == {
        "image_of_feature",
        "observations_per_image",
        "point_starts",
        "point_rows",
    }
    fresh = Map.load(served.world.folder)
    assert np.array_equal(opened._image_of_feature, fresh._image_of_feature)
    assert np.array_equal(opened.observations_per_image, fresh.observations_per_image)
    assert np.array_equal(opened.covisible(2, 3), fresh.covisible(2, 3))


def test_a_deleted_map_is_really_gone(served: Served) -> None:
    room = served.map_id()
    served.localize(room, served.world.release)
    assert served.client.delete(f"/v1/maps/{room}", headers=served.owner).status_code == 204
    nothing_is_left(served)
    refused(served.localize(room, served.world.release), 404, "no map")
    refused(served.client.delete(f"/v1/maps/{room}", headers=served.owner), 404, "no map")
    assert served.upload().status_code == 201  # its name is free again


def test_its_owner_gets_a_map_back_as_it_was_uploaded(served: Served, tmp_path: Path) -> None:
    room = served.map_id()
    answer = served.client.get(f"/v1/maps/{room}/archive", headers=served.owner)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-tar"
    assert int(answer.headers["content-length"]) == len(answer.content)
    with tarfile.open(fileobj=io.BytesIO(answer.content), mode="r:") as tar:
        tar.extractall(tmp_path / "back", filter="data")
    # The files of the map and nothing that the service put beside them: no label, no index.
    assert {path.name: path.read_bytes() for path in (tmp_path / "back").iterdir()} == {
        path.name: path.read_bytes() for path in served.world.folder.iterdir() if path.is_file()
    }
    again = served.upload("again", content=answer.content)
    assert again.status_code == 201
    refused(served.client.get(f"/v1/maps/{room}/archive"), 401, "valid key")


def test_a_map_that_lost_a_file_is_not_sent_in_part(served: Served) -> None:
    room = served.map_id()
    (served.service.store.folder_of(room) / "points.npy").unlink()
    answer = served.client.get(f"/v1/maps/{room}/archive", headers=served.owner)
    refused(answer, 500, "cannot be opened any more")


def test_a_process_lets_go_of_deleted_maps(served: Served) -> None:
    room = served.map_id()
    folder = served.service.store.folder_of(room)
    maps = OpenMaps()
    world = maps.get(folder)
    assert maps.get(folder) is world
    maps.forget_deleted()
    assert maps.get(folder) is world
    served.service.store.remove("a", room)
    maps.forget_deleted()
    with pytest.raises(SfumatoError):
        maps.get(folder)


def test_two_maps_of_one_name_are_refused(served: Served) -> None:
    served.map_id()
    refused(served.upload(), 409, "'room'")
    assert served.upload("hall").status_code == 201


def test_of_two_uploads_at_once_under_one_name_one_wins(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)
    real = map_routes._unpack

    async def together(*arguments: Any) -> None:
        await real(*arguments)
        await asyncio.to_thread(both.wait, 120)

    monkeypatch.setattr(map_routes, "_unpack", together)
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(served.upload())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert len(files_of(served.service.store.maps)) == 1
    assert files_of(served.service.store.incoming) == []


def test_work_on_a_deleted_map_does_not_bring_its_folder_back(served: Served) -> None:
    """A plan or a query may still have it open; what it stores beside the map goes nowhere."""
    room = served.map_id()
    folder = served.service.store.folder_of(room)
    world = Map.load(folder)
    served.service.store.remove("a", room)
    world.word_index(tiny_dictionary(32, dimension=16))
    with pytest.raises(OSError, match="cannot be written"):
        store_derived(world)
    assert not folder.exists()
