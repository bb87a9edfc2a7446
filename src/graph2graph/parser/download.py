"""Models from the Hugging Face hub: fetched once, checked, and put in place in one step.

What was received is compared with the checksums in the repository's own metadata: the SHA-256 of a large file (Git LFS), and
of a small one the id that git gives to its content. A model is fetched into a directory beside its place and renamed when all
of it is there and right, so that under its name there is never half a model; a lock lets one process fetch it at a time.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph2graph import __version__
from graph2graph.errors import DataError
from graph2graph.parser import catalogue

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling

ORIGIN = "origin.json"  # in the directory of a downloaded model: which repository and commit it is from
_NAME = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*", re.ASCII)


def is_offline() -> bool:
    """Whether the environment forbids the network."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def download(name: str, *, offline: bool = False, force: bool = False) -> Path:
    """The directory of a model on the hub, `owner/name`; fetched if it is not here yet, or anew by force.

    Offline, or with HF_HUB_OFFLINE set, it is only looked for here. HF_ENDPOINT may name another hub.
    """
    if not _NAME.fullmatch(name) or "--" in name or ".." in name:
        raise DataError(f"{name}: no name of a model on the hub; expected owner/name")
    here = catalogue.shipped().get(name) or catalogue.downloaded().get(name)
    if here and not force:
        return here
    if offline or is_offline():
        raise DataError(f"{name}: not downloaded, and the network is not to be used (--offline or HF_HUB_OFFLINE)")
    api = _api(name)
    target = catalogue.place_of(name)
    with _locked(target):
        if force or not target.is_dir():  # another process may have fetched it while we waited
            _fetch(api, name, target)
    return target


def _api(name: str) -> "HfApi":
    try:
        import filelock  # noqa: F401 - comes with the hub's library, and is used below
        from huggingface_hub import HfApi
    except ImportError as error:
        raise DataError(f"{name}: downloading needs pip install 'graph2graph[hub]'") from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return HfApi(endpoint=endpoint, library_name="graph2graph", library_version=__version__)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.with_name(f".{target.name}.lock"))
        with lock:
            yield
    except OSError as error:
        raise DataError(f"{target}: {error.strerror or error}") from error


def _fetch(api: "HfApi", name: str, target: Path) -> None:
    """Fetch, check and put in place; whatever goes wrong, nothing of it is left."""
    info = _asked(name, api.model_info, name, files_metadata=True)
    found = {file.rfilename: file for file in info.siblings or []}
    missing = [file for file in catalogue.NEEDED if file not in found]
    if missing or not info.sha:
        raise DataError(f"{name}: no model of graph2graph: {', '.join(missing) or 'its commit'} is missing")
    part = target.with_name(f".{target.name}.part")  # there is one at most, since we hold the lock
    shutil.rmtree(part, ignore_errors=True)
    try:
        for file in (found[file] for file in catalogue.FILES if file in found):
            path = _asked(name, api.hf_hub_download, name, file.rfilename, revision=info.sha, local_dir=part)
            _check(name, Path(path), file)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # the library's own notes
        origin = {"repository": name, "endpoint": api.endpoint, "commit": info.sha}
        (part / ORIGIN).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
        _put(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _asked(name: str, question: Any, *args: Any, **kwargs: Any) -> Any:
    """What the hub answers; if it cannot or will not, one line that says so."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        return question(*args, **kwargs)
    except GatedRepoError as error:
        raise DataError(f"{name}: the hub asks you to log in and to agree to its terms first") from error
    except RepositoryNotFoundError as error:
        raise DataError(f"{name}: no such model on the hub, or it is private") from error
    except Exception as error:  # of the network there are many kinds, and the user needs one line
        cause = error.__cause__ or error
        reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise DataError(f"{name}: not to be had from the hub: {reason}") from error


def _check(name: str, path: Path, file: "RepoSibling") -> None:
    """Compare a file with the checksum that the repository has for it."""
    expected = file.lfs.sha256 if file.lfs else file.blob_id
    digest = hashlib.sha256() if file.lfs else hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    if not expected:
        raise DataError(f"{name}: the hub has no checksum for {file.rfilename}, so it is not used")
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise DataError(f"{name}: {file.rfilename} is not what was published: its checksum is wrong; try again")


def _put(part: Path, target: Path) -> None:
    """Rename a complete directory to its place; an older one goes when that is done."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    os.replace(part, target)
    shutil.rmtree(old, ignore_errors=True)
