"""Models on the Hugging Face hub: downloaded and uploaded, file by file, each compared with its checksum.

There is never half a model under its name. HF_ENDPOINT selects another hub.
"""

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph2graph import __version__
from graph2graph.errors import DataError, first_line
from graph2graph.files import errors_naming, write_json
from graph2graph.parser import catalogue, checksums
from graph2graph.parser.catalogue import FILES, ORIGIN, REQUIRED, SLASH

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling

LOGGER = logging.getLogger("graph2graph")
_NAME = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*", re.ASCII)
_LICENCE = re.compile(r"---\n(?:(?!---).*\n)*?license: *\S")  # in the lines between --- at the start of a card


def download(name: str, *, offline: bool = False, force: bool = False) -> Path:
    """Download a model from the hub, `owner/name`, if it is missing or with `force`; return its directory.

    With `offline`, or HF_HUB_OFFLINE in the environment, nothing is downloaded. HF_ENDPOINT selects another hub.
    """
    _check_name(name)
    present = catalogue.shipped().get(name) or catalogue.downloaded().get(name)
    if present and not force:
        return present
    if offline or _is_offline():
        raise DataError(f"{name}: not downloaded, and --offline or HF_HUB_OFFLINE forbids the network")
    target = catalogue.download_path(name)
    _fetch(name, target, force=force)
    return target


def upload(directory: Path, name: str, *, private: bool = False) -> str:
    """Upload the files of a model to the hub as `owner/name`, which is created if it is new; return the page of the commit.

    The token is that of huggingface-hub: from HF_TOKEN, or `hf auth login`. Files of a training that are no part of the model
    stay here.
    """
    _check_name(name)
    if "/" not in name:
        raise DataError(f"{name}: expected owner/name")
    if _is_offline():
        raise DataError(f"{name}: not uploaded, because HF_HUB_OFFLINE forbids the network")
    from graph2graph.parser.model_directory import read_settings  # imports torch, which downloading does without

    read_settings(directory)
    card = directory / "README.md"
    if not card.is_file() or not _LICENCE.match(card.read_text(encoding="utf-8", errors="replace")):
        raise DataError(
            f"{card}: states no licence; begin it with the lines ---, license: cc-by-sa-4.0 (or another) and ---"
        )
    checksums.write(directory)
    hub = _hub(name)
    _call(name, "uploaded to", hub.create_repo, name, private=private, exist_ok=True)
    found = [path.name for path in catalogue.files(directory)]
    commit = _call(
        name,
        "uploaded to",
        hub.upload_folder,
        repo_id=name,
        folder_path=directory,
        allow_patterns=found,
        commit_message="Upload with g2g upload",
    )
    return str(commit.commit_url)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or SLASH in name or ".." in name:
        raise DataError(f"{name}: not the name of a model on the hub; expected owner/name")


def _is_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _hub(name: str) -> "HfApi":
    """The hub's library."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise DataError(f"{name}: the hub needs pip install 'graph2graph[hub]'") from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return HfApi(endpoint=endpoint, library_name="graph2graph", library_version=__version__)


def _fetch(name: str, target: Path, *, force: bool) -> None:
    """Download a model into its directory, unless it is there; a lock lets one process at a time do that."""
    hub = _hub(name)
    from filelock import FileLock

    with errors_naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock")):
            if force or not target.is_dir():  # another process may have fetched it while this one waited
                _fetch_files(hub, name, target)


def _fetch_files(hub: "HfApi", name: str, target: Path) -> None:
    """Download into a directory beside the model's, which is renamed when all files are there and correct."""
    info = _call(name, "downloaded from", hub.model_info, name, files_metadata=True)
    found = {file.rfilename: file for file in info.siblings or []}
    missing = [file for file in REQUIRED if file not in found]
    if missing or not info.sha:
        raise DataError(f"{name}: not a graph2graph model: {', '.join(missing) or 'its commit'} is missing")
    part = target.with_name(f".{target.name}.part")  # no other process uses it, since this one holds the lock
    shutil.rmtree(part, ignore_errors=True)
    try:
        for file in (found[file] for file in FILES if file in found):
            LOGGER.debug("%s: downloading %s", name, file.rfilename)
            path = _call(
                name, "downloaded from", hub.hf_hub_download, name, file.rfilename, revision=info.sha, local_dir=part
            )
            _check(name, Path(path), file)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # metadata of the hub's library
        write_json(part / ORIGIN, {"repository": name, "endpoint": hub.endpoint, "commit": info.sha})
        _replace(target, part)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _call(name: str, done: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the hub's library; its errors become one line for the user."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    try:
        return function(*args, **kwargs)
    except GatedRepoError as error:
        raise DataError(f"{name}: the hub asks you to log in and to agree to its terms first") from error
    except RepositoryNotFoundError as error:
        raise DataError(f"{name}: no such model on the hub, or it is private") from error
    except Exception as error:  # a network fails in many ways
        is_refused = isinstance(error, HfHubHTTPError) and getattr(error.response, "status_code", 0) in (401, 403)
        why = "it wants a token with the right to, in HF_TOKEN" if is_refused else first_line(error.__cause__ or error)
        raise DataError(f"{name}: cannot be {done} the hub: {why}") from error


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
