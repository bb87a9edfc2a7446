"""Long sentences: one that does not fit the encoder is decoded part by part, in time and memory linear in its length.

A part has what the next decisions need: words from the top of the stack, words from the front of the buffer, and the nearest
words that have their heads already. It is encoded and decoded as if it were a sentence that is half parsed, until the next
decision needs a word that is not in it; then the next part is chosen. So no step takes longer because the sentence is longer.

Each part is encoded with the arcs so far, and with a threshold only `ENCODINGS` times. Words are swapped only while this does
not undo the progress of earlier parts, since n words could otherwise take n² swaps. A state model starts each part without
history, and with vectors that are not composed. Given arcs replace the decoder's in the end.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import Decisions, Tree, Work, greedy, taken_arcs
from graph2graph.decoding.one_subject import OneSubject
from graph2graph.models.features import Features, Words
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.state import NO_NODE, ROOT
from graph2graph.transition.states import PartialStates

SIZE = 96  # pieces of a part
BUFFER = 0.75  # the share of the words from the buffer
STACK = 0.5  # the share of the rest that words from the stack may take before words that have their heads
AHEAD = 0.25  # the share of a part's buffer that is left to the next one, so that decisions see words to their right
ENCODINGS = 1  # of a part, with a threshold
SPECIAL = 4  # positions that hold no word: CLS, ROOT, and up to two SEP


class _LongState:
    """The parser state of a long sentence, and the part of it that is decoded now."""

    def __init__(self, number: int, words: Words, room: int) -> None:
        self.number, self.words, self.room = number, words, room
        self.most_pieces = max(room // 8, 1)  # of a word in a part
        self.sizes = [0, *(min(len(pieces), self.most_pieces) for pieces in words.pieces)]  # of each node in a part
        self.stack = [ROOT]
        self.buffer = list(range(words.n_words, 0, -1))  # the front is the last element
        nothing: IntArray = np.full(words.n_words + 1, NO_NODE, dtype=np.int64)
        self.tree = Tree(nothing, nothing.copy())
        self.least_left = self.n_left
        self.nodes: IntArray = nothing[:1]  # of the part: ROOT, then its words in the order of the sentence
        self.n_stack = self.n_buffer = 0  # words of the part that come from the stack and from the buffer

    @property
    def is_final(self) -> bool:
        """Whether the tree is complete."""
        return not self.n_left

    @property
    def n_left(self) -> int:
        """The number of actions that are left if no word is swapped."""
        return 2 * len(self.buffer) + len(self.stack) - 1

    def next_part(self) -> Features:
        """Choose the next part; return its features."""
        ahead, _ = self._nearest(reversed(self.buffer), math.ceil(self.room * BUFFER), least=1)
        room = self.room - sum(self.sizes[word] for word in ahead)
        top = self.stack[:0:-1] if len(self.stack) <= self.room else self.stack[: -self.room - 1 : -1]
        stack, n_pieces = self._nearest(top, math.ceil(room * STACK), least=2)
        last = max(stack[:1] + ahead[:1] + [0]) if self.buffer else len(self.sizes) - 1
        attached = (word for word in range(last, max(last - 2 * self.room, 0), -1) if self.tree.heads[word] != NO_NODE)
        behind, more = self._nearest(attached, room - n_pieces, least=0)
        if n_pieces + more < room:
            stack, _ = self._nearest(top, room - more, least=2)
        self.n_stack, self.n_buffer = len(stack), len(ahead)
        self.nodes = np.array([ROOT, *sorted([*stack, *behind, *ahead])], dtype=np.int64)
        return self.words.part(self.nodes[1:].tolist(), self.most_pieces)

    def _nearest(self, words: Iterable[int], room: int, *, least: int) -> tuple[list[int], int]:
        """The first words that fit, but at least so many if there are; and the number of their pieces."""
        taken: list[int] = []
        total = 0
        for word in words:
            if total + self.sizes[word] > room and len(taken) >= least:
                break
            taken.append(word)
            total += self.sizes[word]
        return taken, total

    def enter(self, states: PartialStates, row: int) -> None:
        """Write the part into a row of initial states."""
        n_stack, n_buffer, tree = self.n_stack, self.n_buffer, self.tree
        states.stack[row, 1 : n_stack + 1] = self._numbers(self.stack[len(self.stack) - n_stack :])
        states.stack_size[row] = n_stack + 1
        states.buffer[row, :n_buffer] = self._numbers(self.buffer[len(self.buffer) - n_buffer :])
        states.buffer_size[row] = n_buffer
        attached = np.isin(tree.heads[self.nodes], self.nodes).nonzero()[0]  # an arc to a word outside is left out
        states.heads[row, attached] = self._numbers(tree.heads[self.nodes[attached]])
        states.labels[row, attached] = tree.labels[self.nodes[attached]]
        states.has_more_below[row] = n_stack < len(self.stack) - 1
        states.shortest[row] = math.ceil(n_buffer * AHEAD) - 1 if n_buffer < len(self.buffer) else -1
        states.may_swap[row] = self.n_left <= self.least_left
        self.least_left = min(self.least_left, self.n_left)

    def _numbers(self, nodes: Sequence[int] | IntArray) -> IntArray:
        """The numbers of some nodes in the part."""
        return np.searchsorted(self.nodes, nodes)

    def leave(self, states: PartialStates, row: int) -> None:
        """Take over what has been decided."""
        del self.stack[len(self.stack) - self.n_stack :], self.buffer[len(self.buffer) - self.n_buffer :]
        self.stack += self.nodes[states.stack[row, 1 : states.stack_size[row]]].tolist()
        self.buffer += self.nodes[states.buffer[row, : states.buffer_size[row]]].tolist()
        attached = (states.heads[row] != NO_NODE).nonzero()[0]
        self.tree.heads[self.nodes[attached]] = self.nodes[states.heads[row, attached]]
        self.tree.labels[self.nodes[attached]] = states.labels[row, attached]


def decode_long(
    model: ParserModel,
    sentences: Sequence[Words],
    decode: DecodeConfig,
    *,
    work: Work | None = None,
    one_subject: OneSubject | None = None,
    is_recorded: bool = False,
) -> list[Tree]:
    """The trees of long sentences, decoded greedily, a part of each at a time.

    With `is_recorded`, the trees have their scores and the probabilities of their arcs.
    """
    room = min(SIZE, model.config.encoder.max_positions) - SPECIAL
    everything = [_LongState(row, words, room) for row, words in enumerate(sentences)]
    running = everything
    while running:
        _decode_parts(model, running, decode, work, one_subject, is_recorded=is_recorded)
        running = [one for one in running if not one.is_final]
    return [one.tree for one in everything]


def _decode_parts(
    model: ParserModel,
    running: Sequence[_LongState],
    decode: DecodeConfig,
    work: Work | None,
    one_subject: OneSubject | None,
    *,
    is_recorded: bool,
) -> None:
    """Decode the next part of each sentence."""
    features = [one.next_part() for one in running]
    states = PartialStates([one.n_words for one in features])
    for row, one in enumerate(running):
        one.enter(states, row)
    arguments = None if one_subject is None else one_subject.of_parts([(one.number, one.nodes) for one in running])
    decisions: list[Decisions] = []
    greedy(
        model,
        features,
        decode,
        work=work,
        decisions=decisions if is_recorded else None,
        one_subject=arguments,
        start=states,
        most_encodings=ENCODINGS,
    )
    for row, one in enumerate(running):
        one.leave(states, row)
        if one_subject is not None and arguments is not None:
            one_subject.has[one.number, one.nodes] = arguments.has[row, : len(one.nodes)]
    for step in decisions:
        for row, log_p in zip(step.rows.tolist(), step.log_p.tolist(), strict=True):
            running[row].tree.score += log_p
    for arc in taken_arcs(decisions):
        one = running[arc.row]
        one.tree.arcs.append(arc._replace(dependent=int(one.nodes[arc.dependent])))
