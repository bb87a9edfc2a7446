"""The loss of a batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graph2graph.parser.parser import Parser
from graph2graph.training import loss
from graph2graph.training.examples import Example, Sample
from graph2graph.training.loss import batch_loss
from graph2graph.training.sampling import chunks
from graph2graph.training.supervision import OWN_DECISIONS, GraphKind, StaleWeights, supervise, total_weight
from graph2graph.transition.state import NO_NODE
from graph2graph.variants import VARIANTS
from toy_training import START, tiny_parser, toy_examples, toy_samples


def test_only_the_vectors_that_decisions_read_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If each graph supervises its own decisions, the last layer works on their focus words alone; the loss is the same."""
    parser = tiny_parser("sent-g2g", states=0)
    model = parser.model.eval()
    batch = supervise(toy_samples(parser), model.config)
    read = loss._nodes_read(model, batch)
    assert read is not None
    assert read.sum() < 0.5 * sum(len(steps) * len(example.heads) for example, steps in batch.samples)
    some = batch_loss(model, batch).total
    monkeypatch.setattr(loss, "READ_ALL_FROM", 0)
    assert loss._nodes_read(model, batch) is None
    torch.testing.assert_close(some, batch_loss(model, batch).total)


@pytest.mark.parametrize(
    ("variant", "stale", "kinds"),
    [
        ("sent-g2g", OWN_DECISIONS, {GraphKind.EMPTY, GraphKind.EXACT}),
        ("sent-g2g", StaleWeights(1.0, 0.7), {GraphKind.EMPTY, GraphKind.EXACT, GraphKind.STALE}),
        ("sent", OWN_DECISIONS, {GraphKind.EXACT}),
    ],
)
def test_losses_by_kind_of_graph_add_up(variant: str, stale: StaleWeights, kinds: set[GraphKind]) -> None:
    parser = tiny_parser(variant, states=0)
    found = batch_loss(parser.model.eval(), supervise(toy_samples(parser), parser.config.model, stale))
    torch.testing.assert_close(found.by_kind.sum(), found.total.detach())
    assert set(found.by_kind.nonzero().flatten().tolist()) == kinds


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("state")])
def test_looking_ahead_gives_the_same_vectors_and_more(variant: str) -> None:
    parser = tiny_parser(variant)
    model, longest = parser.model.eval(), max(toy_examples(parser), key=lambda one: one.n_steps)
    at = np.array([longest.n_steps // 2])
    states, vectors = longest.states_at(at), model.node_vectors([longest.features])
    near, far = (model.encode_states(states, vectors, START, looks_ahead=ahead) for ahead in (False, True))
    if model.config.output == "tokens":
        focus = [node for node in states.focus[0] if node != NO_NODE]
        torch.testing.assert_close(far.vectors[far.node_index[0, focus]], near.vectors[near.node_index[0, focus]])
        needed = {int(node) for node in longest.focus[at[0] :].flatten() if node != NO_NODE}
        assert needed > set(focus)
        assert len(set(far.node_index[0, sorted(needed)].tolist())) == len(needed) == len(far.vectors) - 1
    batch = supervise([Sample(longest, at)], model.config, StaleWeights(0.0, 1.0))
    n_decisions = longest.n_steps - at[0] if model.config.output == "tokens" else 1
    assert total_weight([batch]) == n_decisions
    batch_loss(model, batch).total.backward()  # type: ignore[no-untyped-call]
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("variant", ["state-g2g-c", "sent-g2g", "sent"])
def test_gradients_of_chunks_add_up_to_those_of_the_batch(variant: str) -> None:
    parser = tiny_parser(variant, states=0)
    model, samples = parser.model.eval(), toy_samples(parser)

    def gradients(some: list[Sample]) -> tuple[list[torch.Tensor], float]:
        batch = supervise(some, model.config, StaleWeights(1.0, 0.9))
        total = batch_loss(model, batch).total
        return list(torch.autograd.grad(total, list(model.parameters()), materialize_grads=True)), total_weight([batch])

    whole, weight = gradients(samples)
    for budget in (1, 60):
        found = [gradients(chunk) for chunk in chunks(samples, model.config, budget)]
        assert sum(w for _, w in found) == pytest.approx(weight)
        for number, expected in enumerate(whole):
            torch.testing.assert_close(sum(g[number] for g, _ in found), expected, rtol=1e-3, atol=1e-3)


def without_tags(example: Example) -> Example:
    return replace(example, features=example.features.without_tags())


@pytest.mark.slow
def test_tags_are_learnt_from_sentences_without_them() -> None:
    parser = tiny_parser("sent", tagger=True)
    model, examples = parser.model.eval(), toy_examples(parser)
    tagged = supervise([Sample(example, START) for example in examples], model.config)
    assert batch_loss(model, tagged, tag_loss=1.0).total == batch_loss(model, tagged).total  # nothing to predict
    hidden = supervise([Sample(without_tags(example), START) for example in examples], model.config)
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        adam.zero_grad()
        batch_loss(model.train(), hidden, tag_loss=1.0).total.backward()  # type: ignore[no-untyped-call]
        adam.step()
    model.eval()
    left = batch_loss(model, hidden, tag_loss=1.0).total - batch_loss(model, hidden).total
    assert left.item() < 0.1 * sum(example.features.n_words for example in examples)


@pytest.mark.parametrize("variant", ["state-cls", "state-g2cls"])
def test_cls_predicts_the_tags_of_the_focus(variant: str) -> None:
    parser = tiny_parser(variant, tagger=True)
    model, samples = parser.model.eval(), [Sample(one, np.arange(one.n_steps)[::3]) for one in toy_examples(parser)]
    batch = supervise(samples, model.config)
    found = batch_loss(model, batch, tag_loss=1.0).total - batch_loss(model, batch).total
    expected = sum(focus_tag_loss(parser, Sample(one, np.array([step]))) for one, steps in samples for step in steps)
    assert found.item() == pytest.approx(expected, rel=1e-4)


def focus_tag_loss(parser: Parser, sample: Sample) -> float:
    """One state's loss, from its CLS vector."""
    model, (example, [step]) = parser.model, sample
    assert model.tagger is not None
    seen: list[torch.Tensor] = []
    hook = model.exist.slots[0].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    batch_loss(model, supervise([sample], model.config))
    hook.remove()
    scores = model.tagger(seen[0])[0].view(3, len(parser.vocabulary.tags) + 1).log_softmax(1)
    tags = [0 if node == NO_NODE else example.tags[node] for node in example.focus[step]]
    return -sum(scores[slot, tag].item() for slot, tag in enumerate(tags))
