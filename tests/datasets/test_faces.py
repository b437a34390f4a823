"""Layouts of face datasets: recognised, read exactly, refused when they are not whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.faces import open_faces, people_in_no_pair, some_faces


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (20, 20)).save(path)


def test_identity_folders_come_in_their_natural_order(tmp_path: Path) -> None:
    for person in ("s10", "s2", "s1"):
        for number in (10, 1):
            touch(tmp_path / person / f"{number}.png")
    (tmp_path / "README").write_text("not a person")
    found = open_faces(tmp_path)
    assert found.layout == "identities"
    assert found.pictures == ("s1/1.png", "s1/10.png", "s2/1.png", "s2/10.png", "s10/1.png",
                              "s10/10.png")  # fmt: skip
    assert found.identities == ("s1", "s1", "s2", "s2", "s10", "s10")
    alone = tmp_path / "alone"
    touch(alone / "me" / "1.png")
    with pytest.raises(InvalidInput, match="at least two people, it has 1"):
        open_faces(alone)


def test_lfw_pairs(tmp_path: Path) -> None:
    text = "2\t1\nAnna\t1\t2\nAnna\t1\tBert\t3\nCleo\t1\t4\nCleo\t2\tDora\t1\n"
    (tmp_path / "pairs.txt").write_text(text)
    found = open_faces(tmp_path)
    assert found.layout == "lfw"
    assert found.pairs is not None
    assert found.pairs.same.tolist() == [True, False, True, False]
    assert found.pairs.folds.tolist() == [0, 0, 1, 1]
    assert found.pictures[found.pairs.second[1]] == "Bert/Bert_0003.jpg"
    (tmp_path / "lfw").mkdir()
    assert open_faces(tmp_path).pictures[0] == "lfw/Anna/Anna_0001.jpg"
    for broken, sentence in (
        ("", "must begin with"),
        (text[: len(text) // 2], "lines follow"),
        (text.replace("Anna\t1\t2", "Anna\t1"), "no pair in line 2"),
        (text.replace("Bert", "../../Bert"), "outside its folder"),
        ("2\t1\n" + "A\t1\tB\t2\n" * 4, "fold 1 of 2 has 0 and 2"),
    ):
        (tmp_path / "pairs.txt").write_text(broken)
        with pytest.raises(InvalidInput, match=sentence):
            open_faces(tmp_path)


def test_cfp_front_to_front_and_front_to_profile(tmp_path: Path) -> None:
    protocol = tmp_path / "Protocol"
    for kind, folder in (("F", "frontal"), ("P", "profile")):
        lines = [f"{i + 1} ../Data/Images/{i // 2 + 1:03d}/{folder}/{i % 2 + 1:02d}.jpg"
                 for i in range(4)]  # fmt: skip
        protocol.mkdir(exist_ok=True)
        (protocol / f"Pair_list_{kind}.txt").write_text("\n".join(lines))
    for kind in ("FF", "FP"):
        for fold in ("01", "02"):
            home = protocol / "Split" / kind / fold
            home.mkdir(parents=True)
            (home / "same.txt").write_text("1,2\n")
            (home / "diff.txt").write_text("1,3\n")
    front = open_faces(tmp_path)
    assert front.layout == "cfp-ff"
    assert front.pairs is not None
    assert front.pictures[front.pairs.second[1]] == "Data/Images/002/frontal/01.jpg"
    profile = open_faces(tmp_path, "cfp-fp")
    assert profile.pairs is not None
    assert profile.pictures[profile.pairs.first[1]] == "Data/Images/001/frontal/01.jpg"
    assert profile.pictures[profile.pairs.second[1]] == "Data/Images/002/profile/01.jpg"
    assert set(profile.identities) == {"001", "002"}
    (home / "same.txt").write_text("1,9\n")
    with pytest.raises(InvalidInput, match="pairs of numbers"):
        open_faces(tmp_path, "cfp-fp")


def test_listed_pairs_fall_in_ten_folds(tmp_path: Path) -> None:
    file = tmp_path / "agedb_30_ann.txt"
    file.write_text("".join(f"{i % 2} im/{i}.jpg im/{i + 1}.jpg\n" for i in range(40)))
    found = open_faces(tmp_path)
    assert (found.layout, found.identities) == ("listed", ())
    assert found.pairs is not None
    assert found.pairs.num_folds == 10
    file.write_text("2 a.jpg b.jpg\n")
    with pytest.raises(InvalidInput, match="no pair in line 1"):
        open_faces(tmp_path)


def test_attributes_in_names_and_tables(tmp_path: Path) -> None:
    utk = tmp_path / "utk"
    touch(utk / "26_1_3_20170116184024662.jpg")
    touch(utk / "5_0_4_20170116184024663.jpg.chip.jpg")
    found = open_faces(utk)
    assert found.layout == "utkface"
    assert dict(found.attributes) == {
        "gender": ("female", "male"),
        "race": ("indian", "others"),
        "age": ("20-29", "0-9"),
    }
    touch(utk / "61_1_20170109142408075.jpg")  # UTKFace has such names
    with pytest.raises(InvalidInput, match="named age_gender_race_date, 1 of 3 are not"):
        open_faces(utk, "utkface")
    for number in range(200):
        touch(utk / f"{number % 90}_0_1_2017{number:013d}.jpg")
    found = open_faces(utk)  # one in a hundred may be misnamed: named, and left out
    assert found.layout == "utkface"
    assert found.left_out == ("61_1_20170109142408075.jpg",)
    assert len(found) == len(found.attributes["race"]) == 202
    age = tmp_path / "agedb"
    touch(age / "0_MariaCallas_35_f.jpg")
    touch(age / "1_AnnaB_C_71_m.jpg")
    found = open_faces(age)
    assert (found.layout, found.identities) == ("agedb", ("MariaCallas", "AnnaB_C"))
    assert found.attributes["age"] == ("30-39", "70-79")
    fair = tmp_path / "fair"
    fair.mkdir()
    table = fair / "fairface_label_val.csv"
    head = "file,age,gender,race,service_test\n"
    table.write_text(
        head + "val/1.jpg,3-9,Male,East Asian,False\nval/2.jpg,50-59,Female,White,True"
    )
    found = open_faces(fair)
    assert found.pictures == ("val/1.jpg", "val/2.jpg")
    assert found.attributes["race"] == ("East Asian", "White")
    table.rename(fair / "labels.csv")
    assert open_faces(fair).attributes == found.attributes
    (fair / "labels.csv").rename(table)
    for broken in (head + "val/1.jpg,3-9,Male", head + "../1.jpg,3-9,Male,White,True", "a\n1\n"):
        table.write_text(broken)
        with pytest.raises(InvalidInput, match="must have columns"):
            open_faces(fair)


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no folder of faces"):
        open_faces(tmp_path / "none")
    with pytest.raises(InvalidInput, match="layout must be one of"):
        open_faces(tmp_path, "vggface")
    with pytest.raises(InvalidInput, match="at least two people, it has 0"):
        open_faces(tmp_path)


def test_public_faces_of_lfw_are_its_people_in_no_pair(tmp_path: Path) -> None:
    text = "2\t1\nAnna\t1\t2\nAnna\t1\tBert\t3\nCleo\t1\t4\nCleo\t2\tDora\t1\n"
    (tmp_path / "pairs.txt").write_text(text)
    for name in ("Anna", "Bert", "Emil", "Faye"):
        touch(tmp_path / "lfw" / name / f"{name}_0001.jpg")
    rest = people_in_no_pair(tmp_path)
    assert rest.pictures == ("lfw/Emil/Emil_0001.jpg", "lfw/Faye/Faye_0001.jpg")
    assert rest.identities == ("Emil", "Faye")
    for name in ("Emil", "Faye"):
        (tmp_path / "lfw" / name / f"{name}_0001.jpg").unlink()
    with pytest.raises(InvalidInput, match="is in a pair; give a folder"):
        people_in_no_pair(tmp_path)
    touch(tmp_path / "other" / "a" / "1.png")
    touch(tmp_path / "other" / "b" / "1.png")
    with pytest.raises(InvalidInput, match="only LFW has"):
        people_in_no_pair(tmp_path / "other")


def test_a_part_of_the_faces_has_whole_people_from_everywhere(tmp_path: Path) -> None:
    for person in range(20):
        for number in range(3):
            touch(tmp_path / "p" / f"s{person}" / f"{number}.png")
    part = some_faces(open_faces(tmp_path / "p"), 15)
    assert len(part) == 15
    assert [part.identities.count(who) for who in dict.fromkeys(part.identities)] == [3] * 5
    assert {int(who[1:]) // 10 for who in part.identities} == {0, 1}
    assert some_faces(part, 100) is part
    with pytest.raises(InvalidInput, match="at least 2"):
        some_faces(part, 1)


def test_a_part_of_a_set_with_pairs_keeps_every_fold_and_kind(tmp_path: Path) -> None:
    file = tmp_path / "agedb_30_ann.txt"
    file.write_text("".join(f"{i % 2} im/{i}.jpg im/{i + 1}.jpg\n" for i in range(400)))
    whole = open_faces(tmp_path)
    part = some_faces(whole, 100)
    assert part.pairs is not None
    assert part.pairs.num_folds == 10
    assert len(part.pairs) == 80
    assert len(part) < 200
    first = part.pictures[part.pairs.first[0]]
    assert first in whole.pictures
