"""benchmarks/machine.py."""

from itertools import count

import torch

import machine


def test_seconds_are_those_of_the_clock() -> None:
    ticks = count(0, 3)
    assert machine.seconds(lambda: None, lambda: next(ticks)) == 3


def test_the_description_names_the_threads() -> None:
    assert machine.describe().endswith(f"{torch.get_num_threads()} threads")


def test_products_have_a_speed() -> None:
    assert machine.matmul_gflops(size=64) > 0
