"""The history model of the state parsers (Eq. "history"): an LSTM over the transitions taken so far."""

import torch
from torch import Tensor, nn

N_ACTIONS = 4
START = N_ACTIONS  # stands before the first transition

LstmState = tuple[Tensor, Tensor]


class History(nn.Module):
    """Two layers; the input is the embedding of the action plus that of its label, a null label for SHIFT and SWAP."""

    def __init__(self, width: int, n_layers: int, n_labels: int) -> None:
        super().__init__()
        self.actions = nn.Embedding(N_ACTIONS + 1, width)
        self.labels = nn.Embedding(1 + n_labels, width)
        self.lstm = nn.LSTM(width, width, n_layers, batch_first=True)
        for table in (self.actions, self.labels):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, actions: Tensor, labels: Tensor, state: LstmState | None = None) -> tuple[Tensor, LstmState]:
        """[S, T] actions and labels (0 null, else 1 + label) -> what is known after each, [S, T, w]."""
        out, state = self.lstm(self.actions(actions) + self.labels(labels), state)
        return out, state

    def before_each(self, actions: Tensor, labels: Tensor) -> Tensor:
        """What is known before each of T transitions, [S, T] -> [S, T, w]: all steps of a sentence in one go."""
        start = torch.full_like(actions[:, :1], START)
        actions = torch.cat([start, actions[:, :-1]], dim=1)
        labels = torch.cat([torch.zeros_like(start), labels[:, :-1]], dim=1)
        return self.forward(actions, labels)[0]
