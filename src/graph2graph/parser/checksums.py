"""The checksums of a model's files, in its directory: SHA256SUMS, which `sha256sum -c SHA256SUMS` reads too."""

import hashlib
from pathlib import Path

from graph2graph.errors import DataError
from graph2graph.files import errors_naming, write_text
from graph2graph.parser import catalogue


def write(directory: Path) -> None:
    """Write the checksums of the files that a model has now."""
    lines = [f"{_digest(path)}  {path.name}\n" for path in _files(directory)]
    write_text(directory / catalogue.CHECKSUMS, "".join(lines))


def verify(directory: Path) -> None:
    """Raise an error if a file of a model is missing, unlisted, or not what was written."""
    path = directory / catalogue.CHECKSUMS
    if not path.is_file():
        raise DataError(f"{path}: no checksums to verify the model by")
    with errors_naming(path):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = {file.name: file for file in _files(directory)}
    for name in [*listed, *found]:
        if name not in found:
            raise DataError(f"{path}: {name} is listed but missing")
        if name not in listed:
            raise DataError(f"{path}: {name} is not listed")
        if _digest(found[name]) != listed[name]:
            raise DataError(f"{found[name]}: not what was published: its checksum differs from {catalogue.CHECKSUMS}")


def _files(directory: Path) -> list[Path]:
    return [path for path in catalogue.files(directory) if path.name != catalogue.CHECKSUMS]


def _digest(path: Path) -> str:
    with errors_naming(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
