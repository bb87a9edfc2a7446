"""The trial of precisions: in a child process that may die or hang, remembered where that is possible, never a second time."""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from graph2graph.encoder import probe
from graph2graph.encoder.probe import RETRY_AFTER, Trial, try_all
from graph2graph.files import read_json

LINE = json.dumps(Trial("parse", "fp32", 0.5)._asdict())
DIES = f"import os, signal; print({LINE!r}, flush=True); os.kill(os.getpid(), signal.SIGILL)"
HANGS = f"import time; print({LINE!r}, flush=True); time.sleep(600)"
TALKS = f"print('hello'); print({LINE!r}); print('{{\"work\": 1}}'); print({LINE!r}[:20])"


def fake(program: str) -> Sequence[str]:
    return [sys.executable, "-c", program]


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the trials, which are not made."""
    made: list[int] = []

    def pretend() -> tuple[list[Trial], bool]:
        made.append(1)
        return [Trial("parse", "bf16", 0.1)], True

    monkeypatch.setattr(probe, "try_all", pretend)
    return made


def trials_of_a_new_process() -> list[Trial]:
    probe._trials.cache_clear()
    return probe.trials()


@pytest.mark.parametrize(("program", "is_complete"), [(DIES, True), (HANGS, False), (TALKS, True), ("", True)])
def test_what_a_child_printed_counts(program: str, is_complete: bool) -> None:
    expected = [Trial("parse", "fp32", 0.5)] if program else []
    assert try_all(fake(program), timeout=3) == (expected, is_complete)


@pytest.mark.slow
def test_the_child_tries_all_precisions() -> None:
    made, is_complete = try_all()
    assert is_complete
    assert [(one.work, one.precision) for one in made if one.works][:1] == [("parse", "fp32")]
    assert all(0 < one.seconds < 60 for one in made)


def test_the_answer_is_remembered(tries: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("G2G_HOME", str(tmp_path / "new" / "home"))
    for _ in range(3):
        assert trials_of_a_new_process() == [Trial("parse", "bf16", 0.1)]
    assert len(tries) == 1
    [file] = (tmp_path / "new" / "home").iterdir()
    assert "torch" in read_json(file)["machine"]
    for broken in ("", "[]", '{"trials": [{}], "is_complete": true}'):
        file.write_text(broken)
        trials_of_a_new_process()
    assert len(tries) == 4


def test_an_incomplete_answer_is_tried_again_the_next_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("G2G_HOME", str(tmp_path))
    tries = []
    monkeypatch.setattr(probe, "try_all", lambda: (tries.append(1) or [], False))
    trials_of_a_new_process()
    trials_of_a_new_process()
    assert len(tries) == 1
    [file] = tmp_path.iterdir()
    yesterday = time.time() - RETRY_AFTER - 1
    os.utime(file, (yesterday, yesterday))
    trials_of_a_new_process()
    assert len(tries) == 2


def test_without_a_cache_it_is_tried_in_each_process(
    tries: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("G2G_HOME", str(tmp_path / "file" / "home"))  # cannot be written, whoever we are
    assert trials_of_a_new_process() == probe.trials() == [Trial("parse", "bf16", 0.1)]
    assert len(tries) == 1
    for variable in ("G2G_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert trials_of_a_new_process() == [Trial("parse", "bf16", 0.1)]
    assert len(tries) == 2


@pytest.fixture(autouse=True)
def forget() -> None:
    """Later tests see the machine as it is."""
    probe._trials.cache_clear()
