"""The models on this machine: shipped with the package, downloaded, or in the user's directories.

Nothing here uses the network; `hub.py` downloads models and uploads them.
"""

import os
from importlib import resources
from pathlib import Path

from graph2graph.errors import DataError
from graph2graph.files import user_cache

DEFAULT = "en"
REQUIRED = ("config.json", "labels.json", "tokenizer.json", "model.safetensors")
CHECKSUMS = "SHA256SUMS"
# All files of a model; training leaves others in its directory
FILES = (*REQUIRED, "README.md", "text.udpipe", "language.json", CHECKSUMS)
ORIGIN = "origin.json"  # in the directory of a downloaded model: its repository and commit
SLASH = "--"  # replaces the slash of owner/name in the name of a directory; no name on the hub has it


def home() -> Path:
    """The directory of downloaded models."""
    if (found := user_cache()) is None:
        raise DataError("there is no home directory to keep models in; set G2G_HOME to a directory for them")
    return found


def download_path(name: str) -> Path:
    """The directory for a downloaded model, which may be missing."""
    return home() / "models" / name.replace("/", SLASH)


def shipped() -> dict[str, Path]:
    """The models in the package, by name."""
    return _models_in(Path(str(resources.files("graph2graph"))) / "shipped")


def downloaded() -> dict[str, Path]:
    """The downloaded models, by name: owner/name, as on the hub."""
    return {name.replace(SLASH, "/"): path for name, path in _models_in(home() / "models").items()}


def find(model: str | os.PathLike[str]) -> Path:
    """The directory of a model: this directory, or that of the shipped or downloaded model of this name.

    The owner in the name of a downloaded model can be left out if only one owner's model has that name.
    """
    path, name = Path(model), os.fspath(model)
    if path.is_dir():
        return path
    of_package, of_user = shipped(), downloaded()
    if name in of_package or name in of_user:
        return of_package.get(name) or of_user[name]
    namesakes = [full for full in of_user if full.rpartition("/")[2] == name]
    if len(namesakes) == 1:
        return of_user[namesakes[0]]
    if namesakes:
        raise DataError(f"{name}: which one, {' or '.join(namesakes)}?")
    raise DataError(_not_found(name, list(of_package), list(of_user)))


def files(directory: Path) -> list[Path]:
    """The files of a model."""
    return [directory / name for name in FILES if (directory / name).is_file()]


def _models_in(directory: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(directory.glob("[!.]*")) if (path / "config.json").is_file()}


def _not_found(name: str, of_package: list[str], of_user: list[str]) -> str:
    if Path(name).name != name:
        is_hub_name = name.count("/") == 1 and name[0] not in "./~"
        hint = f", and no downloaded model of that name: g2g download {name}" if is_hub_name else ""
        return f"{name}: no such model directory{hint}"
    known = f"shipped: {', '.join(of_package)}" if of_package else "none is shipped with this version"
    known += f"; downloaded: {', '.join(of_user)}" if of_user else ""
    return (
        f"{name}: no such model ({known}); the directory of a trained model can be given too, "
        "and g2g download gets models from the hub"
    )
