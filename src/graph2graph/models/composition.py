"""The composition model of the state parsers (Appendix "Composition Model").

At every step each word on the stack or in the buffer, ROOT included, gets C ← Comp(C, ω, l) + C: ω is the vector of its most
recent dependent as it was when attached, l the embedding of that arc's label and direction; [NULL] and [L-NULL] while it has
no dependent. The appendix states this by stack and buffer position; ω and l move with their word, so here they are kept by
word. A word that has got its head keeps its last C.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.transition.state import Action


@dataclass
class Composed:
    """The vectors of all nodes at one step, [S·m, w]; S sentences of m nodes each."""

    vectors: Tensor  # C
    context: Tensor  # what ω and l add to the hidden layer, [S·m, hidden]; it changes only with a new dependent


class Composition(nn.Module):
    """One hidden layer with tanh over C, ω and l, and the skip connection."""

    def __init__(self, width: int, hidden: int, n_labels: int, *, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.no_dependent = nn.Parameter(torch.zeros(width))  # [NULL]
        self.labels = nn.Embedding(1 + 2 * n_labels, width)
        self.hidden = nn.Linear(3 * width, hidden)
        self.out = nn.Linear(hidden, width)
        nn.init.normal_(self.labels.weight, std=0.02)
        if skip:  # it starts out changing nothing: each of the many steps would add noise to what the encoder knows
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def start(self, vectors: Tensor) -> Composed:
        """C at the first step: the input embeddings, [S, m, w]."""
        flat = vectors.flatten(0, 1)
        nothing = self._context(self.no_dependent[None], torch.zeros(1, dtype=torch.long, device=flat.device))
        return Composed(flat, nothing.expand(len(flat), -1))

    def step(
        self, composed: Composed, heads: Tensor, dependents: Tensor, actions: Tensor, labels: Tensor, live: Tensor
    ) -> Composed:
        """One step on: the arcs it added (flat node numbers, actions and labels), and the nodes alive after it."""
        numbers = 1 + 2 * labels + (actions == Action.RIGHT_ARC)
        new_context = self._context(F.embedding(dependents, composed.vectors), numbers)
        context = composed.context.index_copy(0, heads, new_context)
        old = F.embedding(live, composed.vectors)
        new = self.out(torch.tanh(F.linear(old, self._parts[0]) + F.embedding(live, context)))
        if self.skip:
            new = new + old
        return Composed(composed.vectors.index_copy(0, live, new), context)

    @property
    def _parts(self) -> tuple[Tensor, ...]:
        """The hidden layer's weights for C, ω and l."""
        return self.hidden.weight.chunk(3, dim=1)

    def _context(self, dependents: Tensor, numbers: Tensor) -> Tensor:
        """What these dependents and labels (0: [L-NULL]) add to the hidden layer of their heads."""
        _, of_dependent, of_label = self._parts
        return F.linear(dependents, of_dependent, self.hidden.bias) + F.linear(self.labels(numbers), of_label)
