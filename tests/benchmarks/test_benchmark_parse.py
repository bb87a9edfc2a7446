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


@pytest.mark.parametrize("setting", ["encoder", "naive", "sent", "exact", "adaptive", "sent-int8", "default"])
def test_a_setting_is_measured(setting: str, graph_parser: "Parser", tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    graph_parser.save(tmp_path / "model")
    given = argparse.Namespace(model=tmp_path / "model", file=TOY, threads=1, score=False, naive_batch=10)
    found = parse.measure(setting, given)
    assert {"words_per_second", "sentences_per_second", "peak_rss_mb"} <= set(found)
    assert ("encodings_per_sentence" in found) == (setting not in ("encoder", "naive"))
    assert found["precision"] == ("int8" if setting == "sent-int8" else "fp32")


def test_shares_are_of_the_bare_pass_and_of_the_machine() -> None:
    best = {
        "encoder": {"words_per_second": 100.0, "precision": "fp32"},
        "encoder-bf16": {"words_per_second": 200.0, "precision": "bf16"},
        "sent": {"words_per_second": 50.0, "gflops": 5.0, "pieces_encoded": 20, "pieces_once": 10, "precision": "fp32"},
        "exact-bf16": {"words_per_second": 20.0, "pieces_encoded": 80, "pieces_once": 10, "precision": "bf16"},
    }
    parse.add_shares(best, peak=10.0)
    assert best["encoder"]["of_encoder"] == 1.0
    assert best["bound-exact-bf16"] == {"precision": "bf16", "words_per_second": 25.0}
    assert (best["exact-bf16"]["of_encoder"], best["exact-bf16"]["of_bound"]) == (0.2, 0.8)
    assert (best["sent"]["of_encoder"], best["sent"]["of_bound"], best["sent"]["matmul_share"]) == (0.5, 1.0, 0.5)
