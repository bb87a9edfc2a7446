"""Files are replaced as a whole or not at all, and read the same plain, zipped or from a stream."""

import gzip
import io
import os
from pathlib import Path

import pytest

from graph2graph import files
from graph2graph.errors import DataError

TEXT = "one\ntwo, too\r\nünï\n"


def read(source: Path | io.BytesIO, **options: int) -> list[str]:
    return list(files.read_lines(source, "given.txt", **options))


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_lines_of_plain_and_zipped_files_and_streams(tmp_path: Path, start: bytes) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(start + TEXT.encode())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    stream = io.BytesIO(plain.read_bytes())
    assert read(plain) == read(packed) == read(stream) == TEXT.splitlines(keepends=True)
    assert not stream.closed
    assert read(plain, limit=4) == ["one\n", "two,", " too", "\r\n", "ünï\n"]


def test_lines_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^given\.txt:2: invalid UTF-8 at position 3$"):
        read(io.BytesIO(b"one\nab\xff\n"))
    with pytest.raises(DataError, match=r"^given\.txt: broken gzip data: "):
        read(io.BytesIO(gzip.compress(TEXT.encode())[:-9]))
    with pytest.raises(DataError, match=r"^given\.txt: No such file or directory$"):
        read(tmp_path / "none")


@pytest.mark.parametrize("keep_partial", [False, True])
def test_a_failure_leaves_the_old_file(tmp_path: Path, keep_partial: bool) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with files.writing(path, keep_partial=keep_partial) as stream:
            stream.write(b"half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert path.read_text() == "old"
    assert {one.name: one.read_text() for one in tmp_path.iterdir() if one != path} == (
        {"file.part": "half"} if keep_partial else {}
    )


def test_a_link_keeps_its_target_and_a_file_its_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_new_directories_json_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "directory" / "values.json"
    files.write_json(path, {"é": [1, 2]})
    assert files.read_json(path) == {"é": [1, 2]}
    assert "é" in path.read_text(encoding="utf-8")
    for name in ("a.gz", "b.gz"):
        files.write_text(tmp_path / name, TEXT)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == TEXT
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_json_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match=r"bad\.json: not JSON: "):
        files.read_json(tmp_path / "bad.json")
    with pytest.raises(DataError, match=r"none\.json: No such file or directory"):
        files.read_json(tmp_path / "none.json")


def test_errors_stay_on_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised, files.writing(tmp_path / "no\nsuch" / "file"):
        pass
    assert "\n" not in str(raised.value)
    if os.path.exists("/dev/full"):
        with pytest.raises(DataError, match="/dev/full: No space left on device"):
            files.write_bytes("/dev/full", b"x" * 10**6)
