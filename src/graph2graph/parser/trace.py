"""The steps of one parse: each state, the probabilities of its actions and labels, and the encoder's attention along the arcs.

`trace` observes `Parser.parse`, so the tree is the one that any other parse gives. The result is plain data, ready for JSON;
the page of `g2g serve` plays it.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.decoding.greedy import Decisions, Work
from graph2graph.decoding.options import Reencode
from graph2graph.decoding.reencoding import Scored
from graph2graph.encoder.graph_attention import record_attention
from graph2graph.errors import DataError
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.models.rows import state_rows
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import NO_NODE, Action, arc_of
from graph2graph.transition.states import States
from graph2graph.treebank.sentence import FEATS, FORM, LEMMA, UPOS, XPOS, Sentence

N_LABELS = 5  # of each arc, the most probable
DIGITS = 6  # of a probability
COLUMNS = {"form": FORM, "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}  # of a word


def trace(parser: Parser, sentence: Sentence, *, tags: bool = True, reencode: Reencode | None = None) -> dict[str, Any]:
    """Parse a sentence, keep the heads and labels that it has, and return the steps.

    It has to fit the encoder.

    tags: whether the parser sees the sentence's tags. reencode: as in `ParseOptions`.
    """
    words = parser.featurizer.words(sentence)
    if not parser.fits(words):
        limit = parser.config.model.encoder.max_positions
        raise DataError(
            f"sentence {sentence.sent_id or sentence.text[:40]}: longer than the encoder's {limit} positions"
        )
    with record_attention() as layers:
        recorder = _Recorder(parser, parser.featurizer.features(words), layers)
        work = Work(observer=recorder.record)
        [tree] = parser.parse([sentence], tags=tags, reencode=reencode, keep_arcs=True, work=work)
    for step in recorder.steps:
        if (arc := step["arc"]) and (label := tree.deprels[arc["dependent"] - 1]) != step["label"]:
            step["label"], step["label_p"] = label, 0.0  # given, and unknown to the parser
    return {
        "sent_id": tree.sent_id,
        "text": tree.text,
        "words": [
            {"id": number} | {name: row[column] for name, column in COLUMNS.items()}
            for number, row in enumerate(tree.rows, 1)
        ],
        "heads": tree.tree,
        "deprels": tree.deprels,
        "given": [word for word, head in enumerate(sentence.heads, 1) if head is not None],  # words with a given head
        "steps": recorder.steps,
        "n_encoded": work.n_encoded,  # how often the encoder was run
        "graph": parser.config.model.graph_input,  # whether the arcs are an input of the encoder
        "labels": parser.vocabulary.labels,  # all that the parser knows
        "conllu": tree.to_conllu(),
    }


class _Recorder:
    """Records the steps of one sentence as the decoder takes them."""

    def __init__(self, parser: Parser, features: Features, layers: list[Tensor]) -> None:
        """layers: a list to which the encoder appends the attention of each layer when it runs."""
        self.model, self.labels, self.layers = parser.model, parser.vocabulary.labels, layers
        self.attention = _ArcAttention(parser.model, features)
        self.steps: list[dict[str, Any]] = []

    def record(self, states: States, scored: Scored, decided: Decisions) -> None:
        """Record a state and the action that is about to be taken in it."""
        action = Action(int(decided.actions[0]))
        s2, s1, b1 = decided.focus[0].tolist()
        arc = arc_of(action, (s2, s1, b1))
        legal = [other for other in Action if scored.actions[0, other] > -math.inf]
        attention = None
        if self.model.config.graph_input and self.layers:
            attention = self.attention.describe(self.layers, states)
        self.steps.append(
            {
                "stack": states.stack[0, : states.stack_size[0]].tolist(),  # the top is last
                "buffer": states.buffer[0, : states.buffer_size[0]][::-1].tolist(),  # the front is first
                "deleted": (states.heads[0] != NO_NODE).nonzero()[0].tolist(),
                "actions": [self._choice(other, scored, decided) for other in legal],
                "action": action.title,
                "p": _rounded(decided.action_p[0, action]),
                "arc": {"head": arc[0], "dependent": arc[1]} if arc else None,  # that the action adds; 0 is ROOT
                "label": self.labels[decided.labels[0]] if arc else None,
                "label_p": _rounded(decided.label_p[0]) if arc else None,
                "encoded": bool(decided.is_fresh[0]),  # whether the encoder was run for this decision
                "attention": attention,  # None if the encoder was not run or takes no graph
            }
        )
        self.layers.clear()

    def _choice(self, action: Action, scored: Scored, decided: Decisions) -> dict[str, Any]:
        labels = []
        if action.is_arc:
            is_right = torch.tensor([action == Action.RIGHT_ARC], device=self.model.device)
            scores = scored.label_scores(self.model, np.arange(1), decided.focus, is_right)[0]
            best = scores.softmax(dim=0).topk(min(N_LABELS, len(scores)))
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            labels = [{"label": self.labels[label], "p": _rounded(p)} for label, p in pairs if p > 0]
        return {"action": action.title, "p": _rounded(decided.action_p[0, action]), "labels": labels}


class _ArcAttention:
    """The attention along the arcs of one sentence.

    Shapes: h heads of the encoder, n columns of its input.
    """

    def __init__(self, model: ParserModel, features: Features) -> None:
        self.model, self.features = model, features

    def describe(self, layers: list[Tensor], states: States) -> dict[str, Any]:
        """The attention from head to dependent and back, of each arc of a state that was just encoded, and of each layer.

        Of an arc it is the mean over the layers, of a layer the mean over the arcs. layers: [h, n, n] each.
        """
        dependents = (states.heads[0] != NO_NODE).nonzero()[0]
        heads = states.heads[0, dependents]
        attention = torch.stack([layer.mean(dim=0) for layer in layers]).double().cpu().numpy()  # [layers, n, n]
        columns = self._columns(states)
        down = attention[:, columns[heads], columns[dependents]]  # [layers, arcs]
        along = np.stack([down, attention[:, columns[dependents], columns[heads]]])  # [2, layers, arcs]
        of_arcs = zip(heads.tolist(), dependents.tolist(), along.mean(axis=1).T.tolist(), strict=True)
        of_layers = along.mean(axis=2).T.tolist() if len(heads) else []
        return {
            "arcs": [{"head": head, "dependent": dependent, **_flow(*means)} for head, dependent, means in of_arcs],
            "layers": [_flow(*means) for means in of_layers],
        }

    def _columns(self, states: States) -> IntArray:
        """The column of each node in the input."""
        is_state = self.model.config.input == "state"
        columns: IntArray = (
            state_rows(states, self.model.config).columns[0] if is_state else self.features.windows[0].columns
        )
        return columns


def _flow(down: float, up: float) -> dict[str, float]:
    """The attention from a head to its dependent and back."""
    return {"to_dependent": _rounded(down), "to_head": _rounded(up)}


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)
