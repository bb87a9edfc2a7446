"""Memory: the environment is changed by a call, not by an import."""

import os
import subprocess
import sys

import pytest

from graph2graph.parser.allocation import KERNELS, limit_kernel_cache, retain_blocks, return_freed

VARIABLE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def test_a_limit_in_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    limit_kernel_cache()
    assert os.environ[VARIABLE] == str(KERNELS)
    monkeypatch.setenv(VARIABLE, "1024")
    limit_kernel_cache()
    assert os.environ[VARIABLE] == "1024"


@pytest.mark.slow
def test_importing_the_parser_leaves_the_environment_alone() -> None:
    code = f"import os, graph2graph.parser.pipeline; print({VARIABLE!r} in os.environ)"
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_memory_can_be_kept_and_returned_at_any_time() -> None:
    retain_blocks()
    return_freed()
