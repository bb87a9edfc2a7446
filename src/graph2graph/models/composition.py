"""The composition model of the state parsers: Eq. 11 and 12, Appendix B.

    Eq. 11   C ← Comp(ψ, ω, l) + ψ

At every step this is computed for every word on the stack or in the buffer, ROOT included. ψ is the word's present vector C, ω
the vector of its most recent dependent as it was when attached, and l the embedding of that arc's label and direction. A word
without dependents has ω = [NULL] and l = [L-NULL]. A word with a head is no longer composed: it keeps its last C.

Eq. 12 lists ψ, ω and l for each position of stack and buffer, by action; most of its lines only move these along with their
words. Here ψ, ω and l belong to words, so nothing moves: an arc changes ω and l of its head (`new_dependents`).

Shapes: S sentences of m nodes each, w width of the vectors, D actions of a step, A of which add an arc, L live nodes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.transition.state import Action
from graph2graph.transition.states import arcs_of


class NewDependents(NamedTuple):
    """The nodes that get a new dependent in a step."""

    positions: IntArray  # [A] in the actions
    heads: IntArray  # [A] whose ω and l change
    dependents: IntArray  # [A] whose vectors are ω
    labels: IntArray  # [A] l as a row of the label table: 0 [L-NULL], then each label to the left and to the right


def new_dependents(actions: IntArray, labels: IntArray, focus: IntArray) -> NewDependents:
    """Eq. 12: the node whose ω and l each action changes; actions and labels are [D], focus is s2, s1, b1 [D, 3].

    RIGHT-ARC(l)   for s2: ψ = C[s2], ω = C[s1], l = l to the right
    LEFT-ARC(l)    for s1: ψ = C[s1], ω = C[s2], l = l to the left
    SHIFT, SWAP    for none: every node keeps its ω and l
    """
    arcs = arcs_of(actions, focus)
    is_right = actions[arcs.positions] == Action.RIGHT_ARC
    return NewDependents(arcs.positions, arcs.heads, arcs.dependents, 1 + 2 * labels[arcs.positions] + is_right)


@dataclass(frozen=True)
class Composed:
    """The vectors of all nodes at one step."""

    vectors: Tensor  # [S·m, w] C
    context: Tensor  # [S·m, hidden] what ω and l add to the hidden layer of Comp; only a new dependent changes it
    n_nodes: int  # m

    def take(self, sentences: Tensor) -> "Composed":
        """A copy of some sentences."""
        columns = torch.arange(self.n_nodes, device=sentences.device)
        nodes = (sentences[:, None] * self.n_nodes + columns).flatten()  # [S'·m]
        return Composed(self.vectors[nodes], self.context[nodes], self.n_nodes)


class Composition(nn.Module):
    """Comp has one hidden layer with tanh over ψ, ω and l."""

    def __init__(self, width: int, hidden: int, n_labels: int, *, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.no_dependent = nn.Parameter(torch.zeros(width))  # [NULL]
        self.labels = nn.Embedding(1 + 2 * n_labels, width)  # [L-NULL]; then each label to the left and to the right
        self.hidden = nn.Linear(3 * width, hidden)
        self.out = nn.Linear(hidden, width)
        nn.init.normal_(self.labels.weight, std=0.02)
        if skip:  # at first Comp is zero: otherwise each of the many steps would add noise to pretrained vectors
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def start(self, vectors: Tensor) -> Composed:
        """C at the first step: the token embeddings (Eq. 6), [S, m, w]."""
        flat = vectors.flatten(0, 1)  # [S·m, w]
        no_label = torch.zeros(1, dtype=torch.long, device=flat.device)
        context = self._context(self.no_dependent[None], no_label).expand(len(flat), -1)  # [S·m, hidden]
        return Composed(flat, context, vectors.shape[1])

    def advance(self, composed: Composed, sentences: IntArray, new: NewDependents, is_live: BoolArray) -> Composed:
        """C after one action in each of these sentences, [D]; is_live, [D, m]: the nodes on stack and buffer after it."""
        device, first = composed.vectors.device, sentences * composed.n_nodes  # the flat index of ROOT
        heads = torch.from_numpy(first[new.positions] + new.heads).to(device)
        dependents = torch.from_numpy(first[new.positions] + new.dependents).to(device)
        labels = torch.from_numpy(new.labels).to(device)
        rows, nodes = is_live.nonzero()
        live = torch.from_numpy(first[rows] + nodes).to(device)

        new_context = self._context(F.embedding(dependents, composed.vectors), labels)  # [A, hidden]
        context = composed.context.index_copy(0, heads, new_context)
        psi = F.embedding(live, composed.vectors)  # [L, w]
        vectors = self.out(torch.tanh(F.linear(psi, self._weights[0]) + F.embedding(live, context)))  # Eq. 11
        if self.skip:
            vectors = vectors + psi
        return Composed(composed.vectors.index_copy(0, live, vectors), context, composed.n_nodes)

    @property
    def _weights(self) -> tuple[Tensor, ...]:
        """The hidden layer's weights for ψ, ω and l, [hidden, w] each."""
        return self.hidden.weight.chunk(3, dim=1)

    def _context(self, omega: Tensor, labels: Tensor) -> Tensor:
        """What ω, [A, w], and l, [A] rows of the label table, add to the hidden layer: [A, hidden]."""
        _, of_omega, of_label = self._weights
        return F.linear(omega, of_omega, self.hidden.bias) + F.linear(self.labels(labels), of_label)
