"""A tiny StateTr+G2GTr+C with random weights, and what it carries from step to step along gold transitions."""

import io
from functools import cache

import numpy as np
import torch
from torch import Tensor

from graph2graph.config import Config, EncoderConfig, ModelConfig
from graph2graph.models.step_state import StepState
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Example, training_examples
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

LABELS = ["det", "nsubj", "obj", "root"]
FORMS = ["a", "cat", "saw", "the", "dog"]
CLOSE = {"atol": 1e-9, "rtol": 1e-9}


@cache
def state_parser(*, skip: bool = True) -> Parser:
    """A parser with composition and history, with large random weights in double precision."""
    torch.manual_seed(3)
    sizes = {"width": 8, "heads": 2, "layers": 1, "inner_width": 8, "max_positions": 32}
    model = ModelConfig(
        **VARIANTS["state-g2g-c"].model,
        composition_skip=skip,
        composition_hidden=11,
        history_width=6,
        encoder=EncoderConfig(vocab_size=50, dropout=0.0, attention_dropout=0.0, **sizes),
    )
    parser = Parser.create(Config(model=model), Vocabulary(LABELS, ["NOUN", "VERB"], "root"), forms=FORMS)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    parser.model.double()
    return parser


def gold(parser: Parser, heads: list[int], rng: np.random.Generator) -> Example:
    """The transitions of a tree whose words, tags and labels are drawn at random."""
    lines = []
    for word, head in enumerate(heads, 1):
        label = "root" if head == 0 else LABELS[rng.integers(len(LABELS) - 1)]
        tag = ("NOUN", "VERB", "_")[rng.integers(3)]
        lines.append(f"{word}\t{FORMS[rng.integers(len(FORMS))]}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_\n")
    [sentence] = conllu.read(io.StringIO("".join(lines) + "\n"))
    [example] = training_examples(parser, [sentence])
    return example


def decoded(parser: Parser, examples: list[Example]) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
    """The vectors of the nodes, and the history, before each gold step as the decoder has them."""
    step_state = StepState(parser.model, [one.features for one in examples])
    states = States([one.features.n_words for one in examples])
    vectors: list[list[Tensor]] = [[] for _ in examples]
    past: list[list[Tensor]] = [[] for _ in examples]
    assert step_state.past is not None
    for step in range(max(one.n_steps for one in examples)):
        rows = np.array([row for row, one in enumerate(examples) if one.n_steps > step])
        for row in rows:
            vectors[row].append(step_state.vectors[row, : examples[row].features.n_words + 1].clone())
            past[row].append(step_state.past[row].clone())
        actions = np.array([examples[row].actions[step] for row in rows])
        labels = np.array([max(examples[row].labels[step], 0) for row in rows])  # unused for SHIFT and SWAP
        focus = np.array([examples[row].focus[step] for row in rows])
        states.apply(rows, actions, labels)
        step_state.advance(states, rows, actions, labels, focus)
    return vectors, past
