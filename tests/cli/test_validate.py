"""`g2g validate` and `g2g oracle`: files that cannot be read, and trees that are missing."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from graph2graph.treebank import conllu
from malformed import AFTER, BEFORE, CASES, with_heads

G2g = Callable[..., Result]


def test_validate_reports_every_file(tmp_path: Path, g2g: G2g) -> None:
    good, bad, missing = tmp_path / "good.conllu", tmp_path / "bad.conllu", tmp_path / "missing.conllu"
    good.write_text(BEFORE)
    bad.write_text("oops\n")
    result = g2g("validate", missing, bad, good, tmp_path, bad)
    assert result.code == 1
    assert result.out.splitlines() == [
        f"{missing}: No such file or directory",
        f"{bad}:1: expected 10 tab-separated columns, found 1",
        f"{tmp_path}: Is a directory",
        f"{bad}:1: expected 10 tab-separated columns, found 1",
    ]
    assert result.err == "4 problems\n"


def test_validate_what_is_fine(tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "good.conllu.gz"
    path.write_bytes(gzip.compress(BEFORE.encode()))
    assert g2g("validate", path) == (0, "", "", b"")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_a_treebank_without_sentences(tmp_path: Path, g2g: G2g, data: bytes) -> None:
    path = tmp_path / "empty.conllu"
    path.write_bytes(data)
    assert g2g("validate", path) == (0, "", "", b"")
    assert '"sentences": 0' in g2g("oracle", "--json", path).out


def test_oracle_wants_files(tmp_path: Path, g2g: G2g) -> None:
    assert g2g("oracle", tmp_path) == (1, "", f"g2g: {tmp_path}: Is a directory\n", b"")
    missing = tmp_path / "missing.conllu"
    assert g2g("oracle", missing) == (1, "", f"g2g: {missing}: No such file or directory\n", b"")


def test_oracle_wants_trees(tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "unparsed.conllu"
    path.write_text(BEFORE + "".join(with_heads(3, "_", 0, 3)) + AFTER)
    expected = f"g2g: {path}:8: word 2 has no head; expected a parsed file (sent_id s1)\n"
    assert g2g("validate", path).code == 0
    for arguments in (["oracle"], ["oracle", "--play"]):
        result = g2g(*arguments, path)
        assert (result.code, result.err) == (1, expected)


@pytest.mark.parametrize("arguments", [[], ["oracle"], ["validate"], ["oracle", "--swap", "never", "x"], ["nonsense"]])
def test_wrong_usage(g2g: G2g, arguments: list[str]) -> None:
    result = g2g(*arguments)
    assert result.code == 2
    assert "Usage:" in result.out + result.err
    assert "Traceback" not in result.out + result.err


def test_two_subjects_or_objects_are_found_when_strict(tmp_path: Path, g2g: G2g) -> None:
    labels = ["nsubj", "root", "csubj:pass", "obj", "nsubj:outer", "obj", "iobj"]
    rows = [f"{word}\tw{word}\t_\t_\t_\t_\t{2 * (word != 2)}\t{label}\t_\t_\n" for word, label in enumerate(labels, 1)]
    path = tmp_path / "two.conllu"
    path.write_text("# sent_id = one\n" + "".join(rows) + "\n" + BEFORE + "oops\n")
    plain = g2g("validate", path)
    assert (plain.code, plain.out.count("\n"), plain.err) == (1, 1, "")
    strict = g2g("validate", "--strict", path)
    assert strict.code == 1
    assert strict.out.splitlines() == [
        f"{path}:3: word 2 has 2 subjects: 1 w1 and 3 w3 (sent_id one)",
        f"{path}:3: word 2 has 2 objects: 4 w4 and 6 w6 (sent_id one)",
        *plain.out.splitlines(),
    ]
    assert strict.err == "3 problems: 1 with several subjects, 1 with several objects, 1 malformed\n"


def test_bombs_are_refused_in_a_line(tmp_path: Path, g2g: G2g) -> None:
    zeros = tmp_path / "zeros.conllu.gz"
    with gzip.open(zeros, "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(bytes(10**6))
    long = tmp_path / "long.conllu"
    long.write_text(f"1\t{'w' * 10**7}\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    message = "a line of more than 1,000,000 bytes; set G2G_MAX_LINE to read it all the same"
    result = g2g("validate", zeros, long)
    assert (result.code, result.out.splitlines()) == (1, [f"{zeros}:1: {message}", f"{long}:1: {message}"])
    for command in ("oracle", "draw"):
        assert g2g(command, zeros)[:3] == (1, "", f"g2g: {zeros}:1: {message}\n")


def real_g2g(*args: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = Path(sys.executable).with_name("g2g")
    return subprocess.run([command, *map(str, args)], input=stdin, capture_output=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["validate", "draw", "evaluate"])
def test_a_full_standard_output(command: str, tmp_path: Path) -> None:
    path = tmp_path / "file.conllu"
    path.write_text("oops\n" if command == "validate" else BEFORE)
    program = Path(sys.executable).with_name("g2g")
    with open("/dev/full", "wb") as full:
        files = [path, path] if command == "evaluate" else [path]
        done = subprocess.run([program, command, *files], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, "g2g: standard output: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three roots", "gzip cut after 40 bytes", "0xff, line 7", "a picture"])
def test_the_real_command(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    path = tmp_path / "bad.conllu"
    path.write_bytes(case.data)
    lines = [str(problem) for problem in conllu.problems(path)]
    validated = real_g2g("validate", path)
    assert (validated.returncode, validated.stdout.decode().splitlines()) == (1, lines)
    rebuilt = real_g2g("oracle", "-", stdin=case.data)
    assert rebuilt.returncode == 1
    assert rebuilt.stdout == b""
    assert rebuilt.stderr.decode() == f"g2g: {lines[0]}\n".replace(str(path), "<stdin>")
