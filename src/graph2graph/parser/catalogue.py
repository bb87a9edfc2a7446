"""Where models are: in a directory of the user's, shipped with the package under a name, or downloaded.

Nothing here touches the network: a model that is on none of these places is fetched by `g2g download` (download.py), and by
nothing else.
"""

import os
from importlib import resources
from pathlib import Path

from graph2graph.errors import DataError

DEFAULT = "en"
NEEDED = ("config.json", "labels.json", "tokenizer.json", "model.safetensors")
FILES = (*NEEDED, "README.md", "text.udpipe")  # all that a model is; a run leaves more in its directory
_SLASH = "--"  # stands for that of owner/name in the name of a directory; names on the hub have none


def home() -> Path:
    """Where downloaded models are kept: G2G_HOME, or graph2graph in the user's cache."""
    if chosen := os.environ.get("G2G_HOME"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graph2graph"


def place_of(name: str) -> Path:
    """The directory that a downloaded model of this name is in, or will be."""
    return home() / "models" / name.replace("/", _SLASH)


def shipped() -> dict[str, Path]:
    """The models in the package, by name."""
    return _models_in(Path(str(resources.files("graph2graph"))) / "shipped")


def downloaded() -> dict[str, Path]:
    """The models that were downloaded, by name: owner/name, as on the hub."""
    return {name.replace(_SLASH, "/"): path for name, path in _models_in(home() / "models").items()}


def find(model: str | os.PathLike[str]) -> Path:
    """The directory of a model: one of the user's, or of a shipped or a downloaded model.

    The user's own goes first, then what is shipped. Of a downloaded model the name alone will do if no other owner has one.
    """
    path, name = Path(model), os.fspath(model)
    if path.is_dir():
        return path
    here, fetched = shipped(), downloaded()
    if name in here or name in fetched:
        return here.get(name) or fetched[name]
    namesakes = [full for full in fetched if full.rpartition("/")[2] == name]
    if len(namesakes) == 1:
        return fetched[namesakes[0]]
    if namesakes:
        raise DataError(f"{name}: which one, {' or '.join(namesakes)}?")
    raise DataError(_not_found(name, list(here), list(fetched)))


def files(directory: Path) -> list[Path]:
    """The files of a model."""
    return [directory / name for name in FILES if (directory / name).is_file()]


def _models_in(place: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(place.glob("[!.]*")) if (path / "config.json").is_file()}


def _not_found(name: str, here: list[str], fetched: list[str]) -> str:
    if Path(name).name != name:
        hint = (
            f", nor was such a model downloaded: g2g download {name}"
            if name.count("/") == 1 and name[0] not in "./~"
            else ""
        )
        return f"{name}: no such model directory{hint}"
    known = f"shipped: {', '.join(here)}" if here else "none is shipped with this version"
    known += f"; downloaded: {', '.join(fetched)}" if fetched else ""
    return (
        f"{name}: no such model ({known}); the directory of a trained model can be given too, "
        "and g2g download gets models from the hub"
    )
