"""The encoder against a literal form of Eq. 4 and 5, and what its results must never depend on."""

import functools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import naive
from graph2graph.config import EncoderConfig
from graph2graph.encoder.encoder import Graph, GraphEncoder, Layout, _add_at, _rearrange, position_bucket

pytestmark = pytest.mark.usefixtures("one_thread")
LENGTHS = [9, 1, 4, 7]
close = functools.partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


def small(**changes: object) -> GraphEncoder:
    """A small encoder with large relation tables, so that the graph weighs as much as the tokens."""
    shape = {"vocab_size": 40, "width": 24, "layers": 2, "heads": 3, "inner_width": 32, "max_positions": 32}
    torch.manual_seed(1)
    encoder = GraphEncoder(EncoderConfig(**{**shape, "relations": 3, "relation_std": 1.0, **changes})).eval()
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "relation" not in name and "norm" not in name:
                parameter.normal_(std=0.2)
    return encoder


def some_relations(lengths: Tensor, k: int, *, tree: bool, seed: int = 0) -> Tensor:
    """Relation ids [B, n, n] within the rows: any for every pair, or those of a tree (labelled, if k allows it)."""
    random = torch.Generator().manual_seed(seed)
    n = int(lengths.max())
    relations = torch.zeros(len(lengths), n, n, dtype=torch.long)
    for row, length in enumerate(lengths.tolist()):
        if not tree:
            relations[row, :length, :length] = torch.randint(k, (length, length), generator=random)
            continue
        for node in range(1, length):
            head = int(torch.randint(node, (), generator=random))
            label = int(torch.randint(max((k - 1) // 2, 1), (), generator=random))
            relations[row, head, node] = min(1 + 2 * label, k - 1)
            relations[row, node, head] = min(2 + 2 * label, k - 1)
    return relations


def outputs_and_gradients(encoder: GraphEncoder, out: Tensor, given_: Tensor) -> dict[str, Tensor]:
    """The output, and how a fixed weighing of it depends on the input and on every parameter."""
    weighing = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    parameters = {name: p for name, p in encoder.named_parameters() if not name.startswith("words")}
    wanted = {"input": given_, **parameters}
    gradients = torch.autograd.grad((out * weighing).sum(), list(wanted.values()))
    return {"output": out.detach(), **dict(zip(wanted, gradients))}


def compare_with_naive(encoder: GraphEncoder, lengths: Tensor, relations: Tensor, dtype: torch.dtype) -> None:
    encoder.to(dtype)
    layout = Layout(lengths)
    vectors = torch.randn(len(lengths), layout.width, encoder.config.input_width, dtype=dtype).requires_grad_()
    ours = encoder.encode(layout.pack(vectors), layout, graph=Graph.from_dense(relations))
    literal = layout.pack(naive.encode(encoder, vectors, relations, layout.is_real))
    ours_all = outputs_and_gradients(encoder, ours, vectors)
    for name, expected in outputs_and_gradients(encoder, literal, vectors).items():
        close(ours_all[name], expected, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("tree", [True, False], ids=["tree", "dense"])
@pytest.mark.parametrize("k", range(1, 51))
def test_equals_equations_4_and_5(k: int, tree: bool) -> None:
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
def test_equals_equations_4_and_5_for_any_shape(
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


@pytest.mark.parametrize("buckets", [0, 8])
def test_padding_never_matters(buckets: int) -> None:
    encoder, lengths = small(position_buckets=buckets, n_segments=3), torch.tensor(LENGTHS)
    layout = Layout(lengths, 11)
    inside = layout.is_real[:, :, None] & layout.is_real[:, None]
    relations = torch.nn.functional.pad(some_relations(lengths, 3, tree=False), (0, 2, 0, 2))
    results = []
    for seed in range(3):
        torch.manual_seed(seed)
        tokens = torch.where(layout.is_real, torch.arange(11) + 3, torch.randint(40, (4, 11)))
        segments = torch.where(layout.is_real, torch.arange(11) % 3, torch.randint(3, (4, 11)))
        graph = torch.where(inside, relations, torch.randint(3, relations.shape))
        results.append(encoder(tokens, lengths=lengths, segments=segments, graph=graph))
        assert not results[-1][~layout.is_real].any()  # zero where there is no token
    for result in results[1:]:
        assert torch.equal(result, results[0])


def test_batch_never_matters() -> None:
    encoder, lengths = small(position_buckets=8), torch.tensor([9, 1, 4, 7, 9, 2])
    tokens = torch.randint(40, (6, 9))
    relations = some_relations(lengths, 3, tree=True)
    together = encoder(tokens, lengths=lengths, graph=relations)
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(tokens[row : row + 1, :length], graph=relations[row : row + 1, :length, :length])
        close(together[row, :length], alone[0], rtol=0, atol=1e-6)
    order = torch.tensor([3, 0, 5, 1])
    moved = encoder(tokens[order], lengths=lengths[order], graph=relations[order])
    close(moved, together[order], rtol=0, atol=1e-6)


def test_wanted_tokens_come_out_as_among_all() -> None:
    """The last layer works on the wanted tokens only: their vectors and every gradient are as if it had done all."""
    encoder, lengths = small().double(), torch.tensor(LENGTHS)
    layout, graph = Layout(lengths), Graph.from_dense(some_relations(lengths, 3, tree=True))
    vectors = torch.randn(layout.n_tokens, 24, dtype=torch.double, requires_grad=True)
    wanted = torch.tensor([20, 0, 9, 13, 8])
    every = encoder.encode(vectors, layout, graph=graph)
    some = encoder.encode(vectors, layout, graph=graph, wanted=wanted)
    every, some = (outputs_and_gradients(encoder, out, vectors) for out in (every[wanted], some))
    for name, expected in every.items():
        close(some[name], expected)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.integers(0, 3))
def test_layout_packs_and_pads(lengths: list[int], more: int) -> None:
    layout = Layout(torch.tensor(lengths), max(lengths) + more)
    packed = torch.arange(1, sum(lengths) + 1)[:, None].repeat(1, 2)
    padded = layout.pad(packed)
    assert padded.shape == (len(lengths), max(lengths) + more, 2)
    assert torch.equal(layout.pack(padded), packed)
    assert torch.equal(padded[..., 0] > 0, layout.is_real)
    assert layout.n_tokens == sum(lengths)
    assert layout.columns.tolist() == [column for length in lengths for column in range(length)]
    assert layout.starts.tolist() == [sum(lengths[:row]) for row in range(len(lengths))]


def test_gradients_of_the_own_functions() -> None:
    rows = torch.randn(6, 3, dtype=torch.double, requires_grad=True)
    order, unused = torch.tensor([4, 0, 5, 2]), torch.tensor([1, 3])
    inverse = torch.tensor([1, 0, 3, 0, 0, 2])  # of the unused rows anything
    assert torch.autograd.gradcheck(lambda x: _rearrange(x, order, inverse, unused), [rows])
    permutation = torch.randperm(6)
    assert torch.autograd.gradcheck(lambda x: _rearrange(x, permutation, permutation.argsort()), [rows])
    values = torch.randn(4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: _add_at(x * 1, torch.tensor([0, 17, 4, 5]), y), [rows, values])


@pytest.mark.parametrize("n_buckets", [8, 32])
def test_position_buckets_are_those_of_mpnet(n_buckets: int) -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = torch.arange(-700, 701)
    expected = MPNetEncoder.relative_position_bucket(distances, num_buckets=n_buckets)
    assert torch.equal(position_bucket(distances, n_buckets), expected)


def test_dropout_only_in_training() -> None:
    tokens = torch.randint(40, (4, 9))
    for kind in ({"dropout": 0.5, "attention_dropout": 0.0}, {"dropout": 0.0, "attention_dropout": 0.5}):
        encoder = small(**kind)
        once = encoder(tokens)
        assert torch.equal(encoder(tokens), once)
        encoder.train()
        assert not torch.allclose(encoder(tokens), once, atol=1e-3)
        assert not torch.allclose(encoder(tokens), encoder(tokens), atol=1e-3)
    off = small(dropout=0, attention_dropout=0)
    assert torch.equal(off.train()(tokens), off.eval()(tokens))


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


def test_half_precision() -> None:
    encoder = small(position_buckets=8)
    tokens, lengths = torch.randint(40, (4, 9)), torch.tensor(LENGTHS)
    graph = some_relations(lengths, 3, tree=True)
    exact = encoder(tokens, lengths=lengths, graph=graph)
    with torch.autocast("cpu", torch.bfloat16):
        rough = encoder.train()(tokens, lengths=lengths, graph=graph)
    rough.float().sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        close(encoder.eval()(tokens, lengths=lengths, graph=graph).float(), exact, rtol=0, atol=0.1)


@pytest.mark.parametrize(
    ("changes", "call", "message"),
    [
        ({}, lambda encoder: encoder(torch.zeros(1, 33, dtype=torch.long)), "33 tokens: the encoder has 32 positions"),
        (
            {},
            lambda encoder: encoder(torch.ones(1, 2, dtype=torch.long), graph=torch.full((1, 2, 2), 3)),
            "a relation id of 3: the encoder has 3",
        ),
        (
            {"relations": 0},
            lambda encoder: encoder(torch.ones(1, 2, dtype=torch.long), graph=torch.ones(1, 2, 2, dtype=torch.long)),
            "a relation id of 1: the encoder has 0",
        ),
    ],
)
def test_what_it_cannot_take_is_said(
    changes: dict[str, int], call: Callable[[GraphEncoder], Tensor], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(small(**changes))


@pytest.mark.parametrize("changes", [{"width": 25}, {"relations": -1}, {"activation": "sin"}, {"nonsense": 1}])
def test_impossible_shapes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"multiple of heads|greater than|Input should be|Extra inputs"):
        small(**changes)
