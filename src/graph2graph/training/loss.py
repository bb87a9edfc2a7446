"""The loss of a batch by teacher forcing: all encoded states at once, with the gold transitions.

Shapes: S sentences of m nodes and T steps, B encoded states, D decisions, w the width of the vectors.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graph2graph.arrays import BoolArray, IntArray, padded
from graph2graph.models.composition import new_dependents
from graph2graph.models.features import Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.training.examples import Example, Sample
from graph2graph.training.supervision import OWN_DECISIONS, Batch, GraphKind
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States

FULL_PRECISION = nullcontext()
READ_ALL_FROM = 4  # decisions per graph, on average; from then on most vectors are read, and all are computed


class BatchLoss(NamedTuple):
    """The weighted sum of the losses of all decisions; a tagger's loss is in the total only."""

    total: Tensor
    by_kind: Tensor  # [3] detached, by GraphKind


def batch_loss(
    model: ParserModel, batch: Batch, *, tag_loss: float = 0.0, precision: AbstractContextManager[Any] = FULL_PRECISION
) -> BatchLoss:
    """The loss of a batch, plus `tag_loss` times that of the tagger, if the model has one.

    A decision's loss is the cross entropy of the action among the legal ones, plus that of the label of an arc. The encoder
    computes in the given precision, the classifiers in fp32.
    """
    with precision:
        encodings, is_shared = _encode(model, batch)
    if is_shared:
        encodings = model.project(encodings)
    losses = _decision_losses(model, batch, encodings)
    by_kind = losses.new_zeros(len(GraphKind)).index_add(0, model.tensor(batch.decisions.kinds), losses.detach())
    total = losses.sum()
    if model.tagger is not None and tag_loss:
        tags = _focus_tag_loss if model.config.output == "cls" else _tag_loss
        total = total + tag_loss * tags(model, batch.samples, encodings)
    return BatchLoss(total, by_kind)


def encode_only(model: ParserModel, samples: Sequence[Sample]) -> Encodings:
    """The states as a decoder would encode them, apart from composition."""
    states, owners, features = _inputs(samples)
    if model.config.input == "state":
        return model.encode_states(states, model.node_vectors(features), owners)
    return model.encode_sentences(states, [features[owner] for owner in owners])


def _encode(model: ParserModel, batch: Batch) -> tuple[Encodings, bool]:
    """The encoded states, and whether most vectors are read by several decisions."""
    states, owners, features = _inputs(batch.samples)
    if model.config.input == "sentence":
        read = _nodes_read(model, batch)
        return model.encode_sentences(states, [features[owner] for owner in owners], read=read), read is None
    vectors = model.node_vectors(features)
    if model.composition is not None:
        vectors, owners = _composed(model, batch.samples, vectors), np.arange(len(owners))
    looks_ahead = len(batch.decisions.steps) > len(owners)
    return model.encode_states(states, vectors, owners, looks_ahead=looks_ahead), looks_ahead


def _inputs(samples: Sequence[Sample]) -> tuple[States, IntArray, list[Features]]:
    """The states to encode, the sentence of each, [B], and the features of the sentences."""
    states = States.joined([example.states_at(steps) for example, steps in samples])
    owners = np.repeat(np.arange(len(samples)), [len(steps) for _, steps in samples])
    return states, owners, [example.features for example, _ in samples]


def _nodes_read(model: ParserModel, batch: Batch) -> BoolArray | None:
    """The nodes of each encoded graph whose vectors a decision reads, [B, m]; None if all are to be computed.

    With stale decisions most nodes are read, and selecting them does not pay.
    """
    decisions = batch.decisions
    has_many = len(decisions.steps) > READ_ALL_FROM * batch.n_encoded
    if model.tagger is not None or batch.stale != OWN_DECISIONS or has_many:
        return None
    width = max(len(sample.example.heads) for sample in batch.samples)
    read = np.zeros((batch.n_encoded, width + 1), dtype=np.bool_)  # NO_NODE, -1, marks the last column
    for number, sample in enumerate(batch.samples):
        own = decisions.sentences == number
        read[decisions.encoded[own][:, None], sample.example.focus[decisions.steps[own]]] = True
    return read[:, :-1]


def _decision_losses(model: ParserModel, batch: Batch, encodings: Encodings) -> Tensor:
    """The weighted loss of each decision, [D]."""
    decisions, examples = batch.decisions, [sample.example for sample in batch.samples]
    n_steps = np.array([example.n_steps for example in examples])
    index = (np.cumsum(n_steps) - n_steps)[decisions.sentences] + decisions.steps

    def at_decisions(of_steps: Iterable[IntArray | BoolArray]) -> Tensor:
        """The rows of the decisions in arrays that have one row per step."""
        return model.tensor(np.concatenate(list(of_steps))[index])

    actions, labels = at_decisions(e.actions for e in examples), at_decisions(e.labels for e in examples)
    focus, legal = at_decisions(e.focus for e in examples), at_decisions(e.legal for e in examples)
    past = None
    if model.history is not None:
        past = _history(model, examples)[model.tensor(decisions.sentences), model.tensor(decisions.steps)]
    rows = model.tensor(decisions.encoded)
    scores = model.action_scores(encodings, rows, focus, legal, past)
    losses = F.cross_entropy(scores, actions, reduction="none")
    arcs = (labels != NO_NODE).nonzero().squeeze(1)
    is_right = actions[arcs] == Action.RIGHT_ARC
    arc_past = None if past is None else past[arcs]
    label_scores = model.label_scores(encodings, rows[arcs], focus[arcs], is_right, arc_past)
    losses = losses.index_add(0, arcs, F.cross_entropy(label_scores, labels[arcs], reduction="none"))
    return losses * torch.from_numpy(decisions.weights).to(losses)


def _tag_loss(model: ParserModel, samples: Sequence[Sample], encodings: Encodings) -> Tensor:
    """The cross entropy of the hidden tags, in all encoded states."""
    assert model.tagger is not None
    hidden = [example.tags * (example.features.tags == 0) for example, steps in samples for _ in steps]
    targets = model.tensor(padded(hidden, 0))  # [B, m]
    is_target = targets > 0
    vectors = F.embedding(encodings.node_index[:, : targets.shape[1]][is_target], encodings.vectors)
    return F.cross_entropy(model.tagger(vectors), targets[is_target], reduction="sum")


def _focus_tag_loss(model: ParserModel, samples: Sequence[Sample], encodings: Encodings) -> Tensor:
    """The cross entropy of the tags of s2, s1 and b1, predicted from CLS; ROOT and an empty slot have tag 0."""
    assert model.tagger is not None
    focus = [(example, example.focus[steps]) for example, steps in samples]
    tags = [np.where(nodes == NO_NODE, 0, example.tags[nodes]) for example, nodes in focus]
    targets = model.tensor(np.concatenate(tags))  # [B, 3]
    scores = model.tagger(F.embedding(encodings.cls_index, encodings.vectors)).unflatten(1, (3, -1))  # [B, 3, tags]
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")


def _history(model: ParserModel, examples: Sequence[Example]) -> Tensor:
    """The history before every step, [S, T, w]."""
    assert model.history is not None
    actions = padded([example.actions for example in examples], 0)
    labels = padded([example.labels + 1 for example in examples], 0)
    return model.history.before_each(model.tensor(actions), model.tensor(labels))


def _composed(model: ParserModel, samples: Sequence[Sample], vectors: Tensor) -> Tensor:
    """The composed vectors of each encoded state, [B, m, w]: one pass over the steps, all sentences together."""
    assert model.composition is not None
    sentences = np.arange(len(samples))
    actions = padded([example.actions for example, _ in samples], Action.SHIFT)  # [S, T]
    labels = padded([example.labels for example, _ in samples], NO_NODE)  # [S, T]
    slots = [padded([example.focus[:, slot] for example, _ in samples], NO_NODE) for slot in range(3)]
    focus = np.stack(slots, axis=2)  # [S, T, 3]
    attached_at = padded([example.attached_at for example, _ in samples], -1)  # [S, m]; padding is never live
    last_needed = np.array([int(steps.max()) for _, steps in samples])

    composed = model.composition.start(vectors)
    at_step = [composed.vectors]  # [S·m, w] each; without the contexts, which would take as much memory again
    for step in range(int(last_needed.max())):
        new = new_dependents(actions[:, step], labels[:, step], focus[:, step])
        is_live = (attached_at > step) & (last_needed > step)[:, None]
        composed = model.composition.advance(composed, sentences, new, is_live)
        at_step.append(composed.vectors)
    needed = [(step, row) for row, (_, steps) in enumerate(samples) for step in steps]
    # the views are made here, not in the loop: autograd sums gradients in the order of their operations
    return torch.stack([at_step[step].view(vectors.shape)[row] for step, row in needed])
