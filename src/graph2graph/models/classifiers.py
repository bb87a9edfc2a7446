"""The graph output: Eq. 5. Exist scores the four actions, Relation the labels given the direction of the arc.

    a = Exist([g_s2, g_s1, g_b1], h)
    l = Relation([g_s2, g_s1], h | a)

g are output vectors of the encoder and h is the history. Both classifiers are perceptrons with one hidden layer. Their first
layer is a sum over slots. So `project` can apply it once to every word of a sentence, and each decision only looks it up: this
pays when many decisions use one encoding.

Shapes: V vectors, D decisions, w width of the encoder.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.encoder.dropout import Dropout
from graph2graph.transition.state import Action


class Classifier(nn.Module):
    """A perceptron over the vectors of a few slots, and the history."""

    def __init__(self, width: int, history: int, *, n_slots: int, hidden: int, n_out: int, dropout: float) -> None:
        super().__init__()
        self.slots = nn.ModuleList(nn.Linear(width, hidden, bias=False) for _ in range(n_slots))
        self.history = nn.Linear(history, hidden, bias=False) if history else None
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, n_out)
        self.dropout = Dropout(dropout)

    def project(self, vectors: Tensor) -> list[Tensor]:
        """What each vector adds to the first layer, by slot: [V, w] -> [V, hidden] each."""
        return [slot(vectors) for slot in self.slots]

    def hidden(self, projected: Sequence[Tensor], past: Tensor | None) -> Tensor:
        """The first layer before its activation, [D, hidden], from the projected vector of each slot and the history."""
        total = sum(projected[1:], projected[0]) + self.bias
        if self.history is not None and past is not None:
            total = total + self.history(past)
        return total

    def forward(self, hidden: Tensor) -> Tensor:
        """[D, hidden] -> scores, [D, out]."""
        scores: Tensor = self.out(self.dropout(F.relu(hidden)))
        return scores


class Exist(Classifier):
    """Scores the four actions from s2, s1 and b1, or from CLS alone."""

    def __init__(self, width: int, history: int, *, hidden: int, dropout: float, cls: bool) -> None:
        n_slots = 1 if cls else 3
        super().__init__(width, history, n_slots=n_slots, hidden=hidden, n_out=len(Action), dropout=dropout)


class Relation(Classifier):
    """Scores the labels from s2 and s1, or from CLS alone, given the direction of the arc."""

    def __init__(self, width: int, history: int, *, hidden: int, n_labels: int, dropout: float, cls: bool) -> None:
        n_slots = 1 if cls else 2
        super().__init__(width, history, n_slots=n_slots, hidden=hidden, n_out=n_labels, dropout=dropout)
        self.directions = nn.Parameter(torch.zeros(2, hidden))  # LEFT-ARC, RIGHT-ARC

    def directed(self, hidden: Tensor, is_right: Tensor) -> Tensor:
        """The first layer, [D, hidden], with the direction of each arc added."""
        return hidden + F.embedding(is_right.long(), self.directions)
