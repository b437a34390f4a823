"""`sfumato map import`: a COLMAP model and the features it was made from become a map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli import options as opt
from sfumato.cli.files import refuse_existing
from sfumato.cli.map import OutputOption, upwards_of
from sfumato.cli.map_summary import show_map
from sfumato.cli.options import argument, option
from sfumato.cli.output import JsonFlag, long_work
from sfumato.core.errors import InvalidInput


def run(
    model: Annotated[
        Path, argument("MODEL", "Folder of a COLMAP model (.bin, .txt), or hloc's outputs.")
    ],
    output: OutputOption,
    features: Annotated[
        Path | None,
        option("The features it was made from (HDF5).", shown="the one in hloc's outputs"),
    ] = None,
    extractor: Annotated[
        str | None, option("Who made the features.", metavar="NAME", shown="what the file says")
    ] = None,
    up: opt.Up = None,
    as_json: JsonFlag = False,
) -> None:
    """Features of any extractor: --extractor names them, as hloc's files do not. The summary says
    how the map can be asked. Models with rigs are read as images with poses.

    Example: sfumato map import sfm/ --features features.h5 --extractor rootsift -o town-map
    """
    from sfumato.server.mapping import import_map

    upwards = upwards_of(up)
    refuse_existing(output)
    folder = find_model(model)
    file = features or find_features(model)
    with long_work() as progress:
        world = upwards(import_map(folder, file, extractor=extractor, progress=progress))
        world.save(output)
    show_map(world, output, as_json=as_json)


def find_model(folder: Path) -> Path:
    """The COLMAP model in a folder, or the only one below it, as hloc's outputs have it."""
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder of a COLMAP model at {folder}.")
    found = {path.parent for kind in ("bin", "txt") for path in folder.rglob(f"points3D.{kind}")}
    if not found:
        raise InvalidInput(
            f"{folder} holds no COLMAP model; give a folder with cameras, images and points3D, as "
            ".bin or .txt."
        )
    if folder in found:
        return folder
    # hloc leaves the models of separate components in models/ beside the largest one
    chosen = sorted(path for path in found if "models" not in path.relative_to(folder).parts)
    if len(chosen) != 1:
        many = ", ".join(path.relative_to(folder).as_posix() for path in chosen[:5])
        raise InvalidInput(
            f"{folder} must hold one COLMAP model (cameras, images, points3D), it holds "
            f"{len(chosen)}{f': {many}' if many else ''}; name the folder of the one that is meant."
        )
    return chosen[0]


def find_features(folder: Path) -> Path:
    """The only file of local features in hloc's outputs; global ones have no keypoints."""
    from sfumato.features.h5 import list_feature_names

    every = sorted({*folder.glob("*.h5"), *folder.parent.glob("*.h5")} if folder.is_dir() else ())
    inside = [path for path in every if path.parent == folder] or every
    found = [path for path in inside if list_feature_names(path)]
    if len(found) != 1:
        raise InvalidInput(
            f"{folder} must hold one file of local features (.h5), it holds {len(found)}; give "
            "--features FILE, the one the model was made from."
        )
    return found[0]
