"""A toy training that is killed, or finds the disk full or read-only, at the n-th change of its files; and then is resumed.

    python tests/faulty_training.py DIRECTORY kill|full|read-only [EVERY]

A run changes the disk in a few system calls only: files are opened for writing, renamed, cut, deleted. What a kill at any
instruction leaves is what a kill just before one of them leaves. The processes are forked, so that torch is imported once.
"""

import errno
import json
import math
import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.training import loop
from graph2graph.training.run import train
from toy_training import TINY, TOY

SETTINGS = {f"model.encoder.{name}": value for name, value in TINY.items()} | {
    "train.epochs": 2,
    "train.batch_pieces": 40,
    "train.checkpoint_steps": 1,
}
GROWS = "open", "os.mkdir"
CHANGES = *GROWS, "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod"
FINISHED, REFUSED, BROKEN = range(3)  # exit codes


def watched(output: Path, change: Callable[[int, str], None]) -> Callable[[], int]:
    """Call `change` before each change of the files of a run, with its number and kind; return what counts them."""
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in CHANGES and _is_ours(event, arguments, output):
            count += 1
            change(count, event)

    sys.addaudithook(hook)
    return lambda: count


def _is_ours(event: str, arguments: tuple[Any, ...], output: Path) -> bool:
    if not isinstance(arguments[0], (str, os.PathLike)):
        return False
    path = Path(os.fspath(arguments[0]))
    if path.is_absolute() and not path.is_relative_to(output):
        return False
    return event != "open" or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def session(output: Path, change: Callable[[int, str], None] = lambda *_: None) -> tuple[int, int]:
    """Train in a child until it ends; return its exit code, or minus its signal, and the number of changes it made."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            os.close(reader)
            loop.DRAW_EVERY = (
                math.inf
            )  # on a busy machine the curve would be drawn more often, and there would be more changes
            count = watched(output, change)
            settings = SETTINGS | {"train.batch_pieces": 90}  # a step an epoch, with all kinds of changes
            train(TOY, TOY, output, variant="sent", settings=settings, resume=True, note=lambda _: None)
            os.write(writer, str(count()).encode())
            code = FINISHED
        except DataError as error:
            code = REFUSED if len(str(error).splitlines()) == 1 else BROKEN
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as counted:
        n_changes = int(counted.read() or 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), n_changes


def contents(output: Path) -> dict[str, bytes]:
    """The files of a run by their names, without times."""
    found = {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}
    found = {name: _timeless(name, content) for name, content in found.items()}
    return {name: content.replace(str(output).encode(), b"OUTPUT") for name, content in found.items()}


def _timeless(name: str, content: bytes) -> bytes:
    if name == "metrics.jsonl":
        lines = [json.loads(line) for line in content.splitlines()]
        return json.dumps([line | {"seconds": 0} for line in lines]).encode()
    if name == "run.json":
        return json.dumps(json.loads(content) | {"seconds": 0}).encode()
    if name == "SHA256SUMS":
        return re.sub(rb"\w+( +README.md)", rb"\1", content)
    return re.sub(rb"[\d.]+ minutes", b"", content) if name == "README.md" else content


def killed(number: int) -> Callable[[int, str], None]:
    """A kill before the change with this number."""

    def change(count: int, _: str) -> None:
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return change


def failing(number: int, code: int, events: tuple[str, ...]) -> Callable[[int, str], None]:
    """A disk on which these changes fail with an error code, from the change with this number on."""

    def change(count: int, event: str) -> None:
        if count >= number and event in events:
            raise OSError(code, os.strerror(code))

    return change


FAULTS = {
    "kill": (killed, {-signal.SIGKILL}),
    "full": (partial(failing, code=errno.ENOSPC, events=GROWS), {REFUSED, FINISHED}),
    "read-only": (partial(failing, code=errno.EROFS, events=CHANGES), {REFUSED, FINISHED}),
}


def fault_at(number: int, kind: str, faulty: Path, wanted: dict[str, bytes]) -> str | None:
    """What is wrong after a fault at this change and a resumed run; None if all files are as wanted."""
    fault, expected = FAULTS[kind]
    shutil.rmtree(faulty, ignore_errors=True)
    code, _ = session(faulty, fault(number))
    if code not in expected:
        return f"exit code {code}"
    if (faulty / "model.safetensors").exists():
        Parser.load(faulty)
    if session(faulty)[0] != FINISHED:
        return "not resumed"
    found = contents(faulty)
    return (
        ", ".join(sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))) or None
    )


def main(directory: Path, kind: str, every: int = 1) -> None:
    """Try each change, and print after which the files are not those of a run without faults; none should be."""
    import torch._dynamo  # noqa: F401 - by an optimiser, which takes a second

    whole, faulty = (
        directory / "whole" / "model",
        directory / "faulty" / "model",
    )  # cards have the name of the directory
    for output in (whole, faulty):
        output.parent.mkdir(parents=True, exist_ok=True)  # else only the first run on each side would make them
    code, n_changes = session(whole)
    assert (code, n_changes > 50) == (FINISHED, True), (code, n_changes)
    wanted, numbers = contents(whole), range(1, n_changes + 1, every)
    wrong = {number: fault_at(number, kind, faulty, wanted) for number in numbers}
    wrong = {number: reason for number, reason in wrong.items() if reason is not None}
    print(f"{kind} at {len(numbers)} of {n_changes} changes; {len(wanted)} files; wrong: {wrong or 'none'}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
