"""Model directories: those of older releases are loaded, and what is wrong with one is said in one line."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

DATA = Path(__file__).parents[1] / "data"
FORMAT_1 = DATA / "format1"


def model_of_15cd585(name: str, directory: Path) -> dict[str, Any]:
    """Write the model directory that commit 15cd585 wrote for a variant; return what else is known of it.

    The weights are made anew: random numbers, drawn for each weight in the order of the names.
    """
    known: dict[str, Any] = json.loads((FORMAT_1 / f"{name}.json").read_text())
    (directory / "config.json").write_text(json.dumps(known["config"]))
    for file in ("labels.json", "tokenizer.json"):
        shutil.copy(FORMAT_1 / file, directory)
    rng = np.random.default_rng(33)
    weights = {weight: rng.standard_normal(shape).astype(np.float32) for weight, shape in known["weights"].items()}
    save_file({weight: torch.from_numpy(values) for weight, values in weights.items()}, directory / "model.safetensors")
    return known


@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_of_the_first_format_gives_the_same_trees(name: str, tmp_path: Path) -> None:
    known = model_of_15cd585(name, tmp_path)
    parser = Parser.load(tmp_path)
    parsed = list(parser.parse(conllu.read(DATA / "toy.conllu")))
    assert [sentence.heads for sentence in parsed] == known["heads"]
    assert [sentence.deprels for sentence in parsed] == known["deprels"]
    before = json.loads((tmp_path / "config.json").read_text())
    parser.save(tmp_path / "again")
    assert json.loads((tmp_path / "config.json").read_text()) == before
    again = Parser.load(tmp_path / "again")
    assert again.config == parser.config
    for file in ("labels.json", "tokenizer.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / file).read_bytes()
    weights = parser.model.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in again.model.state_dict().items())


def test_a_newer_model_is_refused(tmp_path: Path) -> None:
    model_of_15cd585("sent", tmp_path)
    (tmp_path / "config.json").write_text('{"format": 99, "release": "7.0.0"}')
    with pytest.raises(DataError, match=r"config\.json: format 99; .*: install graph2graph 7\.0\.0 or newer$"):
        Parser.load(tmp_path)
