"""The history model of the state parsers: Eq. 8, an LSTM over the transitions taken so far.

Shapes: S sentences, T transitions of each, w width.
"""

import torch
from torch import Tensor, nn

from graph2graph.transition.state import Action

START = len(Action)  # in place of an action, before the first one

LstmState = tuple[Tensor, Tensor]  # h and c


class History(nn.Module):
    """Two LSTM layers; SHIFT and SWAP have a null label."""

    def __init__(self, width: int, n_layers: int, n_labels: int) -> None:
        super().__init__()
        self.actions = nn.Embedding(len(Action) + 1, width)
        self.labels = nn.Embedding(1 + n_labels, width)
        self.lstm = nn.LSTM(width, width, n_layers, batch_first=True)
        for table in (self.actions, self.labels):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, actions: Tensor, labels: Tensor, state: LstmState | None = None) -> tuple[Tensor, LstmState]:
        """Eq. 8: h, c = LSTM((h, c), a + l), for [S, T] actions and labels (0 null, else 1 + label): h is [S, T, w]."""
        out, state = self.lstm(self.actions(actions) + self.labels(labels), state)
        return out, state

    def before_each(self, actions: Tensor, labels: Tensor) -> Tensor:
        """h before each of T transitions: [S, T] -> [S, T, w]."""
        start = torch.full_like(actions[:, :1], START)
        actions = torch.cat([start, actions[:, :-1]], dim=1)  # [S, T]
        labels = torch.cat([torch.zeros_like(start), labels[:, :-1]], dim=1)  # [S, T]
        return self.forward(actions, labels)[0]
