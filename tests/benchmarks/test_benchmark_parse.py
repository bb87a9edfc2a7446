"""benchmarks/parse.py: its settings on a tiny model."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import parse
from toy_table import TOY

if TYPE_CHECKING:
    from graph2graph.parser.parser import Parser

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("setting", ["encoder", "naive", "sent", "exact", "adaptive"])
def test_a_setting_is_measured(setting: str, graph_parser: "Parser", tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    graph_parser.save(tmp_path / "model")
    given = argparse.Namespace(model=tmp_path / "model", file=TOY, threads=1, score=False, naive_batch=10)
    found = parse.measure(setting, given)
    assert {"words_per_second", "sentences_per_second", "peak_rss_mb"} <= set(found)
    assert ("encodings_per_sentence" in found) == (setting in ("sent", "exact", "adaptive"))


def test_shares_are_of_the_bare_pass_and_of_the_machine() -> None:
    best = {
        "encoder": {"words_per_second": 100.0},
        "sent": {"words_per_second": 50.0, "gflops": 5.0, "pieces_encoded": 20, "pieces_once": 10},
    }
    parse.add_shares(best, peak=10.0)
    assert best["encoder"] == {"words_per_second": 100.0, "of_encoder": 1.0}
    assert (best["sent"]["of_encoder"], best["sent"]["of_bound"], best["sent"]["matmul_share"]) == (0.5, 1.0, 0.5)
