"""The step state of a state parser: the history (Eq. 8) and the composed vectors (Eq. 11), kept from step to step."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.models.composition import new_dependents
from graph2graph.models.features import Features
from graph2graph.models.history import START
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.state import NO_NODE
from graph2graph.transition.states import States, is_arc


class StepState:
    """The history and the node vectors of S sentences."""

    def __init__(self, model: ParserModel, features: Sequence[Features]) -> None:
        self.model = model
        self.vectors = model.node_vectors(features)  # [S, m, w]
        self.composed = model.composition.start(self.vectors) if model.composition else None
        self.past: Tensor | None = None  # [S, width of the history]
        if model.history:
            start = torch.full((len(features), 1), START, device=model.device)
            past, (self.hidden, self.cell) = model.history(start, torch.zeros_like(start))
            self.past = past[:, 0]

    def take(self, rows: IntArray) -> None:
        """Continue with copies of some sentences."""
        index = self.model.tensor(rows)
        self.vectors = self.vectors[index]
        if self.past is not None:
            self.past, self.hidden, self.cell = self.past[index], self.hidden[:, index], self.cell[:, index]
        if self.composed is not None:
            self.composed = self.composed.take(index)

    def advance(self, states: States, rows: IntArray, actions: IntArray, labels: IntArray, focus: IntArray) -> None:
        """Follow one action in each of these rows; `states` are those after it, focus is s2, s1, b1 before it."""
        self._advance_history(rows, actions, labels)
        if self.model.composition is not None and self.composed is not None:
            is_word_or_root = np.arange(self.composed.n_nodes) <= states.n_words[rows, None]  # not padding, [D, m]
            is_live = (states.heads[rows] == NO_NODE) & is_word_or_root
            new = new_dependents(actions, labels, focus)
            self.composed = self.model.composition.advance(self.composed, rows, new, is_live)
            self.vectors = self.composed.vectors.view(self.vectors.shape)  # [S·m, w] -> [S, m, w]

    def _advance_history(self, rows: IntArray, actions: IntArray, labels: IntArray) -> None:
        model = self.model
        if model.history is None or self.past is None:
            return
        index = model.tensor(rows)
        label_ids = model.tensor(np.where(is_arc(actions), 1 + labels, 0))
        state = (self.hidden[:, index].contiguous(), self.cell[:, index].contiguous())
        past, (hidden, cell) = model.history(model.tensor(actions)[:, None], label_ids[:, None], state)
        self.past[index], self.hidden[:, index], self.cell[:, index] = past[:, 0], hidden, cell
