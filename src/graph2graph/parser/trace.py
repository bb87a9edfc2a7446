"""The whole story of one parse: every state, what the parser thought of it, and where its encoder looked.

It is the same parse as any other: `Parser.parse` is run, and watched. What comes out is plain data, ready for JSON; the page of
`g2g serve` plays it.
"""

import math
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import FloatArray, IntArray
from graph2graph.decoding.greedy import Decisions, Work
from graph2graph.decoding.reencoding import Scored
from graph2graph.encoder.graph_attention import record_attention
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

N_LABELS = 5  # of each arc that are told
DIGITS = 6  # of a probability


class Word(TypedDict):
    """A word, as in CoNLL-U."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str


class Label(TypedDict):
    """A label and its probability, given the direction of the arc."""

    label: str
    p: float


class Choice(TypedDict):
    """A legal action and its probability among them; if it makes an arc, also the most probable labels."""

    action: str
    p: float
    labels: list[Label]


class Flow(TypedDict):
    """The attention along an arc: what the head pays to the dependent and what the dependent pays to the head.

    Both are means over all layers and heads of the encoder; None where no row of its input holds both words.
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
    """The attention along the arcs of the graph that the encoder saw; no layers where there was no arc yet."""

    arcs: list[Flow]
    layers: list[LayerFlow]


class Arc(TypedDict):
    """An arc; head 0 is ROOT."""

    head: int
    dependent: int


class Step(TypedDict):
    """A state and what was done in it."""

    stack: list[int]  # the top comes last
    buffer: list[int]  # the front comes first
    deleted: list[int]  # in the order of the sentence
    actions: list[Choice]  # the legal ones
    action: str
    p: float
    arc: Arc | None  # that it adds
    label: str | None
    label_p: float | None
    encoded: bool  # whether the encoder was run for this decision
    attention: Attention | None  # if it was, and takes a graph


class Trace(TypedDict):
    """A sentence and how its tree came to be."""

    sent_id: str | None
    text: str
    words: list[Word]
    heads: list[int]
    deprels: list[str]
    given: list[int]  # words whose head was given
    steps: list[Step]
    n_encoded: int  # how often the encoder was run
    graph: bool  # whether it takes the arcs as input
    labels: list[str]  # that the parser knows
    conllu: str


def trace(parser: Parser, sentence: Sentence, *, tags: bool = True, reencode: float | None = None) -> Trace:
    """Parse a sentence as `Parser.parse` does, and tell how; heads and labels that it has are kept."""
    with record_attention() as seen:
        story = _Story(parser, parser.featurizer(sentence), seen)
        work = Work(observer=story.note)
        [tree] = parser.parse([sentence], tags=tags, reencode=reencode, keep_arcs=True, work=work)
    for step in story.steps:
        if (arc := step["arc"]) and (label := tree.deprels[arc["dependent"] - 1]) != step["label"]:
            step["label"], step["label_p"] = label, 0.0  # given, and not known to the parser
    return {
        "sent_id": tree.sent_id,
        "text": tree.text,
        "words": [_word(number, row) for number, row in enumerate(tree.rows, 1)],
        "heads": tree.tree,
        "deprels": tree.deprels,
        "given": [number for number, head in enumerate(sentence.heads, 1) if head is not None],
        "steps": story.steps,
        "n_encoded": work.n_encoded,
        "graph": parser.config.model.graph_input,
        "labels": parser.vocabulary.labels,
        "conllu": "".join(tree.lines),
    }


def _word(number: int, row: list[str]) -> Word:
    return {
        "id": number,
        "form": row[conllu.FORM],
        "lemma": row[conllu.LEMMA],
        "upos": row[conllu.UPOS],
        "xpos": row[conllu.XPOS],
        "feats": row[conllu.FEATS],
    }


class _Story:
    """The steps of one sentence, written down as they are taken."""

    def __init__(self, parser: Parser, features: Features, seen: list[Tensor]) -> None:
        self.parser, self.model, self.features, self.seen = parser, parser.model, features, seen
        self.steps: list[Step] = []
        # the attention along the arc of each dependent, by direction (to the dependent, to the head) and layer
        self.flow: FloatArray = np.full((2, parser.config.model.encoder.layers, features.n_words + 1), np.nan)

    def note(self, states: States, scored: Scored, decided: Decisions) -> None:
        """Write down a step that is about to be taken."""
        action = Action(int(decided.actions[0]))
        s2, s1, _ = decided.focus[0].tolist()
        arc: Arc | None = None
        if action in (Action.LEFT_ARC, Action.RIGHT_ARC):
            left = action == Action.LEFT_ARC
            arc = {"head": s1 if left else s2, "dependent": s2 if left else s1}
        self.steps.append(
            {
                "stack": states.stack[0, : states.stack_size[0]].tolist(),
                "buffer": states.buffer[0, : states.buffer_size[0]][::-1].tolist(),
                "deleted": (states.heads[0] != NO_NODE).nonzero()[0].tolist(),
                "actions": [
                    self._choice(other, scored, decided) for other in Action if scored.actions[0, other] > -math.inf
                ],
                "action": action.title,
                "p": _rounded(decided.action_p[0, action]),
                "arc": arc,
                "label": self.parser.vocabulary.labels[decided.labels[0]] if arc else None,
                "label_p": _rounded(decided.label_p[0]) if arc else None,
                "encoded": bool(decided.is_fresh[0]),
                "attention": self._attention(states) if self.model.config.graph_input and self.seen else None,
            }
        )
        self.seen.clear()

    def _choice(self, action: Action, scored: Scored, decided: Decisions) -> Choice:
        labels: list[Label] = []
        if action in (Action.LEFT_ARC, Action.RIGHT_ARC):
            is_right = torch.tensor([action == Action.RIGHT_ARC], device=self.model.device)
            scores = scored.label_scores(self.model, np.arange(1), decided.focus, is_right)
            found = scores[0].softmax(dim=0).topk(min(N_LABELS, scores.shape[1]))
            names, best = self.parser.vocabulary.labels, zip(found.indices.tolist(), found.values.tolist(), strict=True)
            labels = [{"label": names[label], "p": _rounded(p)} for label, p in best if p > 0]
        return {"action": action.title, "p": _rounded(decided.action_p[0, action]), "labels": labels}

    def _attention(self, states: States) -> Attention:
        """What the encoding just made paid along the arcs of its graph."""
        heads = states.heads[0]
        dependents = (heads != NO_NODE).nonzero()[0]
        self._look(heads[dependents], dependents, states)
        flow = self.flow[:, :, dependents]  # [2, layers, arcs]
        arcs: list[Flow] = [
            {"head": head, "dependent": dependent, "to_dependent": _share(down), "to_head": _share(up)}
            for head, dependent, down, up in zip(
                heads[dependents].tolist(), dependents.tolist(), *flow.mean(axis=1).tolist(), strict=True
            )
        ]
        inside = flow[:, :, ~np.isnan(flow).any(axis=(0, 1))]
        layers: list[LayerFlow] = []
        if inside.size:
            means = inside.mean(axis=2).T.tolist()
            layers = [{"to_dependent": _rounded(down), "to_head": _rounded(up)} for down, up in means]
        return {"arcs": arcs, "layers": layers}

    def _look(self, heads: IntArray, dependents: IntArray, states: States) -> None:
        """Take down the attention along these arcs, each way in the row that represents the word which pays it."""
        n_rows = len(self.seen[0]) // self.model.config.encoder.heads
        layers = torch.stack(
            [layer.view(n_rows, -1, *layer.shape[1:]).mean(dim=1) for layer in self.seen]
        )  # [layers, R, n, n]
        attention = layers.double().cpu().numpy()
        if self.model.config.input == "state":
            self.flow[:] = np.nan  # a long state is not seen whole, and not always the same part of it
            places = self.model.state_input(states).places[0]
            rows, row_of = [np.where(places > 0, places, OUTSIDE)], np.zeros_like(places)  # 0 is CLS: no such node
        else:
            features = self.features
            if n_rows < len(features.rows):  # a long sentence, of which only the parts with new arcs were encoded
                features = features.around(self._newly_attached())
            rows, row_of = [row.columns for row in features.rows], features.row_of
        for number, columns in enumerate(rows):
            for way, (queries, keys) in enumerate(((heads, dependents), (dependents, heads))):
                there = (columns[queries] != OUTSIDE) & (columns[keys] != OUTSIDE) & (row_of[queries] == number)
                seen = attention[:, number, columns[queries[there]], columns[keys[there]]]
                self.flow[way][:, dependents[there]] = seen

    def _newly_attached(self) -> list[int]:
        """The dependents of the arcs since the last time that the encoder was run."""
        found = []
        for step in reversed(self.steps):
            found += [step["arc"]["dependent"]] if step["arc"] else []
            if step["encoded"]:
                break
        return found


def _share(value: float) -> float | None:
    return None if math.isnan(value) else _rounded(value)


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)
