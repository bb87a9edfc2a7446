"""`-f/--format` is a format and `-o/--output` a path in every command that writes trees."""

import gzip
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

import pytest
import typer

from graph2graph.cli import app

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
HEARING = ["draw", TOY, "--sent-id", "hearing"]


@pytest.mark.parametrize("command", ["parse", "draw"])
@pytest.mark.parametrize("name", ["conllu", "json", "tree", "svg", "text"])
@pytest.mark.parametrize("joined", [True, False])
def test_output_refuses_the_name_of_a_format(g2g: Callable[..., Any], command: str, name: str, joined: bool) -> None:
    done = g2g(command, TOY, *([f"--output={name}"] if joined else ["--output", name]))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert f"`-f {name}`" in done.err


@pytest.mark.parametrize(
    "option", [["-o", "tree"], ["-otree"], ["--output", "./tree"], ["--output", "tree.txt"], ["--output=./json"]]
)
def test_output_is_a_path(
    g2g: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = g2g(*HEARING).out
    assert g2g(*HEARING, *option)[:3] == (0, "", "")
    [written] = tmp_path.iterdir()
    assert written.read_text() == expected


def test_format_is_long_or_short(g2g: Callable[..., Any]) -> None:
    assert g2g(*HEARING, "--format", "svg").out == g2g(*HEARING, "-f", "svg").out != g2g(*HEARING).out


def test_what_was_written_before_a_failure_is_kept(g2g: Callable[..., Any], tmp_path: Path) -> None:
    given, target = tmp_path / "in.conllu", tmp_path / "trees.txt"
    given.write_text(TOY.read_text() + "1\tword\n\n")
    target.write_text("from an earlier run")
    assert g2g("draw", given, "-o", target).code == 1
    assert target.read_text() == "from an earlier run"
    assert "hearing" in (tmp_path / "trees.txt.part").read_text()
    (tmp_path / "trees.txt.part").write_text("my own")
    done = g2g("draw", given, "-o", target)
    assert done.err.endswith(f"; what was written by then is in {tmp_path / 'trees.txt.2.part'}\n")
    assert done.err.count("\n") == 1
    assert (tmp_path / "trees.txt.part").read_text() == "my own"


@pytest.mark.slow
def test_termination_leaves_one_named_file(tmp_path: Path) -> None:
    """SIGTERM while `draw` waits for the rest of its input."""
    program = Path(sys.executable).with_name("g2g")
    target = tmp_path / "trees.txt"
    with subprocess.Popen(
        [program, "draw", "-", "-o", target], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(TOY.read_bytes() * 20)  # more than the buffers hold
        process.stdin.flush()
        while not any(file.stat().st_size for file in tmp_path.iterdir()):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    assert process.returncode == 143
    assert [file.name for file in tmp_path.iterdir()] == ["trees.txt.part"]


def test_places_that_cannot_be_written(g2g: Callable[..., Any], tmp_path: Path) -> None:
    for target, message in ((tmp_path, "Is a directory"), ("/dev/full", "No space left on device")):
        if Path(target).exists():
            assert g2g(*HEARING, "-o", target)[:3] == (1, "", f"g2g: {target}: {message}\n")


def test_standard_output_has_other_names(g2g: Callable[..., Any], tmp_path: Path) -> None:
    expected = g2g(*HEARING).out
    assert g2g(*HEARING, "-o", "/dev/stdout").out == expected
    assert g2g(*HEARING, "-o", tmp_path / "x.gz").code == 0
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()).decode() == expected


def test_all_commands_use_the_same_letters() -> None:
    """`-o` is `--output` and a path, `-f` is `--format` and a choice."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command in commands.values():
        types = get_type_hints(command.callback)
        for option in command.params:
            assert ("-o" in option.opts) == ("--output" in option.opts), command.name
            assert ("-f" in option.opts) == ("--format" in option.opts), command.name
            if "-o" in option.opts:
                assert types[option.name] is Path, command.name
            if "-f" in option.opts:
                assert get_origin(types[option.name]) is Literal, command.name
