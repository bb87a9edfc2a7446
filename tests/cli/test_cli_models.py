"""`g2g models`: parts as in the table of SPEC.md, parameters as counted by hand."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Result
from graph2graph.variants import VARIANTS

D, LABELS, TAGS = 768, 44, 45
LAYER = 4 * (D * D + D) + (D * 3072 + 3072) + (3072 * D + D) + 2 * 2 * D
PARTS = {  # input, graph in, graph out, composition, history
    "state": ("state", False, "tokens", True, True),
    "state-cls": ("state", False, "cls", True, True),
    "state-g2g": ("state", True, "tokens", False, True),
    "state-g2cls": ("state", True, "cls", False, True),
    "state-g2g-c": ("state", True, "tokens", True, True),
    "sent": ("sentence", False, "tokens", False, False),
    "sent-g2g": ("sentence", True, "tokens", False, False),
}


def by_hand(kind: str, graph: bool, output: str, composition: bool, history: bool) -> int:
    """The number of parameters, each matrix and bias of the paper's size counted on paper."""
    total = 30522 * D + 512 * D + (3 if kind == "state" else 2) * D + 2 * D  # embeddings and their LayerNorm
    total += 6 * LAYER
    total += D + (TAGS + 1) * D + D  # ROOT, tags, the empty slot
    if graph:
        total += 6 * 2 * 3 * (D // 12)  # W1 and W2
        total += (LABELS + 2) * D
    if composition:
        total += D + (1 + 2 * LABELS) * D + (3 * D * D + D) + (D * D + D)
    if history:
        total += 5 * D + (LABELS + 1) * D  # actions and START, labels
        total += 2 * 4 * (2 * D * D + 2 * D)
    inputs = (1, 1) if output == "cls" else (3, 2)
    for n_slots, hidden, out in ((inputs[0], 500, 4), (inputs[1], 100, LABELS)):
        total += (n_slots + history) * D * hidden + hidden + hidden * out + out
    return total + 2 * 100  # the direction of the arc


@pytest.fixture(scope="module")
def answer(g2g: Callable[..., Result]) -> dict[str, Any]:
    result = g2g("models", "--json")
    assert (result.code, result.err) == (0, "")
    return dict(json.loads(result.out))


def test_every_variant_with_its_parts(answer: dict[str, Any]) -> None:
    assert [row["name"] for row in answer["models"]] == list(VARIANTS) == list(PARTS)
    for row in answer["models"]:
        keys = ("input", "graph_in", "graph_out", "composition", "history")
        assert tuple(row[key] for key in keys) == PARTS[row["name"]]
        assert row["title"] == VARIANTS[row["name"]].title


def test_parameters_are_those_counted_by_hand(answer: dict[str, Any]) -> None:
    assert answer["size"] == {
        "vocab_size": 30522,
        "layers": 6,
        "width": D,
        "heads": 12,
        "labels": LABELS,
        "tags": TAGS,
    }
    for row in answer["models"]:
        assert row["parameters"] == sum(row["parts"].values()) == by_hand(*PARTS[row["name"]])


def test_the_papers_own_counts(answer: dict[str, Any]) -> None:
    found = {row["name"]: row["paper_parameters"] for row in answer["models"] if row["paper_parameters"]}
    assert found == {"state": 90_330_000, "state-g2g": 105_780_000, "sent": 63_230_000, "sent-g2g": 63_270_000}


def test_the_notes_have_the_right_figures(answer: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in answer["models"]}
    ours, paper = ({name: row[key] for name, row in rows.items()} for key in ("parameters", "paper_parameters"))
    encoder = sum(rows["sent"]["parts"][part] for part in ("layers", "pieces", "positions", "segments"))
    words = paper["state"] - (ours["state"] - rows["state"]["parts"]["pieces"])
    expected = [
        [],
        [ours["sent-g2g"] - ours["sent"], paper["sent-g2g"] - paper["sent"]],
        [paper["sent"], encoder, ours["sent"] - encoder, paper["sent"] * 2**20 / 1e6],
        [paper["state"], words],
        [paper["state-g2g"] - paper["state"], ours["state"] - ours["state-g2g"]],
    ]
    found = [re.findall(r"[\d.]+M", note) for note in answer["notes"]]
    assert found == [[f"{number / 1e6:.2f}M" for number in numbers] for numbers in expected]
    assert f"{words / D:,.0f} rows of {D}" in answer["notes"][3]


def test_the_table(g2g: Callable[..., Result]) -> None:
    result = g2g("models")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 120
    for name in VARIANTS:
        [line] = [line for line in lines if line.startswith(f"│ {name} ")]
        assert f"{by_hand(*PARTS[name]) / 1e6:.2f}M" in line
    assert "90.33M" in result.out
    assert "explain" in result.out
