"""The progress bar of `g2g parse`."""

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph2graph.treebank import conllu

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
Run = Callable[..., Any]


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(toy_model: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.conllu"
    conllu.write(list(conllu.read(TOY)) * 40, given)
    command = [
        sys.executable,
        "-m",
        "graph2graph",
        "parse",
        "--model",
        str(toy_model),
        str(given),
        "-o",
        str(tmp_path / "out"),
    ]
    quiet = subprocess.run(command, check=True, capture_output=True)
    assert (quiet.stdout, quiet.stderr) == (b"", b"")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"TERM": "xterm"}
    ) as running:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the process is
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert running.returncode == 0
    assert b"\x1b[" in shown
    assert b"parsing" in shown or b"a second" in shown
