"""Downloading from the Hugging Face hub: a model is fetched once, checked, and put in place in one step.

Each file is compared with the checksum in the repository's metadata: the SHA-256 of a large file (Git LFS), the git object id
of a small one. A model is fetched into a directory beside its own, which is renamed when all files are there and correct, so
there is never half a model under its name. A lock lets one process at a time fetch a model.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph2graph import __version__
from graph2graph.errors import DataError, first_line
from graph2graph.files import errors_naming, write_json
from graph2graph.parser import catalogue

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling


def fetch(name: str, target: Path, *, force: bool) -> None:
    """Download a model into its directory, unless it is there; `force` replaces it."""
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
                _fetch(hub, name, target)


def _fetch(hub: "HfApi", name: str, target: Path) -> None:
    """Download, check and put in place; if anything fails, nothing is left behind."""
    info = _call(name, hub.model_info, name, files_metadata=True)
    found = {file.rfilename: file for file in info.siblings or []}
    missing = [file for file in catalogue.REQUIRED if file not in found]
    if missing or not info.sha:
        raise DataError(f"{name}: not a graph2graph model: {', '.join(missing) or 'its commit'} is missing")
    part = target.with_name(f".{target.name}.part")  # no other process uses it, since this one holds the lock
    shutil.rmtree(part, ignore_errors=True)
    try:
        for file in (found[file] for file in catalogue.FILES if file in found):
            path = _call(name, hub.hf_hub_download, name, file.rfilename, revision=info.sha, local_dir=part)
            _check(name, Path(path), file)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # metadata of the hub's library
        write_json(part / catalogue.ORIGIN, {"repository": name, "endpoint": hub.endpoint, "commit": info.sha})
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
        cause = error.__cause__ or error
        reason = first_line(cause)
        raise DataError(f"{name}: cannot be downloaded from the hub: {reason}") from error


def _check(name: str, path: Path, file: "RepoSibling") -> None:
    """Compare a file with its checksum in the repository."""
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
