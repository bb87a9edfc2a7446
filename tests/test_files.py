"""Files are replaced as a whole or not at all, and read the same plain, zipped or from a stream."""

import gzip
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from conftest import little_disk
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


def write_and_fail(path: Path, *, keep_partial: bool = True) -> None:
    with files.writing(path, keep_partial=keep_partial) as stream:
        stream.write(b"half")
        raise DataError("stop")


@pytest.mark.parametrize("keep_partial", [False, True])
def test_a_failure_leaves_the_old_file(tmp_path: Path, keep_partial: bool) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    with pytest.raises(DataError, match="stop"):
        write_and_fail(path, keep_partial=keep_partial)
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


def test_private_files_stay_private_and_keep_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    before = path.stat()
    with files.writing(path) as stream:
        [temporary] = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        stream.write(b"new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_link_to_nothing_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    files.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_name_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    files.write_text(path, "new")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    files.write_text(pipe, TEXT)
    reader.join()
    assert found == [TEXT.encode()]
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc here")
def test_an_open_file_of_another_name_is_written_directly(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as stream:
        before = os.fstat(stream.fileno()).st_ino
        for name in (f"/dev/fd/{stream.fileno()}", f"/proc/self/fd/{stream.fileno()}"):
            files.write_text(name, name)
            assert (tmp_path / "file").read_text() == name
    assert (tmp_path / "file").stat().st_ino == before


def test_what_a_user_has_in_a_partial_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / "file.part").write_text("mine")
    for expected in ("file.2.part", "file.3.part"):
        with pytest.raises(DataError) as raised:
            write_and_fail(path)
        assert raised.value.__notes__ == [f"what was written by then is in {tmp_path / expected}"]
        assert (tmp_path / expected).read_text() == "half"
    assert (tmp_path / "file.part").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 3


def test_runs_into_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([65 + index]) * 10**6 for index in range(3)]
    with files.writing(path) as one, files.writing(path) as two, files.writing(path) as three:
        for start in range(0, 10**6, 10**5):
            for stream, content in zip((one, two, three), contents, strict=True):
                stream.write(content[start : start + 10**5])
    assert path.read_bytes() in contents
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    with little_disk(tmp_path / "disk") as disk:
        (disk / "file").write_text("old")
        with pytest.raises(DataError, match=r"file: No space left on device$"):
            files.write_bytes(disk / "file", b"x" * 10**6)
        assert [one.name for one in disk.iterdir()] == ["file"]
        with pytest.raises(DataError) as raised, files.writing(disk / "file", keep_partial=True) as stream:
            stream.writelines([b"x" * 1000] * 1000)
        assert raised.value.__notes__ == [f"what was written by then is in {disk / 'file.part'}"]
        assert (disk / "file.part").stat().st_size > 50_000
        assert (disk / "file").read_text() == "old"


def test_a_directory_that_cannot_be_written() -> None:
    program = """
import os, sys
from graph2graph import files
from graph2graph.errors import DataError
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
try:
    files.write_text(sys.argv[1], "new")
except DataError as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as parent:  # those of pytest are closed to other users
        os.chmod(parent, 0o755)
        directory = Path(parent, "directory")
        directory.mkdir()
        (directory / "file").write_text("old")
        directory.chmod(0o555)
        command = [sys.executable, "-c", program, str(directory / "file")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"{directory / 'file'}: Permission denied\n"
        assert (directory / "file").read_text() == "old"
        assert [one.name for one in directory.iterdir()] == ["file"]


def test_lines_have_a_maximum_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("G2G_MAX_LINE", "10")
    assert read(io.BytesIO(b"123456789\n123456789\n1234567890")) == ["123456789\n", "123456789\n", "1234567890"]
    with pytest.raises(DataError, match=r"^given.txt:2: a line of more than 10 bytes; set G2G_MAX_LINE to read it all"):
        read(io.BytesIO(b"1\n1234567890\n"))
    for bad in ("", "0", "-1", "1e6", "٣", "9" * 30):
        monkeypatch.setenv("G2G_MAX_LINE", bad)
        with pytest.raises(DataError, match=r"^G2G_MAX_LINE: expected a number of bytes, found "):
            read(io.BytesIO(b""))


def test_new_directories_json_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "directory" / "values.json"
    files.write_json(path, {"é": [1, 2]})
    assert files.read_json(path) == {"é": [1, 2]}
    assert "é" in path.read_text(encoding="utf-8")
    for name in ("a.gz", "b.GZ"):
        files.write_text(tmp_path / name, TEXT)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == TEXT
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.GZ").read_bytes()


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
