"""The progress bar of `g2g parse`."""

import contextlib
import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from graph2graph.cli import progress
from graph2graph.cli.inputs import find_inputs
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

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
    n_words = sum(map(len, conllu.read(given)))
    assert f"parsed {n_words:,} words in 280 sentences".encode() in shown


class Terminal(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["toy.conllu", "тест.txt"])
def test_the_bar_counts_every_sentence_and_ends_full_with_the_totals(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch comes at once: the bar used to stand at the words of its first sentence."""
    path, sentences = tmp_path / name, list(conllu.read(TOY))
    if name.endswith(".txt"):
        sentences = [Sentence.from_words(["Всё", "хорошо", "."])] * 7
        path.write_text("\n".join(sentence.text for sentence in sentences) + "\n", encoding="utf-8")
    else:
        path.write_bytes(TOY.read_bytes())
    terminal, bars = Terminal(), list[Progress]()
    monkeypatch.setattr(progress, "is_quiet", lambda: False)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(
        progress, "Progress", lambda *columns, **given: bars.append(Progress(*columns, **given)) or bars[0]
    )
    shown = []
    for _ in progress.with_progress(sentences, find_inputs([path], None, None)):
        shown.append(bars[0].tasks[0].description.partition(" words")[0])
    numbers = [sum(map(len, sentences[: n + 1])) for n in range(len(sentences))]
    assert shown == [f"{number:,}" for number in numbers]
    assert bars[0].finished
    assert f"parsed {numbers[-1]:,} words in 7 sentences: " in terminal.getvalue().splitlines()[-1]
