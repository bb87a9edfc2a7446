"""Tiny parsers of every variant, and of three ablations, for the toy treebank."""

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from graph2graph.config import Config, DecodeConfig, EncoderConfig, ModelConfig
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Example, Sample
from graph2graph.transition.state import Action
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS

TOY = list(conllu.read(Path(__file__).parent / "data" / "toy.conllu"))
TOY_FORMS = [form for sentence in TOY for form in sentence.forms]
VOCABULARY = Vocabulary.of(TOY)
any_form = st.one_of(
    st.sampled_from(TOY_FORMS),
    st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=8),
)

MODELS: dict[str, dict[str, Any]] = {
    **{name: variant.model for name, variant in VARIANTS.items()},
    "state without skip": VARIANTS["state"].model | {"composition_skip": False},
    "state with separate positions": VARIANTS["state"].model | {"separate_positions": True},
    "sent-g2g with labelled relations": VARIANTS["sent-g2g"].model | {"labelled_relations": True},
}


def tiny(name: str, *, seed: int = 0, **encoder: Any) -> Parser:
    """An untrained parser with random weights."""
    torch.manual_seed(seed)
    sizes = {"width": 32, "layers": 2, "heads": 4, "inner_width": 64, "max_positions": 64, "vocab_size": 300}
    shape = EncoderConfig(**sizes | {"dropout": 0.0, "attention_dropout": 0.0} | encoder)
    model = ModelConfig(**MODELS[name], exist_hidden=60, relation_hidden=30, encoder=shape)
    config = Config(model=model, decode=DecodeConfig(draft_tokens=0))  # so that what is encoded can be counted
    return Parser.create(config, VOCABULARY, forms=TOY_FORMS)


@cache
def wild(name: str, **encoder: Any) -> Parser:
    """A parser whose weights are so large that everything matters; made once."""
    parser = tiny(name, **encoder)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return parser


def calm(name: str, **encoder: Any) -> Parser:
    """A parser with random weights that never swaps, so that it is done after 2n steps."""
    parser = tiny(name, **encoder)
    with torch.no_grad():
        parser.model.exist.out.bias[Action.SWAP] = -100
    return parser


def every_state(examples: Sequence[Example]) -> list[Sample]:
    return [Sample(one, np.arange(one.n_steps)) for one in examples]


def trees(sentences: Sequence[Sentence]) -> list[tuple[list[int], list[str]]]:
    return [(sentence.tree, sentence.deprels) for sentence in sentences]


def unparsed(sentence: Sentence) -> Sentence:
    lines = ["\t".join([*row[:6], "_", "_", *row[8:]]) + "\n" for row in sentence.rows]
    [bare] = conllu.read(io.StringIO(f"# sent_id = {sentence.sent_id}\n" + "".join(lines) + "\n"))
    return bare


def unparsed_text(forms: Sequence[str], sent_id: str = "1") -> str:
    rows = (f"{number}\t{form}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for number, form in enumerate(forms, 1))
    return f"# sent_id = {sent_id}\n" + "".join(rows) + "\n"


def long_sentence(n_words: int) -> Sentence:
    [sentence] = conllu.read(
        io.StringIO(unparsed_text([TOY_FORMS[i % len(TOY_FORMS)] for i in range(n_words)], "endless"))
    )
    return sentence


def check_tree(sentence: Sentence) -> None:
    """One root, no cycle, and the root label where the root is and nowhere else."""
    heads = [0, *sentence.tree]
    assert sentence.heads.count(0) == 1
    for word in range(1, len(heads)):
        above = {word}
        while (word := heads[word]) != 0:
            assert word not in above
            above.add(word)
    assert [head == 0 for head in sentence.heads] == [label == "root" for label in sentence.deprels]


def close(some: Tensor, others: Tensor) -> None:
    torch.testing.assert_close(some, others, atol=1e-5, rtol=1e-5)
