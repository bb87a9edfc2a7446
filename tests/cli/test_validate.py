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


def real_g2g(*args: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = Path(sys.executable).with_name("g2g")
    return subprocess.run([command, *map(str, args)], input=stdin, capture_output=True, timeout=60, check=False)


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
