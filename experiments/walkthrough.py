"""The gold transitions of a tree: each state, and what the encoder reads in it, as plain data.

Figure 4 of the paper (Appendix C, "Hey There .") shows all of it, Figure 1 the rows that the encoder reads, and Figure 2 the
dependents that composition reads. The parser can be untrained.
"""

from typing import NamedTuple, TypedDict

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.errors import DataError
from graph2graph.models.features import Features
from graph2graph.models.inputs import GraphInput, sentence_graph, state_graph
from graph2graph.models.rows import CLS, SEP, sentence_rows, state_rows
from graph2graph.parser.parser import Parser
from graph2graph.transition import oracle
from graph2graph.transition.state import NO_NODE, ROOT, Action, arc_of
from graph2graph.transition.states import States
from graph2graph.treebank.sentence import Sentence

FURTHER_PIECE = "+"  # the label of the arcs from the first piece of a word to the others
_NAMES = {CLS: "CLS", SEP: "SEP", ROOT: "ROOT"}


class InputRow(TypedDict):
    """A row of n tokens that the encoder reads."""

    tokens: list[str]  # CLS, ROOT, SEP and pieces
    tags: list[str]  # empty for a token without one
    labels: list[str]  # of the arc to each token, which is added to its embedding; empty for a token without one
    segments: list[int]  # 0 stack, 1 buffer, 2 deleted list; all 0 in a sentence model
    positions: list[int]
    relations: list[list[int]]  # [n][n] relation ids r_ij, 0 for none; all 0 without graph input


class Attachment(TypedDict):
    """A labelled arc and the action that adds it."""

    head: int
    dependent: int
    label: str
    action: str


class WalkStep(TypedDict):
    """A state, what the encoder reads in it, and the action taken."""

    stack: list[int]  # the top is last
    buffer: list[int]  # the front is first
    deleted: list[int]  # in the order of the sentence
    latest: list[Attachment]  # the most recent arc of each head, which composition reads (Eq. 12)
    rows: list[InputRow]  # one, or several if the sentence is longer than the encoder
    action: str
    adds: Attachment | None


def walk_through(parser: Parser, sentence: Sentence, *, swap: oracle.Swap = "eager") -> list[WalkStep]:
    """The gold transitions of a sentence with a tree, each with the state before it."""
    features, states = parser.featurizer(sentence), States([len(sentence)])
    latest: dict[int, Attachment] = {}
    steps: list[WalkStep] = []
    for number in oracle.transitions(sentence.tree, swap=swap):
        action = Action(number)
        added = _attachment(action, states, sentence)
        steps.append(
            {
                "stack": states.stack[0, : states.stack_size[0]].tolist(),
                "buffer": states.buffer[0, : states.buffer_size[0]][::-1].tolist(),
                "deleted": (states.heads[0] != NO_NODE).nonzero()[0].tolist(),
                "latest": [latest[head] for head in sorted(latest)],
                "rows": describe_input(parser, features, states),
                "action": action.title,
                "adds": added,
            }
        )
        label = NO_NODE if added is None else _label_id(parser, added["label"])
        states.apply(np.array([0]), np.array([number]), np.array([label]))
        if added is not None:
            latest[added["head"]] = added
    return steps


def describe_input(parser: Parser, features: Features, states: States) -> list[InputRow]:
    """The rows that the encoder reads for a sentence in a state, the only one in `states`."""
    is_state = parser.config.model.input == "state"
    packed = _packed_state(parser, features, states) if is_state else _packed_sentence(parser, features, states)
    labels = ["", *parser.vocabulary.labels, FURTHER_PIECE]
    tags = ["", *parser.vocabulary.tags]
    described: list[InputRow] = []
    first = 0
    for number, length in enumerate(packed.lengths.tolist()):
        row = slice(first, first + length)
        relations, graph = np.zeros((length, length), dtype=np.int64), packed.graph
        if graph is not None:
            _, queries, keys, ids = (column[graph.related.rows == number] for column in graph.related)
            relations[queries, keys] = ids
        described.append(
            {
                "tokens": packed.tokens[row],
                "tags": [tags[tag] for tag in packed.tags[row].tolist()],
                "labels": [""] * length if graph is None else [labels[label] for label in graph.labels[row].tolist()],
                "segments": packed.segments[row].tolist(),
                "positions": packed.positions[row].tolist(),
                "relations": relations.tolist(),
            }
        )
        first += length
    return described


class _Packed(NamedTuple):
    """Rows of tokens, one after another, N in all."""

    lengths: IntArray
    tokens: list[str]  # [N]
    tags: IntArray  # [N]
    segments: IntArray  # [N]
    positions: IntArray  # [N]
    graph: GraphInput | None


def _packed_state(parser: Parser, features: Features, states: States) -> _Packed:
    """The row of a state model."""
    config = parser.config.model
    rows = state_rows(states, config)
    graph = state_graph(states, rows, labelled=config.labelled_relations) if config.graph_input else None
    tokens = [_NAMES.get(node) or _piece(parser, features.pieces[node]) for node in rows.nodes.tolist()]
    tags = np.where(rows.nodes >= 0, features.tags[rows.nodes], 0)
    return _Packed(rows.lengths, tokens, tags, rows.segments, rows.positions, graph)


def _packed_sentence(parser: Parser, features: Features, states: States) -> _Packed:
    """The rows of a sentence model: one, or the windows of a long sentence."""
    model, config = parser.model, parser.config.model
    rows = sentence_rows([features], states.heads.shape[1])
    graph = None
    if config.graph_input:
        graph = sentence_graph(states, rows, n_labels=model.n_labels, labelled=config.labelled_relations)
    tokens = [_piece(parser, token) for token in rows.tokens]
    for start, length in zip(rows.starts.tolist(), rows.lengths.tolist(), strict=True):
        tokens[start], tokens[start + 1], tokens[start + length - 1] = _NAMES[CLS], _NAMES[ROOT], _NAMES[SEP]
    positions = np.arange(len(tokens)) - np.repeat(rows.starts, rows.lengths)
    return _Packed(rows.lengths, tokens, rows.tags, np.zeros_like(rows.tokens), positions, graph)


def _piece(parser: Parser, number: int) -> str:
    return str(parser.pieces.tokenizer.id_to_token(int(number)))


def _attachment(action: Action, states: States, sentence: Sentence) -> Attachment | None:
    s2, s1, b1 = states.focus[0].tolist()
    arc = arc_of(action, (s2, s1, b1))
    if arc is None:
        return None
    head, dependent = arc
    return {"head": head, "dependent": dependent, "label": sentence.deprels[dependent - 1], "action": action.title}


def _label_id(parser: Parser, label: str) -> int:
    if label not in parser.vocabulary.label_ids:
        raise DataError(f"the parser does not know the label {label}")
    return parser.vocabulary.label_ids[label]
