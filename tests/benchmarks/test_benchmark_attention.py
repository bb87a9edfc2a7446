"""benchmarks/attention.py: the columns that others rely on, and forms that agree."""

import time

import pytest

import attention

pytestmark = pytest.mark.slow


def test_a_row_has_the_ratios(one_thread: None) -> None:
    row = attention.measure(1, 24, 6, repeats=1, at_least=0, clock=time.perf_counter)  # compares the forms, too
    assert (row["size"], row["n"]) == ("1x24", 6)
    for name in ("forward_ratio", "train_ratio", "naive_forward_ratio", "naive_memory_ratio"):
        assert isinstance(row[name], float)
    assert set(attention.COLUMNS) <= set(row)


def test_ratios_over_their_goal_are_red() -> None:
    assert attention.cell("forward_ratio", 1.5) == "[red]1.50[/red]"
    assert attention.cell("forward_ratio", 1.1) == "1.10"
    assert attention.cell("forward_ms", 250.4) == "250"
