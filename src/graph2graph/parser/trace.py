"""The steps of one parse: each state, the probabilities of its actions and labels, and the encoder's attention along the arcs.

`trace` runs `Parser.parse` and observes it, so the tree is the one that any other parse gives. The result is plain data, ready
for JSON: the page of `g2g serve` plays it.
"""

import math
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import FloatArray, IntArray
from graph2graph.decoding.greedy import Decisions, Work
from graph2graph.decoding.options import Reencode
from graph2graph.decoding.reencoding import Scored
from graph2graph.encoder.graph_attention import record_attention
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import NO_NODE, Action, arc_of
from graph2graph.transition.states import States
from graph2graph.treebank.sentence import FEATS, FORM, LEMMA, UPOS, XPOS, Sentence

N_LABELS = 5  # of each arc, the most probable
DIGITS = 6  # of a probability


class TraceWord(TypedDict):
    """A word, as in CoNLL-U."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str


class Label(TypedDict):
    """A label and its probability given the direction of the arc."""

    label: str
    p: float


class Choice(TypedDict):
    """A legal action, its probability among the legal ones and, if it adds an arc, the most probable labels."""

    action: str
    p: float
    labels: list[Label]


class Flow(TypedDict):
    """The attention along an arc: from the head to the dependent, and from the dependent to the head.

    Both are means over the encoder's layers and attention heads; None if no row of its input holds both words.
    """

    head: int
    dependent: int
    to_dependent: float | None
    to_head: float | None


class LayerFlow(TypedDict):
    """The means over all arcs in one layer."""

    to_dependent: float
    to_head: float


class Attention(TypedDict):
    """The attention along the arcs of the graph that was encoded; no layers if it has no arcs."""

    arcs: list[Flow]
    layers: list[LayerFlow]


class Arc(TypedDict):
    """An arc; head 0 is ROOT."""

    head: int
    dependent: int


class Step(TypedDict):
    """A state and the action taken in it."""

    stack: list[int]  # the top is last
    buffer: list[int]  # the front is first
    deleted: list[int]  # in the order of the sentence
    actions: list[Choice]  # the legal ones
    action: str
    p: float
    arc: Arc | None  # that the action adds
    label: str | None
    label_p: float | None
    encoded: bool  # whether the encoder was run for this decision
    attention: Attention | None  # if it was run and takes a graph


class Trace(TypedDict):
    """A sentence, its tree and the steps that built it."""

    sent_id: str | None
    text: str
    words: list[TraceWord]
    heads: list[int]
    deprels: list[str]
    given: list[int]  # words with a given head
    steps: list[Step]
    n_encoded: int  # how often the encoder was run
    graph: bool  # whether the arcs are an input of the encoder
    labels: list[str]  # all that the parser knows
    conllu: str


def trace(parser: Parser, sentence: Sentence, *, tags: bool = True, reencode: Reencode | None = None) -> Trace:
    """The steps that parse a sentence; heads and labels that it has are kept.

    tags: whether the parser sees those of the sentence. reencode: as in `ParseOptions`.
    """
    with record_attention() as layers:
        recorder = _Recorder(parser, parser.featurizer(sentence), layers)
        work = Work(observer=recorder.record)
        [tree] = parser.parse([sentence], tags=tags, reencode=reencode, keep_arcs=True, work=work)
    for step in recorder.steps:
        if (arc := step["arc"]) and (label := tree.deprels[arc["dependent"] - 1]) != step["label"]:
            step["label"], step["label_p"] = label, 0.0  # given, and unknown to the parser
    return {
        "sent_id": tree.sent_id,
        "text": tree.text,
        "words": [_word(number, row) for number, row in enumerate(tree.rows, 1)],
        "heads": tree.tree,
        "deprels": tree.deprels,
        "given": [number for number, head in enumerate(sentence.heads, 1) if head is not None],
        "steps": recorder.steps,
        "n_encoded": work.n_encoded,
        "graph": parser.config.model.graph_input,
        "labels": parser.vocabulary.labels,
        "conllu": "".join(tree.lines),
    }


def _word(number: int, row: list[str]) -> TraceWord:
    return {
        "id": number,
        "form": row[FORM],
        "lemma": row[LEMMA],
        "upos": row[UPOS],
        "xpos": row[XPOS],
        "feats": row[FEATS],
    }


class _Recorder:
    """Records the steps of one sentence as the decoder takes them."""

    def __init__(self, parser: Parser, features: Features, layers: list[Tensor]) -> None:
        """layers: the attention of each layer, which the encoder appends when it runs."""
        self.model, self.labels, self.layers = parser.model, parser.vocabulary.labels, layers
        self.attention = _ArcAttention(parser.model, features)
        self.steps: list[Step] = []

    def record(self, states: States, scored: Scored, decided: Decisions) -> None:
        """Record a state and the action that is about to be taken in it."""
        action = Action(int(decided.actions[0]))
        s2, s1, b1 = decided.focus[0].tolist()
        arc = arc_of(action, (s2, s1, b1))
        legal = [other for other in Action if scored.actions[0, other] > -math.inf]
        attention = None
        if self.model.config.graph_input and self.layers:
            attention = self.attention.describe(self.layers, states, self._new_dependents())
        self.steps.append(
            {
                "stack": states.stack[0, : states.stack_size[0]].tolist(),
                "buffer": states.buffer[0, : states.buffer_size[0]][::-1].tolist(),
                "deleted": (states.heads[0] != NO_NODE).nonzero()[0].tolist(),
                "actions": [self._choice(other, scored, decided) for other in legal],
                "action": action.title,
                "p": _rounded(decided.action_p[0, action]),
                "arc": {"head": arc[0], "dependent": arc[1]} if arc else None,
                "label": self.labels[decided.labels[0]] if arc else None,
                "label_p": _rounded(decided.label_p[0]) if arc else None,
                "encoded": bool(decided.is_fresh[0]),
                "attention": attention,
            }
        )
        self.layers.clear()

    def _choice(self, action: Action, scored: Scored, decided: Decisions) -> Choice:
        labels: list[Label] = []
        if action.is_arc:
            is_right = torch.tensor([action == Action.RIGHT_ARC], device=self.model.device)
            scores = scored.label_scores(self.model, np.arange(1), decided.focus, is_right)[0]
            best = scores.softmax(dim=0).topk(min(N_LABELS, len(scores)))
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            labels = [{"label": self.labels[label], "p": _rounded(p)} for label, p in pairs if p > 0]
        return {"action": action.title, "p": _rounded(decided.action_p[0, action]), "labels": labels}

    def _new_dependents(self) -> list[int]:
        """The dependents of the arcs added since the last step that was encoded."""
        found = []
        for step in reversed(self.steps):
            found += [step["arc"]["dependent"]] if step["arc"] else []
            if step["encoded"]:
                break
        return found


class _ArcAttention:
    """The attention along the arcs of one sentence.

    Shapes: h heads of the encoder, R rows of its input, n columns of a row.
    """

    def __init__(self, model: ParserModel, features: Features) -> None:
        self.model, self.features = model, features
        # by the arc's dependent: from its head and to its head, in each layer; NaN if no row holds both words
        self.along: FloatArray = np.full((2, model.config.encoder.layers, features.n_words + 1), np.nan)

    def describe(self, layers: list[Tensor], states: States, new_dependents: list[int]) -> Attention:
        """The attention along all arcs of a state, which was just encoded; layers: [R·h, n, n] each."""
        heads = states.heads[0]
        dependents = (heads != NO_NODE).nonzero()[0]
        heads = heads[dependents]
        self._update(layers, states, heads, dependents, new_dependents)
        along = self.along[:, :, dependents]  # [2, layers, arcs]
        arcs: list[Flow] = [
            {"head": head, "dependent": dependent, "to_dependent": _share(down), "to_head": _share(up)}
            for head, dependent, down, up in zip(
                heads.tolist(), dependents.tolist(), *along.mean(axis=1).tolist(), strict=True
            )
        ]
        known = along[:, :, ~np.isnan(along).any(axis=(0, 1))]
        means = known.mean(axis=2).T.tolist() if known.size else []
        return {
            "arcs": arcs,
            "layers": [{"to_dependent": _rounded(down), "to_head": _rounded(up)} for down, up in means],
        }

    def _update(
        self, layers: list[Tensor], states: States, heads: IntArray, dependents: IntArray, new_dependents: list[int]
    ) -> None:
        """Read the attention along these arcs, each way in the row that represents the word which pays it."""
        n_rows = len(layers[0]) // self.model.config.encoder.heads
        by_row = torch.stack([layer.view(n_rows, -1, *layer.shape[1:]).mean(dim=1) for layer in layers])
        attention = by_row.double().cpu().numpy()  # [layers, R, n, n]
        rows, row_of = self._rows(n_rows, states, new_dependents)
        for number, columns in enumerate(rows):
            for way, (queries, keys) in enumerate(((heads, dependents), (dependents, heads))):
                is_here = (columns[queries] != OUTSIDE) & (columns[keys] != OUTSIDE) & (row_of[queries] == number)
                seen = attention[:, number, columns[queries[is_here]], columns[keys[is_here]]]
                self.along[way][:, dependents[is_here]] = seen

    def _rows(self, n_rows: int, states: States, new_dependents: list[int]) -> tuple[list[IntArray], IntArray]:
        """The column of each node in each row of the input, OUTSIDE if it is not there, and the row of each node."""
        if self.model.config.input == "state":
            self.along[:] = np.nan  # the encoder may hold another part of a long state than before
            columns = self.model.state_rows(states).columns[0]
            return [columns], np.zeros_like(columns)
        features = self.features
        if n_rows < len(features.windows):  # of a long sentence only the windows with new arcs were encoded
            features = features.around(new_dependents)
        return [window.columns for window in features.windows], features.window_of


def _share(value: float) -> float | None:
    return None if math.isnan(value) else _rounded(value)


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)
