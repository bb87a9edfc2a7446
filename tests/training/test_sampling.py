"""Batches, sampled states, and chunks."""

import numpy as np
import pytest

from graph2graph.training.sampling import chunks, encoded_pieces
from graph2graph.transition.state import NO_NODE
from toy_training import sampler_of, tiny_parser, toy_examples, toy_samples


@pytest.mark.parametrize("variant", ["sent", "sent-g2g", "state-g2g"])
def test_every_sentence_is_in_exactly_one_batch_of_an_epoch(variant: str) -> None:
    parser = tiny_parser(variant, batch_pieces=60)
    examples = toy_examples(parser) * 9
    sampler, same = sampler_of(parser, examples), sampler_of(parser, examples)
    for epoch in range(3):
        batches = sampler.batches(epoch)
        assert sorted(np.concatenate(batches)) == list(range(len(examples)))
        assert len(batches) > 3
        assert all((a == b).all() for a, b in zip(batches, same.batches(epoch), strict=True))
    assert not all(
        (a == b).all() for a, b in zip(sampler.batches(0), sampler.batches(1), strict=False) if len(a) == len(b)
    )


def test_batches_of_sentences_are_the_same_in_every_sentence_model() -> None:
    """Models that encode one state of a sentence and models that encode all make the same updates."""
    epochs = []
    for variant in ("sent", "sent-g2g"):
        parser = tiny_parser(variant, states=0, batch_sentences=3)
        sampler = sampler_of(parser, toy_examples(parser) * 5)
        epochs.append([sampler.batches(epoch) for epoch in (0, 1)])
    n_sentences = len(sampler.examples)
    for plain, graph in zip(*epochs, strict=True):
        assert all((a == b).all() for a, b in zip(plain, graph, strict=True))
        assert sorted(np.concatenate(plain)) == list(range(n_sentences))
        assert {len(batch) for batch in plain} <= {3, n_sentences % 3}


def test_batches_keep_to_their_budget() -> None:
    parser = tiny_parser("sent", batch_pieces=100)
    sampler = sampler_of(parser, toy_examples(parser) * 20)
    assert max(sampler.costs[batch].sum() for batch in sampler.batches(0)) <= 100 + sampler.costs.max()


def test_sampled_graphs_are_the_empty_one_and_others_that_all_differ() -> None:
    parser = tiny_parser("sent-g2g", states=4)
    examples = toy_examples(parser)
    sampler = sampler_of(parser, examples)
    for number, example in enumerate(examples):
        sampled, steps = sampler.sample(number, epoch=5)
        assert steps[0] == 0
        assert len(steps) == min(4, example.features.n_words)
        n_arcs = [(sampled.graph_at(np.array([step]))[0] != NO_NODE).sum() for step in steps]
        assert len(set(n_arcs)) == len(steps)


def test_all_states_as_in_the_paper() -> None:
    parser = tiny_parser("state-g2g", states=0)
    example, steps = toy_samples(parser)[0]
    assert steps.tolist() == list(range(example.n_steps))
    parser = tiny_parser("sent-g2g", states=0)
    example, steps = toy_samples(parser)[0]
    assert len(steps) == example.features.n_words  # a graph for each number of arcs but the last


def test_one_state_is_the_empty_graph_or_any_other() -> None:
    parser = tiny_parser(states=1, empty_share=0.3)
    examples = toy_examples(parser)
    longest = int(np.argmax([example.n_steps for example in examples]))
    sampler = sampler_of(parser, examples)
    sampled = [sampler.sample(longest, epoch).steps for epoch in range(300)]
    assert {len(steps) for steps in sampled} == {1}
    assert 60 < sum(int(steps[0]) == 0 for steps in sampled) < 120
    assert len({int(steps[0]) for steps in sampled}) == examples[longest].features.n_words


def test_the_first_epochs_can_be_without_graphs() -> None:
    parser = tiny_parser(states=3, empty_epochs=2)
    sampler = sampler_of(parser, toy_examples(parser))
    assert [len(sampler.sample(1, epoch).steps) for epoch in range(4)] == [1, 1, 3, 3]


def test_tags_are_hidden_in_a_share_of_the_sentences() -> None:
    parser = tiny_parser("sent", tag_dropout=0.5)
    sampler = sampler_of(parser, toy_examples(parser))
    sampled = [sampler.sample(0, epoch).example for epoch in range(200)]
    assert 60 < sum(not example.features.tags.any() for example in sampled) < 140
    assert all((example.tags == sampler.examples[0].tags).all() for example in sampled)  # the example still knows them
    assert all(sampler.examples[0].features.tags[1:])


def test_words_are_hidden_with_all_their_pieces() -> None:
    parser = tiny_parser("sent", word_dropout=0.3)
    sampler = sampler_of(parser, toy_examples(parser))
    n_hidden = n_words = 0
    for number, example in enumerate(sampler.examples):
        for epoch in range(20):
            features = sampler.sample(number, epoch).example.features
            hidden = features.pieces != example.features.pieces
            [row], [before] = features.windows, example.features.windows
            assert not hidden[0]
            changed = row.tokens != before.tokens
            assert (row.tokens[changed] == parser.pieces.mask).all()
            assert changed[row.columns[hidden]].all()
            assert (changed[row.inner] == changed[row.inner_heads]).all()
            assert not changed[row.columns[~hidden]].any()
            n_hidden, n_words = n_hidden + hidden.sum(), n_words + example.features.n_words
    assert 0.25 < n_hidden / n_words < 0.35


@pytest.mark.parametrize("budget", [1, 60, 100_000])
@pytest.mark.parametrize("variant", ["state-g2g-c", "sent-g2g", "sent"])
def test_chunks_have_every_state_once_and_keep_to_their_budget(variant: str, budget: int) -> None:
    """A chunk is over its budget only if a single state is."""
    parser = tiny_parser(variant, states=0)
    samples = toy_samples(parser)
    found = list(chunks(samples, parser.config.model, budget))
    assert [(id(one), int(step)) for chunk in found for one, steps in chunk for step in steps] == [
        (id(one), int(step)) for one, steps in samples for step in steps
    ]
    for chunk in found:
        pieces = sum(len(steps) * encoded_pieces(one.features, parser.config.model, 1) for one, steps in chunk)
        assert pieces <= budget or sum(len(steps) for _, steps in chunk) == 1
    assert len(found) == 1 or budget < 100_000
