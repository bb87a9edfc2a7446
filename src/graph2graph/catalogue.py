"""Where models are: in a directory of the user's, or shipped with the package under a name."""

import os
from importlib import resources
from pathlib import Path

from graph2graph.errors import DataError

DEFAULT = "en"


def shipped() -> dict[str, Path]:
    """The models in the package, by name."""
    place = Path(str(resources.files("graph2graph"))) / "shipped"
    return {path.name: path for path in sorted(place.glob("*")) if (path / "config.json").is_file()}


def find(model: str | os.PathLike[str]) -> Path:
    """The directory of a model; a name is one of the shipped models, unless there is a directory of that name."""
    path = Path(model)
    if path.is_dir():
        return path
    name = os.fspath(model)
    if Path(name).name != name:
        raise DataError(f"{path}: no such model directory")
    models = shipped()
    if name not in models:
        known = f"shipped: {', '.join(models)}" if models else "none is shipped with this version"
        raise DataError(f"{name}: no such model ({known}); the directory of a trained model can be given too")
    return models[name]
