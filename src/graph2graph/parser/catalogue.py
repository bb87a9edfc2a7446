"""The models on this machine: shipped with the package, downloaded, or in the user's directories.

Only `download` uses the network; loading a model never does. There is never half a model under its name.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph2graph import __version__
from graph2graph.errors import DataError, first_line
from graph2graph.files import errors_naming, user_cache, write_json

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling

DEFAULT = "en"
REQUIRED = ("config.json", "labels.json", "tokenizer.json", "model.safetensors")
FILES = (*REQUIRED, "README.md", "text.udpipe")  # all files of a model; training leaves others in its directory
ORIGIN = "origin.json"  # in the directory of a downloaded model: its repository and commit
_SLASH = "--"  # replaces the slash of owner/name in the name of a directory; no name on the hub has it
_NAME = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*", re.ASCII)


def home() -> Path:
    """The directory of downloaded models."""
    if (found := user_cache()) is None:
        raise DataError("there is no home directory to keep models in; set G2G_HOME to a directory for them")
    return found


def download_path(name: str) -> Path:
    """The directory for a downloaded model, which may be missing."""
    return home() / "models" / name.replace("/", _SLASH)


def shipped() -> dict[str, Path]:
    """The models in the package, by name."""
    return _models_in(Path(str(resources.files("graph2graph"))) / "shipped")


def downloaded() -> dict[str, Path]:
    """The downloaded models, by name: owner/name, as on the hub."""
    return {name.replace(_SLASH, "/"): path for name, path in _models_in(home() / "models").items()}


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


def download(name: str, *, offline: bool = False, force: bool = False) -> Path:
    """Download a model from the hub, `owner/name`, if it is missing or with `force`; return its directory.

    With `offline`, or HF_HUB_OFFLINE in the environment, nothing is downloaded. HF_ENDPOINT selects another hub.
    """
    if not _NAME.fullmatch(name) or _SLASH in name or ".." in name:
        raise DataError(f"{name}: not the name of a model on the hub; expected owner/name")
    present = shipped().get(name) or downloaded().get(name)
    if present and not force:
        return present
    if offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise DataError(f"{name}: not downloaded, and --offline or HF_HUB_OFFLINE forbids the network")
    target = download_path(name)
    _fetch(name, target, force=force)
    return target


def _fetch(name: str, target: Path, *, force: bool) -> None:
    """Download a model into its directory, unless it is there; a lock lets one process at a time do that."""
    try:
        from filelock import FileLock
        from huggingface_hub import HfApi
    except ImportError as error:
        raise DataError(f"{name}: downloading needs pip install 'graph2graph[hub]'") from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    hub = HfApi(endpoint=endpoint, library_name="graph2graph", library_version=__version__)
    with errors_naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock")):
            if force or not target.is_dir():  # another process may have fetched it while this one waited
                _fetch_files(hub, name, target)


def _fetch_files(hub: "HfApi", name: str, target: Path) -> None:
    """Download into a directory beside the model's, which is renamed when all files are there and correct."""
    info = _call(name, hub.model_info, name, files_metadata=True)
    found = {file.rfilename: file for file in info.siblings or []}
    missing = [file for file in REQUIRED if file not in found]
    if missing or not info.sha:
        raise DataError(f"{name}: not a graph2graph model: {', '.join(missing) or 'its commit'} is missing")
    part = target.with_name(f".{target.name}.part")  # no other process uses it, since this one holds the lock
    shutil.rmtree(part, ignore_errors=True)
    try:
        for file in (found[file] for file in FILES if file in found):
            path = _call(name, hub.hf_hub_download, name, file.rfilename, revision=info.sha, local_dir=part)
            _check(name, Path(path), file)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # metadata of the hub's library
        write_json(part / ORIGIN, {"repository": name, "endpoint": hub.endpoint, "commit": info.sha})
        _replace(target, part)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _call(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the hub's library; its errors become one line for the user."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        return function(*args, **kwargs)
    except GatedRepoError as error:
        raise DataError(f"{name}: the hub asks you to log in and to agree to its terms first") from error
    except RepositoryNotFoundError as error:
        raise DataError(f"{name}: no such model on the hub, or it is private") from error
    except Exception as error:  # a network fails in many ways
        raise DataError(f"{name}: cannot be downloaded from the hub: {first_line(error.__cause__ or error)}") from error


def _check(name: str, path: Path, file: "RepoSibling") -> None:
    """Compare a file with its checksum: the SHA-256 of a large file (Git LFS), the git object id of a small one."""
    expected = file.lfs.sha256 if file.lfs else file.blob_id
    digest = hashlib.sha256() if file.lfs else hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    if not expected:
        raise DataError(f"{name}: the hub has no checksum for {file.rfilename}, so it is not used")
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: digest).hexdigest()
    if found != expected:
        raise DataError(f"{name}: {file.rfilename} is not what was published: its checksum is wrong; try again")


def _replace(target: Path, new: Path) -> None:
    """Replace a directory, and remove the old one last."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


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
