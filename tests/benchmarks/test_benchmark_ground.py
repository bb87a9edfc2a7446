"""benchmarks/ground.py on the toy treebank."""

import ground
from toy_table import TOY


def test_all_is_measured() -> None:
    found = ground.measure(TOY, repeats=1)
    assert (found["sentences"], set(ground.GOALS) <= set(found)) == (7, True)
