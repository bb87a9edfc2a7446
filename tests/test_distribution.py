"""The sdist and the wheel: which files they hold, how large they are, and whether an index would accept them."""

import email
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import graph2graph

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "graph2graph"
LIMIT = 100e6  # bytes; what a package index takes
NAME = f"graph2graph-{graph2graph.__version__}"
# No .conllu, so no treebank.
SUFFIXES = {".py", ".typed", ".html", ".css", ".js", ".json", ".md", ".safetensors", ".udpipe"}
PAPERS = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "NOTICE", "PKG-INFO", "README.md", "SECURITY.md", "pyproject.toml"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist and the wheel that is made from it; built without a network."""
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return directory


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    return built / f"{NAME}.tar.gz"


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(f"{NAME}.dist-info/METADATA"))


def package_files() -> set[str]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE.parent).as_posix() for path in files}


def test_the_wheel_holds_the_package_and_its_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert names == package_files() | {f"{NAME}.dist-info/{name}" for name in METADATA}


def test_the_sdist_holds_the_package_and_its_papers(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {entry.name.removeprefix(f"{NAME}/") for entry in archive if entry.isfile()}
    assert names - {".gitignore"} == {f"src/{name}" for name in package_files()} | PAPERS


def test_the_package_has_code_and_shipped_models_only() -> None:
    assert {Path(name).suffix or Path(name).name for name in package_files()} <= SUFFIXES | {"SHA256SUMS"}
    assert not any(".weights" in name or "tests/" in name for name in package_files())


def test_small_enough_and_accepted(built: Path) -> None:
    files = sorted(built.iterdir())
    assert len(files) == 2
    assert all(path.stat().st_size < LIMIT for path in files)
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_version_and_the_licences_are_stated(metadata: Message) -> None:
    assert metadata["Version"] == graph2graph.__version__
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT AND CC-BY-SA-4.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]


def test_the_notice_names_every_file_of_a_shipped_model() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    shipped = [name for name in package_files() if name.startswith("graph2graph/shipped/")]
    assert shipped
    for name in map(Path, shipped):
        assert name.parent.as_posix() in notice
        assert name.name in notice
