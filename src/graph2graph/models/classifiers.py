"""The graph output (Eq. "classifier"): Exist scores the four actions, Relation the labels given the direction of the arc.

Both are perceptrons with one hidden layer over the vectors of the words in question, s2, s1 and b1 for Exist, s2 and s1 for
Relation, and the history. Their first layer is linear, so it can be applied to every word of a sentence once (`project`)
and then only looked up and summed for each decision: that serves the sentence models, which take many decisions on one
encoding.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.models.history import N_ACTIONS

EXIST_SLOTS, RELATION_SLOTS = 3, 2  # s2, s1, b1; s2, s1


class Classifiers(nn.Module):
    """Exist and Relation. `slots` is False where both see one vector (CLS) instead of the words."""

    def __init__(
        self,
        width: int,
        history: int,
        *,
        exist_hidden: int,
        relation_hidden: int,
        n_labels: int,
        dropout: float,
        slots: bool,
    ) -> None:
        super().__init__()
        self.sizes = (exist_hidden, relation_hidden)
        n_exist, n_relation = (EXIST_SLOTS, RELATION_SLOTS) if slots else (1, 1)
        self.n_slots = (n_exist, n_relation)
        # the parts of both first layers that look at one word, side by side, so that one product serves them all
        self.words = nn.Linear(width, n_exist * exist_hidden + n_relation * relation_hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(exist_hidden + relation_hidden))
        self.history = nn.Linear(history, exist_hidden + relation_hidden, bias=False) if history else None
        self.directions = nn.Parameter(torch.zeros(2, relation_hidden))  # LEFT-ARC, RIGHT-ARC
        self.exist = nn.Linear(exist_hidden, N_ACTIONS)
        self.relation = nn.Linear(relation_hidden, n_labels)
        self.dropout = nn.Dropout(dropout)

    def project(self, vectors: Tensor) -> Tensor:
        """The first layers' parts for each vector: […, d] -> […, p]."""
        projected: Tensor = self.words(vectors)
        return projected

    def hidden(self, projected: list[Tensor], history: Tensor | None) -> tuple[Tensor, Tensor]:
        """The first layers, before their activation, from the projected vectors of each slot, [D, p] each."""
        (n_exist, n_relation), (exist_hidden, relation_hidden) = self.n_slots, self.sizes
        exist = self.bias[:exist_hidden].expand(len(projected[0]), -1)
        for slot in range(n_exist):
            exist = exist + projected[slot][:, slot * exist_hidden : (slot + 1) * exist_hidden]
        relation = self.bias[exist_hidden:].expand(len(projected[0]), -1)
        begin = n_exist * exist_hidden
        for slot in range(n_relation):
            relation = relation + projected[slot][:, begin : begin + relation_hidden]
            begin += relation_hidden
        if self.history is not None and history is not None:
            past = self.history(history)
            exist, relation = exist + past[:, :exist_hidden], relation + past[:, exist_hidden:]
        return exist, relation

    def actions(self, exist: Tensor) -> Tensor:
        """[D, 500] -> scores of the actions, [D, 4]."""
        scores: Tensor = self.exist(self.dropout(F.relu(exist)))
        return scores

    def labels(self, relation: Tensor, is_right: Tensor) -> Tensor:
        """[D, 100] and the direction of each arc -> scores of the labels, [D, L]."""
        scores: Tensor = self.relation(self.dropout(F.relu(relation + self.directions[is_right.long()])))
        return scores
