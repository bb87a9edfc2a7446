"""What a state parser carries from step to step while it decodes: its history and its composed vectors."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.models.composition import Composed
from graph2graph.models.features import Features
from graph2graph.models.history import START
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States


class Memory:
    """The history and the node vectors of S sentences; `advance` takes them one transition on."""

    def __init__(self, model: ParserModel, features: Sequence[Features]) -> None:
        self.model = model
        self.vectors = model.node_vectors(features)  # [S, m, w]
        self.width = self.vectors.shape[1]
        self.composed = model.composition.start(self.vectors) if model.composition else None
        self.past: Tensor | None = None  # [S, w]
        if model.history:
            start = torch.full((len(features), 1), START, device=model.device)
            past, (self.hidden, self.cell) = model.history(start, torch.zeros_like(start))
            self.past = past[:, 0]

    def take(self, rows: IntArray) -> None:
        """Go on with copies of some sentences."""
        index = self.model.tensor(rows)
        self.vectors = self.vectors[index]
        if self.past is not None:
            self.past, self.hidden, self.cell = self.past[index], self.hidden[:, index], self.cell[:, index]
        if self.composed is not None:
            nodes = (index[:, None] * self.width + torch.arange(self.width, device=index.device)).flatten()
            self.composed = Composed(self.composed.vectors[nodes], self.composed.context[nodes])

    def advance(self, states: States, rows: IntArray, actions: IntArray, labels: IntArray, focus: IntArray) -> None:
        """Take in the transitions of some rows; `states` are those after them, `focus` is s2, s1, b1 before."""
        is_left, is_right = actions == Action.LEFT_ARC, actions == Action.RIGHT_ARC
        is_arc = is_left | is_right
        model = self.model
        if model.history is not None and self.past is not None:
            index = model.tensor(rows)
            numbers = model.tensor(np.where(is_arc, 1 + labels, 0))
            state = (self.hidden[:, index].contiguous(), self.cell[:, index].contiguous())
            past, (hidden, cell) = model.history(model.tensor(actions)[:, None], numbers[:, None], state)
            self.past[index], self.hidden[:, index], self.cell[:, index] = past[:, 0], hidden, cell
        if model.composition is not None and self.composed is not None:
            heads, dependents = np.where(is_left, focus[:, 1], focus[:, 0]), np.where(is_left, focus[:, 0], focus[:, 1])
            exists = np.arange(self.width) <= states.n_words[rows, None]
            live_rows, live_nodes = ((states.heads[rows] == NO_NODE) & exists).nonzero()
            self.composed = model.composition.step(
                self.composed,
                heads=model.tensor((rows * self.width + heads)[is_arc]),
                dependents=model.tensor((rows * self.width + dependents)[is_arc]),
                actions=model.tensor(actions[is_arc]),
                labels=model.tensor(labels[is_arc]),
                live=model.tensor(rows[live_rows] * self.width + live_nodes),
            )
            self.vectors = self.composed.vectors.view_as(self.vectors)
