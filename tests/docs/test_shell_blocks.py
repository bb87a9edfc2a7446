"""Every command in README and docs runs as written; `markdown_blocks` says how pages mark what is run and what is not."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_blocks import ROOT, Block, blocks, blocks_in, check_output, pages

TOY = ROOT / "tests" / "data" / "toy.conllu"
SHELL = ("sh", "bash", "shell", "console")
SERVER = ("127.0.0.1", 8000)  # where the examples for the server expect it
ADDRESS = "http://{}:{}".format(*SERVER)
SECONDS = 600  # within which a block must end: none should take minutes, but the machine may be busy

BLOCKS = blocks_in(*SHELL)
MARKED = [block for block in blocks_in(*SHELL, "python", "pycon") if block.reason is not None]


@pytest.fixture
def provided_files(toy_model: Path, tmp_path: Path) -> Path:
    """A directory with the files that examples may use: those that a reader would have."""
    treebank = TOY.read_text(encoding="utf-8").replace("sent_id = hearing", "sent_id = weblog-1")
    for name in ("train", "dev", "test", "gold", "parsed", "a", "b", "text", "treebank"):
        (tmp_path / f"{name}.conllu").write_text(treebank, encoding="utf-8")
    (tmp_path / "article.txt").write_text("The dog barks. It is loud.\n", encoding="utf-8")
    shutil.copytree(toy_model, tmp_path / "model")
    for name in ("Makefile", "benchmarks", "docs", "examples", "experiments", "src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def environment() -> dict[str, str]:
    """The environment of a user in a clone, without a network."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}


@pytest.fixture(scope="session")
def server() -> Iterator[None]:
    """`g2g serve` as the examples start it."""
    with socket.socket() as client:
        if client.connect_ex(SERVER) == 0:
            pytest.skip(f"{ADDRESS} is in use")
    with subprocess.Popen([sys.executable, "-m", "graph2graph", "serve"], env=environment()) as process:
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and process.poll() is None:
                with socket.socket() as client:
                    if client.connect_ex(SERVER) == 0:
                        break
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=[block.name for block in BLOCKS])
def test_shell_block(block: Block, provided_files: Path, request: pytest.FixtureRequest) -> None:
    if block.reason is not None:
        pytest.skip(block.reason)
    asks_server = ADDRESS in block.code
    if asks_server:
        if shutil.which("curl") is None:
            pytest.skip("curl is not installed")
        request.getfixturevalue("server")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=provided_files,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{block.name}\n{done.stdout}\n{done.stderr}"
    assert not (asks_server and '{"detail":' in done.stdout), done.stdout
    check_output(block, done.stdout)


def test_all_blocks_have_a_language() -> None:
    unmarked = [block.name for page in pages() for block in blocks(page) if not block.language]
    assert not unmarked, f"fences without a language (sh, python, text, …): {', '.join(unmarked)}"


def test_blocks_that_are_not_run_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(block.reason for block in MARKED), "`<!-- not run: REASON -->` needs a reason"
    n_run = len(BLOCKS) - sum(block.language in SHELL for block in MARKED)
    assert n_run >= 5, "most commands should run"
    with capsys.disabled():
        print(f"\n{n_run} of {len(BLOCKS)} shell blocks are run; not run:")
        for block in MARKED:
            print(f"  {block.name}: {block.reason}")
