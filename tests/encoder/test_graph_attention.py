"""Graph attention against a literal form of Eq. 3 and 4."""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import naive
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.layout import Graph, Layout
from small_encoder import LENGTHS, outputs_and_gradients, small, some_relations

pytestmark = pytest.mark.usefixtures("one_thread")
close = functools.partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


def compare_with_naive(encoder: GraphEncoder, lengths: Tensor, relations: Tensor, dtype: torch.dtype) -> None:
    encoder.to(dtype)
    layout = Layout(lengths)
    vectors = torch.randn(len(lengths), layout.width, encoder.config.input_width, dtype=dtype).requires_grad_()
    embedded = encoder.embed(layout.pack(vectors), layout.columns)
    ours = encoder.encode(embedded, layout, graph=Graph.from_dense(relations))
    literal = layout.pack(naive.encode(encoder, vectors, relations, layout.is_real))
    ours_all = outputs_and_gradients(encoder, ours, vectors)
    for name, expected in outputs_and_gradients(encoder, literal, vectors).items():
        close(ours_all[name], expected, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("tree", [True, False], ids=["tree", "dense"])
@pytest.mark.parametrize("k", range(1, 51))
def test_equals_equations_3_and_4(k: int, tree: bool) -> None:
    lengths = torch.tensor(LENGTHS)
    relations = some_relations(lengths, k, tree=tree, seed=k)
    compare_with_naive(small(relations=k), lengths, relations, torch.float32)


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    k=st.integers(1, 50),
    heads=st.sampled_from([1, 2, 4]),
    tree=st.booleans(),
    buckets=st.sampled_from([0, 8]),
    segments=st.integers(0, 3),
    embedding_width=st.sampled_from([None, 6]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40)
def test_equals_equations_3_and_4_for_any_shape(
    lengths, k, heads, tree, buckets, segments, embedding_width, seed
) -> None:
    encoder = small(
        relations=k,
        heads=heads,
        layers=1,
        position_buckets=buckets,
        n_segments=segments,
        embedding_width=embedding_width,
    )
    rows = torch.tensor(lengths)
    compare_with_naive(encoder, rows, some_relations(rows, k, tree=tree, seed=seed), torch.float64)


def test_row_of_the_relation_is_the_query() -> None:
    """Only the token whose row says so sees the relation: r_ij belongs to query i and key j."""
    encoder = small(layers=1)
    tokens = torch.tensor([[4, 5, 6]])
    graph = Graph(*torch.tensor([[0], [0], [2], [1]]))  # row 0: r_02 = 1
    changed = (encoder(tokens, graph=graph) - encoder(tokens)).abs().amax(-1)[0] > 1e-4
    assert changed.tolist() == [True, False, False]


def test_dense_and_sparse_graphs_are_the_same() -> None:
    encoder, lengths = small(relations=7), torch.tensor(LENGTHS)
    tokens = torch.randint(40, (4, 9))
    relations = some_relations(lengths, 7, tree=False)
    entries = relations.nonzero()
    shuffled = entries[torch.randperm(len(entries))]
    graph = Graph(*shuffled.T, relations[tuple(shuffled.T)])
    dense = encoder(tokens, lengths=lengths, graph=relations)
    close(encoder(tokens, lengths=lengths, graph=graph), dense, rtol=0, atol=1e-6)
    assert not torch.allclose(encoder(tokens, lengths=lengths), dense, atol=1e-3)


def test_without_relations_it_is_plain_bert() -> None:
    encoder, plain = small(relation_std=0), small(relations=0)
    plain.load_state_dict(encoder.state_dict(), strict=False)
    tokens, lengths = torch.randint(40, (4, 9)), torch.tensor(LENGTHS)
    expected = plain(tokens, lengths=lengths)
    nothing = torch.zeros(4, 9, 9, dtype=torch.long)
    for graph in (None, nothing, some_relations(lengths, 3, tree=True)):  # with tables of zero no relation matters
        close(encoder(tokens, lengths=lengths, graph=graph), expected, rtol=0, atol=1e-6)
    with torch.no_grad():  # what "none" adds to the keys is the same for all, and cancels
        for layer in encoder.layers:
            layer.attention.relation_keys[0].normal_()
    close(encoder(tokens, lengths=lengths, graph=nothing), expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_gradients_are_the_same_bit_by_bit_every_time() -> None:
    """Also where the pairs are so many that torch would share the work among threads."""
    encoder = small(width=48, heads=12, relations=5, max_positions=64)
    tokens, lengths = torch.randint(40, (32, 64)), torch.full((32,), 64)
    graph = Graph.from_dense(some_relations(lengths, 5, tree=True))
    assert 12 * len(graph.rows) > 32768
    gradients = []
    torch.set_num_threads(2)
    for _ in range(3):
        encoder.zero_grad()
        encoder(tokens, graph=graph).square().sum().backward()
        gradients.append([parameter.grad for parameter in encoder.parameters() if parameter.grad is not None])
    torch.set_num_threads(1)
    for later in gradients[1:]:
        assert all(torch.equal(one, other) for one, other in zip(gradients[0], later))
