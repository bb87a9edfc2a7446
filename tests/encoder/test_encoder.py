"""The encoder: what its output must never depend on, and the inputs it refuses."""

import functools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from graph2graph.encoder.encoder import GraphEncoder, position_bucket
from graph2graph.encoder.layout import Graph, Layout
from small_encoder import LENGTHS, outputs_and_gradients, small, some_relations

pytestmark = pytest.mark.usefixtures("one_thread")
close = functools.partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


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
    every = encoder.encode(encoder.embed(vectors, layout.columns), layout, graph=graph)
    some = encoder.encode(encoder.embed(vectors, layout.columns), layout, graph=graph, wanted=wanted)
    every, some = (outputs_and_gradients(encoder, out, vectors) for out in (every[wanted], some))
    for name, expected in every.items():
        close(some[name], expected)


@pytest.mark.slow
@pytest.mark.parametrize("n_buckets", [8, 32])
def test_position_buckets_are_those_of_mpnet(n_buckets: int) -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = torch.arange(-700, 701)
    expected = MPNetEncoder.relative_position_bucket(distances, num_buckets=n_buckets)
    assert torch.equal(position_bucket(distances, n_buckets), expected)


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
def test_impossible_inputs_are_refused(
    changes: dict[str, int], call: Callable[[GraphEncoder], Tensor], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(small(**changes))


@pytest.mark.parametrize("changes", [{"width": 25}, {"relations": -1}, {"activation": "sin"}, {"nonsense": 1}])
def test_impossible_shapes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"multiple of heads|greater than|Input should be|Extra inputs"):
        small(**changes)
