"""Teacher forcing: the loss of the gold transitions, all states of a batch at once.

A batch is a list of sentences, each with the steps whose states are to be encoded. An encoded state answers for the decision
at its own step, and for all later ones too, since whatever they ask about is in it. A graph lacks the arcs added since, a state
of stack and buffer all transitions since, and each of these makes the decision count less (`StaleWeights`). A decision on the
graph or in the state as it is counts 1; SentTr, whose encoding is the same at every step, is the case of one encoding at step 0
that counts 1 for all.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graph2graph.arrays import BoolArray, FloatArray, IntArray
from graph2graph.models.features import Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.training.examples import Example, StaleWeights, joined_states
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States

MIN_WEIGHT = 0.01  # what counts less is left out
EMPTY, EXACT, STALE = range(
    3
)  # the graph a decision is taken on: none yet, the one that decoding will see, an older one
MANY = 4  # decisions on a graph, on average, from which on all its words are read
FULL_PRECISION = nullcontext()
KINDS = ("empty", "exact", "stale")
NOT_STALE = StaleWeights(0.0, 0.0)  # each graph answers for its own decisions alone


@dataclass(frozen=True)
class Decisions:
    """The decisions that a batch supervises, D of them."""

    encoded: IntArray  # the encoded state in which each is taken
    sentences: IntArray
    steps: IntArray
    weights: FloatArray
    kinds: IntArray  # of their graphs


def batch_loss(
    model: ParserModel,
    examples: Sequence[Example],
    steps: Sequence[IntArray],
    *,
    stale: StaleWeights = NOT_STALE,
    tag_loss: float = 0.0,
    precision: AbstractContextManager[Any] = FULL_PRECISION,
) -> tuple[Tensor, Tensor]:
    """The weighted sum of the losses of all decisions, and its parts from empty, exact and stale graphs, [3].

    The loss of a decision is the cross entropy of the action among the legal ones, plus that of the label of an arc. A model
    that predicts tags adds the loss of those, for sentences it sees without them; where CLS does, of the words in question.
    The encoder computes in the given precision, classifiers and losses in fp32.
    """
    return _loss(model, examples, steps, decisions_of(model, examples, steps, stale), tag_loss, precision)


def decisions_of(
    model: ParserModel, examples: Sequence[Example], steps: Sequence[IntArray], stale: StaleWeights = NOT_STALE
) -> Decisions:
    """What the encoded states of a batch answer for."""
    encoded, sentences, decided, weights, kinds = [], [], [], [], []
    n_encoded = 0
    for number, (example, some) in enumerate(zip(examples, steps, strict=True)):
        if model.config.input == "state":
            ahead = (
                stale.other if model.config.output == "tokens" else 0.0
            )  # CLS is one vector, of this state's decision
            where, at, weight = _weighty(example.state_weights(some, ahead))
            staleness = example.state_staleness(some)[where, at]
        elif model.config.graph_input:
            where, at, weight = _weighty(example.graph_weights(some, stale))
            staleness = example.graph_staleness(some)[where, at]
        else:
            at = np.arange(example.n_steps)
            where, weight, staleness = np.zeros_like(at), np.ones(len(at)), np.zeros_like(at)
        encoded.append(n_encoded + where)
        sentences.append(np.full(len(at), number))
        decided.append(at)
        weights.append(weight)
        is_empty = model.config.graph_input & example.is_empty_at(some)[where]
        kinds.append(np.where(is_empty, EMPTY, np.where(staleness == 0, EXACT, STALE)))
        n_encoded += len(some)
    arrays = [np.concatenate(parts) for parts in (encoded, sentences, decided)]
    return Decisions(arrays[0], arrays[1], arrays[2], np.concatenate(weights), np.concatenate(kinds))


def sum_of_weights(
    model: ParserModel, examples: Sequence[Example], steps: Sequence[IntArray], stale: StaleWeights
) -> float:
    """What all decisions of a batch count together."""
    return float(decisions_of(model, examples, steps, stale).weights.sum())


def encoded(model: ParserModel, examples: Sequence[Example], steps: Sequence[IntArray]) -> Encodings:
    """States of sentences as decoding would encode them, but for composition, which it has done before."""
    states, owners, features = _material(examples, steps)
    if model.config.input == "state":
        return model.encode(states, [], vectors=model.node_vectors(features), owners=owners)
    return model.encode(states, [features[owner] for owner in owners])


def _material(examples: Sequence[Example], steps: Sequence[IntArray]) -> tuple[States, IntArray, list[Features]]:
    """The states to be encoded, the number of the sentence that each belongs to, and the features of the sentences."""
    owners = np.repeat(np.arange(len(examples)), [len(some) for some in steps])
    return joined_states(examples, steps), owners, [example.features for example in examples]


def _weighty(table: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and values of what counts in a table."""
    rows, columns = (table > MIN_WEIGHT).nonzero()
    return rows, columns, table[rows, columns]


def _loss(
    model: ParserModel,
    examples: Sequence[Example],
    encoded_steps: Sequence[IntArray],
    decisions: Decisions,
    tag_loss: float,
    precision: AbstractContextManager[Any],
) -> tuple[Tensor, Tensor]:
    states, owners, features = _material(examples, encoded_steps)
    with precision:
        if model.config.input == "state":
            vectors, own = model.node_vectors(features), owners
            if model.composition is not None:
                vectors, own = _composed(model, examples, vectors, encoded_steps), np.arange(len(owners))
            looks_ahead = len(decisions.steps) > len(owners)
            encodings = model.encode(states, [], vectors=vectors, owners=own, looks_ahead=looks_ahead)
        else:
            read = _read(model, examples, decisions, len(owners))
            looks_ahead = read is None
            encodings = model.encode(states, [features[owner] for owner in owners], read=read)
    encodings = model.project(encodings) if looks_ahead else encodings

    def chosen(name: str) -> Tensor:
        """A field of the examples at the steps decided on."""
        table = np.concatenate([getattr(example, name) for example in examples])
        n_steps = np.array([example.n_steps for example in examples])
        starts = np.cumsum(n_steps) - n_steps
        return model.tensor(table[starts[decisions.sentences] + decisions.steps])

    past = None
    if model.history is not None:
        past = _past(model, examples)[model.tensor(decisions.sentences), model.tensor(decisions.steps)]
    actions, labels, focus = chosen("actions"), chosen("labels"), chosen("focus")
    rows = model.tensor(decisions.encoded)
    scores = model.action_scores(encodings, rows, focus, chosen("legal"), past)
    losses = F.cross_entropy(scores, actions, reduction="none")
    arcs = (labels != NO_NODE).nonzero().squeeze(1)
    is_right = actions[arcs] == Action.RIGHT_ARC
    label_scores = model.label_scores(
        encodings, rows[arcs], focus[arcs], is_right, None if past is None else past[arcs]
    )
    label_losses = F.cross_entropy(label_scores, labels[arcs], reduction="none")
    losses = losses.index_add(0, arcs, label_losses)
    losses = losses * torch.from_numpy(decisions.weights).to(losses)
    kinds = losses.new_zeros(len(KINDS)).index_add(0, model.tensor(decisions.kinds), losses.detach())
    total = losses.sum()
    if model.tagger is not None and tag_loss and model.config.output == "cls":
        total = total + tag_loss * _focus_loss(model, examples, encoded_steps, encodings)
    elif model.tagger is not None and tag_loss:
        total = total + tag_loss * _tag_loss(model, [examples[owner] for owner in owners.tolist()], encodings)
    return total, kinds


def _read(model: ParserModel, examples: Sequence[Example], decisions: Decisions, n_encoded: int) -> BoolArray | None:
    """The nodes that the decisions read of each encoded graph, [B, m]; None where it is simpler to read all."""
    if model.tagger is not None or len(decisions.steps) > MANY * n_encoded:
        return None
    width = max(len(example.heads) for example in examples)
    read = np.zeros((n_encoded, width + 1), dtype=np.bool_)  # the last column is the empty slot, -1
    for number, example in enumerate(examples):
        own = decisions.sentences == number
        read[decisions.encoded[own][:, None], example.focus[decisions.steps[own]]] = True
    return read[:, :-1]


def _tag_loss(model: ParserModel, examples: Sequence[Example], encodings: Encodings) -> Tensor:
    """The cross entropy of the tags of words that are seen without any, over all encoded states."""
    assert model.tagger is not None
    hidden = [example.tags * (example.features.tags == 0) for example in examples]
    targets = model.tensor(_padded(hidden, 0))  # [B, m]
    asked = targets > 0
    vectors = F.embedding(encodings.places[:, : targets.shape[1]][asked], encodings.vectors)
    return F.cross_entropy(model.tagger(vectors), targets[asked], reduction="sum")


def _focus_loss(
    model: ParserModel, examples: Sequence[Example], steps: Sequence[IntArray], encodings: Encodings
) -> Tensor:
    """The cross entropy of the tags of s2, s1 and b1, as CLS tells them, over all encoded states; ROOT and none have tag 0."""
    assert model.tagger is not None
    focus = [example.focus[some] for example, some in zip(examples, steps, strict=True)]
    tags = [np.where(nodes == NO_NODE, 0, example.tags[nodes]) for example, nodes in zip(examples, focus, strict=True)]
    targets = model.tensor(np.concatenate(tags))  # [B, 3]
    scores = model.tagger(F.embedding(encodings.cls_places, encodings.vectors)).unflatten(1, (3, -1))  # [B, 3, tags]
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")


def _padded(arrays: Sequence[IntArray], fill: int) -> IntArray:
    """Arrays of different lengths as the rows of one, filled up behind."""
    padded = np.full((len(arrays), max(len(array) for array in arrays)), fill, dtype=np.int64)
    for row, array in enumerate(arrays):
        padded[row, : len(array)] = array
    return padded


def _past(model: ParserModel, examples: Sequence[Example]) -> Tensor:
    """The history before every step, [S, T, w]."""
    assert model.history is not None
    actions = _padded([example.actions for example in examples], 0)
    labels = _padded([example.labels + 1 for example in examples], 0)
    return model.history.before_each(model.tensor(actions), model.tensor(labels))


def _composed(model: ParserModel, examples: Sequence[Example], vectors: Tensor, steps: Sequence[IntArray]) -> Tensor:
    """The composed vectors of each encoded state, [B, m, w]: one pass over the steps, all sentences together."""
    assert model.composition is not None
    n_sentences, width = vectors.shape[:2]
    actions = _padded([example.actions for example in examples], Action.SHIFT)
    labels = _padded([example.labels for example in examples], NO_NODE)
    focus = [_padded([example.focus[:, slot] for example in examples], NO_NODE) for slot in (0, 1)]
    is_left = actions == Action.LEFT_ARC
    heads, dependents = np.where(is_left, focus[1], focus[0]), np.where(is_left, focus[0], focus[1])
    attached_at = _padded([example.attached_at for example in examples], -1)  # what is not there is never alive
    first = np.arange(n_sentences) * width
    last_needed = np.array([int(some.max()) for some in steps])

    composed = model.composition.start(vectors)
    at_step: list[Tensor] = [composed.vectors]
    for step in range(int(last_needed.max())):
        running = last_needed > step
        arcs = (labels[:, step] != NO_NODE).nonzero()[0]
        live_rows, live_nodes = ((attached_at > step) & running[:, None]).nonzero()
        composed = model.composition.step(
            composed,
            heads=model.tensor((first + heads[:, step])[arcs]),
            dependents=model.tensor((first + dependents[:, step])[arcs]),
            actions=model.tensor(actions[arcs, step]),
            labels=model.tensor(labels[arcs, step]),
            live=model.tensor(first[live_rows] + live_nodes),
        )
        at_step.append(composed.vectors)
    rows = [
        at_step[step].view(n_sentences, width, -1)[sentence] for sentence, some in enumerate(steps) for step in some
    ]
    return torch.stack(rows)
