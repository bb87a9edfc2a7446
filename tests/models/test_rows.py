"""Rows: which tokens of a parser state the encoder reads."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.config import EncoderConfig, ModelConfig
from graph2graph.models.rows import state_rows
from graph2graph.transition.state import NO_NODE, State
from graph2graph.transition.states import States


@given(st.data(), st.integers(1, 30), st.integers(8, 24), st.booleans())
@settings(max_examples=40)
def test_a_state_keeps_what_is_near(data: st.DataObject, n_words: int, max_positions: int, graph: bool) -> None:
    """The row of a state never gets too long, and s2, s1 and b1 are always in it; what fits is there whole."""
    state, states = State(n_words), States([n_words])
    for _ in range(data.draw(st.integers(0, 2 * n_words - 1))):
        action = data.draw(st.sampled_from(state.legal()))
        state.apply(action)
        states.apply(np.array([0]), np.array([int(action)]), np.array([0]))
        if state.is_final:
            break
    config = ModelConfig(input="state", graph_input=graph, encoder=EncoderConfig(max_positions=max_positions))
    given = state_rows(states, config)
    words = given.nodes[given.nodes >= 0].tolist()
    assert len(given.nodes) == given.lengths[0] <= max_positions
    assert len(set(words)) == len(words)
    for node in state.focus:
        if node != NO_NODE:
            assert given.nodes[given.node_tokens[0, node]] == node
    deleted = [word for word, head in enumerate(state.heads) if head != NO_NODE]
    everything = [*state.stack, *reversed(state.buffer), *(deleted if graph else [])]
    if len(everything) + (3 if graph else 2) <= max_positions:
        assert words == everything
    else:
        assert len(given.nodes) == max_positions
        assert [node for node in everything if node in words] == words
