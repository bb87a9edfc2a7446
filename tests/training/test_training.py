"""Training: batches, plan, checkpoints, resuming after a kill, several processes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from graph2graph.config import Config, TrainConfig
from graph2graph.encoder import dropout
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser, Vocabulary
from graph2graph.training import checkpoint, loop, loss
from graph2graph.training.examples import Example, StaleWeights, example
from graph2graph.training.exploration import with_detours
from graph2graph.training.loss import NOT_STALE, batch_loss, decisions_of, sum_of_weights
from graph2graph.training.optimiser import optimiser, set_rate
from graph2graph.training.plan import plan, timed
from graph2graph.training.sampling import Sampler, encoded_pieces, portions
from graph2graph.transition.state import NO_NODE
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
TINY = {"width": 32, "inner_width": 64, "layers": 1, "heads": 2, "vocab_size": 300}
TINY_FLAGS = [f"--set=model.encoder.{name}={value}" for name, value in TINY.items()]


def tiny_parser(variant: str = "sent-g2g", *, tagger: bool = False, **train: object) -> tuple[Parser, list[Example]]:
    sentences = list(conllu.read(TOY))
    vocabulary = Vocabulary.of(sentences)
    model = VARIANTS[variant].model | {"encoder": TINY, "tagger": tagger}
    config = Config.parse({"model": model, "train": train}, "test")
    torch.manual_seed(0)
    parser = Parser.create(config, vocabulary, forms=(form for s in sentences for form in s.forms))
    numbers = {label: number for number, label in enumerate(vocabulary.labels)}
    keep = config.model.input == "state"
    return parser, [example(s, parser.featurizer(s), numbers, swap="eager", keep_states=keep) for s in sentences]


def run(*arguments: str, env: dict[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graph2graph", "train", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | (env or {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


# ---------------------------------------------------------------------- sampling


@pytest.mark.parametrize("variant", ["sent", "sent-g2g", "state-g2g"])
def test_every_sentence_is_in_exactly_one_batch_of_an_epoch(variant: str) -> None:
    parser, examples = tiny_parser(variant, batch_pieces=60)
    sampler = Sampler(examples * 9, parser.config.model, parser.config.train)
    for epoch in range(3):
        batches = sampler.batches(epoch)
        assert sorted(np.concatenate(batches)) == list(range(len(examples) * 9))
        assert len(batches) > 3
        again = Sampler(examples * 9, parser.config.model, parser.config.train).batches(epoch)
        assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    assert not all(
        (a == b).all() for a, b in zip(sampler.batches(0), sampler.batches(1), strict=False) if len(a) == len(b)
    )


def test_batches_of_sentences_are_the_same_in_every_sentence_model() -> None:
    """Models that encode one state of a sentence and models that encode all make the same updates on the same sentences."""
    of_variants = []
    for variant in ("sent", "sent-g2g"):
        parser, examples = tiny_parser(variant, states=0, batch_sentences=3)
        sampler = Sampler(examples * 5, parser.config.model, parser.config.train)
        of_variants.append([sampler.batches(epoch) for epoch in (0, 1)])
    for ours, theirs in zip(*of_variants, strict=True):
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
        assert sorted(np.concatenate(ours)) == list(range(len(examples) * 5))
        assert {len(batch) for batch in ours} <= {3, len(examples) * 5 % 3}


def test_only_the_vectors_that_decisions_read_are_computed() -> None:
    """Where each graph answers for its own decision, the last layer works on the words in focus alone; the loss is the same."""
    parser, examples = tiny_parser("sent-g2g", states=0)
    model = parser.model.eval()
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    steps = [sampler.draw(number, 0).steps for number in range(len(examples))]
    decisions = decisions_of(model, examples, steps)
    read = loss._read(model, examples, decisions, sum(map(len, steps)))
    assert read is not None
    assert read.sum() < 0.5 * sum(len(at) * len(one.heads) for one, at in zip(examples, steps))
    some, _ = batch_loss(model, examples, steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss, "MANY", 0)
        everything, _ = batch_loss(model, examples, steps)
    torch.testing.assert_close(some, everything)


def test_losses_by_the_kind_of_graph_add_up() -> None:
    """Own decisions are on empty or exact graphs; with stale weights some are on stale ones. SentTr reads no graph."""
    for variant, stale, kinds in (
        ("sent-g2g", NOT_STALE, {loss.EMPTY, loss.EXACT}),
        ("sent-g2g", StaleWeights(1.0, 0.7), {loss.EMPTY, loss.EXACT, loss.STALE}),
        ("sent", NOT_STALE, {loss.EXACT}),
    ):
        parser, examples = tiny_parser(variant, states=0)
        sampler = Sampler(examples, parser.config.model, parser.config.train)
        steps = [sampler.draw(number, 0).steps for number in range(len(examples))]
        total, parts = batch_loss(parser.model.eval(), examples, steps, stale=stale)
        torch.testing.assert_close(parts.sum(), total.detach())
        assert set(parts.nonzero().flatten().tolist()) == kinds


def test_batches_keep_to_their_budget() -> None:
    parser, examples = tiny_parser("sent", batch_pieces=100)
    sampler = Sampler(examples * 20, parser.config.model, parser.config.train)
    sizes = [sampler.costs[batch].sum() for batch in sampler.batches(0)]
    assert max(sizes) <= 100 + sampler.costs.max()


def test_drawn_steps_begin_with_the_empty_graph_and_each_has_a_graph_of_its_own() -> None:
    parser, examples = tiny_parser("sent-g2g", states=4)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    for number, one in enumerate(examples):
        drawn, steps, _ = sampler.draw(number, epoch=5)
        assert steps[0] == 0
        assert len(steps) == min(4, one.features.n_words)
        n_arcs = [(drawn.graph_at(np.array([step]))[0] != NO_NODE).sum() for step in steps]
        assert len(set(n_arcs)) == len(steps)


def test_all_states_are_the_papers_way() -> None:
    parser, examples = tiny_parser("state-g2g", states=0)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    assert sampler.draw(0, 0).steps.tolist() == list(range(examples[0].n_steps))
    parser, examples = tiny_parser("sent-g2g", states=0)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    assert (
        len(sampler.draw(0, 0).steps) == examples[0].features.n_words
    )  # one graph for each number of arcs but the last


def test_tags_are_dropped_for_a_share_of_the_sentences() -> None:
    parser, examples = tiny_parser("sent", tag_dropout=0.5)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    dropped = [not sampler.draw(0, epoch).example.features.tags.any() for epoch in range(200)]
    assert 60 < sum(dropped) < 140
    assert all(examples[0].features.tags[1:])


def test_words_are_hidden_with_all_their_pieces() -> None:
    parser, examples = tiny_parser("sent", word_dropout=0.3)
    sampler = Sampler(examples, parser.config.model, parser.config.train, mask=parser.pieces.mask)
    n_hidden = n_words = 0
    for number, one in enumerate(examples):
        for epoch in range(20):
            features = sampler.draw(number, epoch).example.features
            hidden = features.pieces != one.features.pieces
            [row], [before] = features.rows, one.features.rows
            assert not hidden[0]
            changed = row.tokens != before.tokens
            assert (row.tokens[changed] == parser.pieces.mask).all()
            assert changed[row.columns[hidden]].all()
            assert (changed[row.inner] == changed[row.inner_heads]).all()
            assert not changed[row.columns[~hidden]].any()
            n_hidden, n_words = n_hidden + hidden.sum(), n_words + one.features.n_words
    assert 0.25 < n_hidden / n_words < 0.35


# ---------------------------------------------------------------------- dense supervision


def test_a_decision_counts_less_for_each_arc_its_graph_lacks() -> None:
    parser, [one, *_] = tiny_parser()
    steps = np.array([0, 3])  # the third action is an arc, so step 3 is the first to see it
    assert one.labels[2] != NO_NODE
    decisions = decisions_of(parser.model, [one], [steps], StaleWeights(0.5, 0.8))
    by_place = dict(zip(zip(decisions.encoded, decisions.steps, strict=True), decisions.weights, strict=True))
    assert [by_place[0, step] for step in range(6)] == [1, 1, 1, 0.5, 0.5, 0.5]
    next_arc = int((one.labels[3:] != NO_NODE).argmax()) + 3
    assert by_place[1, 3] == by_place[1, next_arc] == 1
    assert by_place[1, next_arc + 1] == 0.8
    assert (1, 2) not in by_place


def test_without_stale_weight_each_graph_answers_until_the_next_arc() -> None:
    parser, [one, *_] = tiny_parser()
    decisions = decisions_of(parser.model, [one], [np.array([0])])
    assert decisions.steps.tolist() == [0, 1, 2]
    assert set(decisions.weights) == {1.0}


def test_a_state_answers_for_later_transitions_too() -> None:
    parser, [one, *_] = tiny_parser("state-g2g")
    decisions = decisions_of(parser.model, [one], [np.array([0, 2])], StaleWeights(0.0, 0.5))
    by_place = dict(zip(zip(decisions.encoded, decisions.steps, strict=True), decisions.weights, strict=True))
    assert [by_place[0, step] for step in range(4)] == [1, 0.5, 0.25, 0.125]
    assert [by_place[1, step] for step in range(2, 4)] == [1, 0.5]
    assert (1, 1) not in by_place
    alone = decisions_of(parser.model, [one], [np.array([0, 2])])
    assert alone.steps.tolist() == [0, 2]  # the paper's training


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("state")])
def test_what_looks_ahead_sees_the_same_and_more(variant: str) -> None:
    parser, examples = tiny_parser(variant)
    model, longest = parser.model.eval(), max(examples, key=lambda one: one.n_steps)
    at = np.array([longest.n_steps // 2])
    states, vectors = longest.states_at(at), model.node_vectors([longest.features])
    near, far = (
        model.encode(states, [], vectors=vectors, owners=np.zeros(1, dtype=np.int64), looks_ahead=ahead)
        for ahead in (False, True)
    )
    if model.config.output == "tokens":
        focus = [node for node in states.focus[0] if node != NO_NODE]
        torch.testing.assert_close(far.vectors[far.places[0, focus]], near.vectors[near.places[0, focus]])
        asked = {int(node) for node in longest.focus[at[0] :].flatten() if node != NO_NODE}
        assert asked > set(focus)
        assert len(set(far.places[0, sorted(asked)].tolist())) == len(asked) == len(far.vectors) - 1
    total, _ = batch_loss(model, [longest], [at], stale=StaleWeights(0.0, 1.0))
    assert sum_of_weights(model, [longest], [at], StaleWeights(0.0, 1.0)) == (
        longest.n_steps - at[0] if model.config.output == "tokens" else 1
    )  # CLS has one vector for one decision
    total.backward()  # type: ignore[no-untyped-call]
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("variant", ["state-g2g-c", "sent-g2g", "sent"])
def test_portions_of_a_batch_add_up_to_it(variant: str) -> None:
    """Nothing is lost or twice, each portion keeps to the budget if it can, and gradients add up to those of the whole."""
    parser, examples = tiny_parser(variant, states=0)
    model = parser.model.eval()
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    steps = [sampler.draw(number, 0).steps for number in range(len(examples))]
    stale = StaleWeights(1.0, 0.9)

    def gradients(some: list[Example], at: list[np.ndarray]) -> tuple[list[torch.Tensor], float]:
        total, _ = batch_loss(model, some, at, stale=stale)
        weight = sum_of_weights(model, some, at, stale)
        return list(torch.autograd.grad(total, list(model.parameters()), materialize_grads=True)), weight

    whole, weight = gradients(examples, steps)
    for budget in (1, 60, 100_000):
        parts = list(portions(examples, steps, parser.config.model, budget))
        assert [(id(e), int(s)) for some, at in parts for e, ss in zip(some, at, strict=True) for s in ss] == [
            (id(e), int(s)) for e, ss in zip(examples, steps, strict=True) for s in ss
        ]
        for some, at in parts:
            each = [encoded_pieces(one.features, parser.config.model, 1) for one in some]
            assert sum(len(a) * n for a, n in zip(at, each, strict=True)) <= budget or sum(map(len, at)) == 1
        found = [gradients(*part) for part in parts]
        assert sum(w for _, w in found) == pytest.approx(weight)
        for number, expected in enumerate(whole):
            torch.testing.assert_close(sum(g[number] for g, _ in found), expected, rtol=1e-3, atol=1e-3)
    assert len(parts) == 1


# ---------------------------------------------------------------------- rate, dropout, plan


def test_rate_rises_and_falls() -> None:
    parser, _ = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=True)
    shares = [set_rate(adam, step, 100, 0.1) for step in range(100)]
    assert shares[0] == pytest.approx(0.1)
    assert max(shares) == 1
    assert shares[-1] == pytest.approx(1 / 90)
    assert all(later <= earlier for earlier, later in pairwise(shares[10:]))


def test_pretrained_and_new_parameters_learn_at_their_own_rates() -> None:
    parser, _ = tiny_parser()
    two = optimiser(parser.model, TrainConfig(), pretrained=True)
    rates = {id(p): group["lr"] for group in two.param_groups for p in group["params"]}
    named = dict(parser.model.named_parameters())
    assert rates[id(named["encoder.words.weight"])] == TrainConfig().learning_rate
    assert rates[id(named["encoder.layers.0.attention.relation_keys"])] == TrainConfig().new_learning_rate
    assert rates[id(named["root"])] == TrainConfig().new_learning_rate
    assert len(optimiser(parser.model, TrainConfig(one_optimiser=True), pretrained=True).param_groups) == 1
    graph = optimiser(parser.model, TrainConfig(one_optimiser=True, graph_learning_rate=1e-2), pretrained=True)
    assert [group["lr"] for group in graph.param_groups] == [TrainConfig().learning_rate, 1e-2]
    n_tables = sum(parameter.numel() for parameter in graph.param_groups[1]["params"])
    model = parser.model
    assert model.labels is not None
    relations = [p for name, p in model.named_parameters() if ".relation_" in name]
    assert n_tables == model.labels.weight.numel() + sum(p.numel() for p in relations)
    [all_new] = optimiser(parser.model, TrainConfig(), pretrained=False).param_groups
    assert all_new["lr"] == TrainConfig().scratch_learning_rate
    composing, _ = tiny_parser("state")
    rates = {
        id(p): g["lr"]
        for g in optimiser(composing.model, TrainConfig(), pretrained=False).param_groups
        for p in g["params"]
    }
    assert {rates[id(p)] for p in composing.model.composition.parameters()} == {TrainConfig().composition_learning_rate}


def test_dropout_drops_the_right_share_and_is_repeatable() -> None:
    layer = dropout.Dropout(0.1).train()
    x = torch.ones(1000, 100)
    dropout.seed([1, 2, 3])
    first = layer(x)
    assert (first == 0).float().mean() == pytest.approx(26 / 256, abs=0.005)
    assert first.mean() == pytest.approx(1, abs=0.01)
    dropout.seed([1, 2, 3])
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)
    assert torch.equal(layer.eval()(x), x)


def test_plan_fits_the_time() -> None:
    parser, examples = tiny_parser("sent", batch_pieces=100)
    sampler = Sampler(examples * 50, parser.config.model, parser.config.train)
    features = [one.features for one in examples]
    per_piece = 1e-3
    made = plan(
        sampler,
        features,
        parser.config.model,
        seconds_a_piece=per_piece,
        encoding_seconds=per_piece / 3,
        seconds_left=100.0,
    )
    spent, steps, epoch = 0.0, made.n_steps, 0
    while steps > 0:
        batches = sampler.batches(epoch)[:steps]
        spent += sum(sampler.costs[batch].sum() for batch in batches) * per_piece
        steps, epoch = steps - len(batches), epoch + 1
    assert 70 < spent + made.score_seconds < 97


# ---------------------------------------------------------------------- checkpoints


def test_checkpoints_are_whole_and_the_last_two_are_kept(tmp_path: Path) -> None:
    parser, _ = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    for parameter in parser.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    adam.step()
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, parser.model, adam, {"step": step})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-000000002.safetensors",
        "step-000000003.safetensors",
    ]
    found = checkpoint.load(tmp_path)
    assert found is not None
    tensors, progress = found
    assert progress == {"step": 3}
    other, _ = tiny_parser()
    fresh = optimiser(other.model, TrainConfig(), pretrained=False)
    checkpoint.restore(tensors, other.model, fresh)
    for ours, theirs in zip(other.model.parameters(), parser.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        assert torch.equal(fresh.state[ours]["exp_avg"], adam.state[theirs]["exp_avg"])
        assert fresh.state[ours]["step"] == adam.state[theirs]["step"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path: Path, damage: str) -> None:
    parser, _ = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    for step in (1, 2):
        checkpoint.save(tmp_path, step, parser.model, adam, {"step": step})
    path = tmp_path / "step-000000002.safetensors"
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[-1000] ^= 1
    path.write_bytes({"truncated": content[:-500], "flipped": content, "empty": b""}[damage])
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = checkpoint.load(tmp_path)
    assert found is not None
    assert found[1] == {"step": 1}


def test_a_full_disk_is_one_clear_line_and_the_checkpoint_before_stays(tmp_path: Path) -> None:
    parser, _ = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    checkpoint.save(tmp_path, 1, parser.model, adam, {"step": 1})
    code = f"""
import resource, torch
from pathlib import Path
from graph2graph.training import checkpoint, loop, loss
from tests.test_training import tiny_parser, optimiser, TrainConfig
parser, _ = tiny_parser()
adam = optimiser(parser.model, TrainConfig(), pretrained=False)
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    checkpoint.save(Path({str(tmp_path)!r}), 2, parser.model, adam, {{"step": 2}})
except Exception as error:
    print(type(error).__name__, error)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.startswith("DataError")
    assert "cannot be written" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001.safetensors"]


# ---------------------------------------------------------------------- whole runs


RUN = [
    str(TOY),
    str(TOY),
    *TINY_FLAGS,
    "--set=train.epochs=25",
    "--set=train.patience=0",
    "--set=train.batch_pieces=120",
]


def test_a_run_leaves_a_model_with_card_metrics_and_picture(tmp_path: Path) -> None:
    output = tmp_path / "model"
    run(*RUN, "-o", str(output), "--license", "CC BY-SA 4.0")
    names = {path.name for path in output.iterdir()}
    assert {"model.safetensors", "config.json", "labels.json", "tokenizer.json", "README.md", "metrics.jsonl"} <= names
    assert "learning_curve.png" in names
    assert "checkpoints" not in names
    card = (output / "README.md").read_text()
    assert "CC BY-SA 4.0" in card
    assert "SentTr+G2GTr" in card
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert sum("las" in line for line in lines) == 26
    assert lines[-1]["final"] is True
    parser = Parser.load(output)
    assert len(list(parser.parse(conllu.read(TOY)))) == 7
    again = run(*RUN, "-o", str(output), "--resume")
    assert "finished" in again.stderr
    refused = run(*RUN, "-o", str(output), check=False)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr


def test_killed_at_random_moments_and_resumed_it_ends_bit_for_bit_the_same(tmp_path: Path) -> None:
    """Twenty kills with -9, at moments spread over the whole run."""
    flags = [*RUN, "--set=train.checkpoint_steps=3", "--set=train.epochs=120"]
    run(*flags, "-o", str(tmp_path / "whole"))
    expected = (tmp_path / "whole" / "model.safetensors").read_bytes()
    expected_metrics = [_without_time(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    output = tmp_path / "killed"
    command = [sys.executable, "-m", "graph2graph", "train", *flags, "-o", str(output), "--resume"]
    chance = random.Random(1)
    n_kills = 0
    while n_kills < 20:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        _wait_for_steps(output, process, at_least=chance.randint(1, 2))
        time.sleep(chance.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert b"Traceback" not in errors
        if process.returncode == 0:
            break
        n_kills += 1
    assert n_kills == 20, "the run ended before it could be killed often enough; make it longer"
    run(*flags, "-o", str(output), "--resume")
    assert (output / "model.safetensors").read_bytes() == expected
    metrics = [_without_time(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert metrics == expected_metrics


def _without_time(line: str) -> dict[str, object]:
    values: dict[str, object] = json.loads(line)
    values.pop("seconds")
    return values


def _wait_for_steps(output: Path, process: "subprocess.Popen[bytes]", at_least: int) -> None:
    """Until the process has come to its training and written so many further checkpoints."""

    def newest() -> str:
        return max((path.name for path in (output / "checkpoints").glob("step-*.safetensors")), default="")

    before, seen, deadline = newest(), 0, time.monotonic() + 60
    while seen < max(at_least, 1) and time.monotonic() < deadline and process.poll() is None:
        if newest() != before:
            before, seen = newest(), seen + 1
        time.sleep(0.002)


def test_two_processes_learn_as_one(tmp_path: Path) -> None:
    flags = [*RUN, "--set=model.encoder.dropout=0", "--set=model.encoder.attention_dropout=0", "--set=train.epochs=8"]
    flags += ["--set=model.classifier_dropout=0"]
    run(*flags, "-o", str(tmp_path / "one"))
    run(*flags, "-o", str(tmp_path / "two"), "--processes", "2")
    curves = []
    for name in ("one", "two"):
        lines = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        curves.append([(line["step"], line.get("loss", 0.0), line.get("las", 0.0)) for line in lines])
    assert len(curves[0]) > 8
    for (step, mean, las), (other_step, other_mean, other_las) in zip(*curves, strict=True):
        assert step == other_step
        assert mean == pytest.approx(other_mean, rel=1e-3)
        assert las == pytest.approx(other_las, abs=0.01)


def test_a_time_limit_is_kept(tmp_path: Path) -> None:
    begin = time.monotonic()
    run(*RUN, "-o", str(tmp_path / "model"), "--time-limit", "20s")
    taken = time.monotonic() - begin
    assert taken < 25  # the limit, and starting Python and torch
    result = json.loads((tmp_path / "model" / "run.json").read_text())
    assert 8 < result["seconds"] < 20


def test_a_slow_machine_gets_a_shorter_plan(
    tmp_path: Path, g2g: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps that take three times what was measured, the rate comes down to zero all the same, in time."""
    monkeypatch.setattr(loop, "timed", lambda step, sampler: timed(step, sampler) / 3)
    output = tmp_path / "model"
    assert g2g("train", *RUN, "-o", output, "--time-limit", "15s", "--set=train.epochs=1").code == 0
    result = json.loads((output / "run.json").read_text())
    assert result["seconds"] < 15
    rows = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    rates = [row["rate"] for row in rows if "rate" in row]
    assert max(rates) > 0.7
    assert rates[-1] < 0.25


def test_a_fast_machine_gets_a_longer_plan(
    tmp_path: Path, g2g: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps that take a quarter of what was measured, the time is used all the same, and the rate comes down to zero."""
    monkeypatch.setattr(loop, "timed", lambda step, sampler: timed(step, sampler) * 4)
    monkeypatch.setattr(loop, "PACE_EVERY", 5)
    output = tmp_path / "model"
    assert g2g("train", *RUN, "-o", output, "--time-limit", "15s").code == 0
    assert 8 < json.loads((output / "run.json").read_text())["seconds"] < 15
    rows = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    assert [row["rate"] for row in rows if "rate" in row][-1] < 0.25


def test_even_without_time_for_a_step_there_is_a_model(tmp_path: Path) -> None:
    run(*RUN, "-o", str(tmp_path / "model"), "--time-limit", "1s")
    result = json.loads((tmp_path / "model" / "run.json").read_text())
    assert result["finished"]
    assert result["steps"] <= 1
    Parser.load(tmp_path / "model")


# ---------------------------------------------------------------------- states off the gold path


def test_detours_have_the_parsers_own_mistakes_in_their_graph() -> None:
    parser, examples = tiny_parser(explore=1.0, states=2)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    n_detours = n_wrong = 0
    for epoch in range(5):
        drawn = [sampler.draw(number, epoch) for number in range(len(examples))]
        dropout.seed([epoch])
        found, steps = with_detours(parser.model.train(), drawn)
        dropout.seed([epoch])
        again, _ = with_detours(parser.model, drawn)
        known = {id(draw.example) for draw in drawn}
        for one, same, at in zip(found, again, steps, strict=True):
            assert one.actions.tolist() == same.actions.tolist()
            if id(one) in known:
                continue
            n_detours += 1
            [gold] = [draw.example for draw in drawn if draw.example.features is one.features]
            assert at.tolist() == [0]
            [heads], [labels] = one.graph_at(at)
            built = heads != NO_NODE
            n_wrong += bool(((heads != gold.heads) | (labels != gold.deprels))[built].any())
            # the words without a head get their gold one if it is still there, and their gold label unless they become root
            free = ~built & (gold.heads != NO_NODE)
            alive = free & ~built[gold.heads]
            assert (one.heads[alive] == gold.heads[alive]).all()
            assert ((one.deprels == gold.deprels) | (one.heads == 0))[free].all()
        total, _ = batch_loss(parser.model, found, steps, stale=StaleWeights(1.0, 1.0))
        weight = sum_of_weights(parser.model, found, steps, StaleWeights(1.0, 1.0))
        total.backward()  # type: ignore[no-untyped-call]
        assert torch.isfinite(total)
        assert weight > 0
    assert n_detours > 20
    assert n_wrong > 0.8 * n_detours  # in the others an arc was missed, or a word swapped


def test_one_state_a_sentence_is_the_empty_graph_or_any_other() -> None:
    parser, examples = tiny_parser(states=1, empty_share=0.3)
    sampler = Sampler(examples, parser.config.model, parser.config.train)
    longest = int(np.argmax([one.n_steps for one in examples]))
    drawn = [sampler.draw(longest, epoch).steps for epoch in range(300)]
    assert {len(steps) for steps in drawn} == {1}
    n_empty = sum(int(steps[0]) == 0 for steps in drawn)
    assert 60 < n_empty < 120
    assert len({int(steps[0]) for steps in drawn}) == examples[longest].features.n_words


def test_tags_are_learnt_from_sentences_seen_without_them() -> None:
    parser, examples = tiny_parser("sent", tagger=True)
    model, empty = parser.model, [np.zeros(1, dtype=np.int64)] * len(examples)
    plain, _ = batch_loss(model.eval(), examples, empty)
    with_tags, _ = batch_loss(model, examples, empty, tag_loss=1.0)
    assert with_tags.item() == plain.item()  # all have their tags: nothing to be learnt
    hidden = [one.without_tags() for one in examples]
    optimiser_ = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = batch_loss(model.train(), hidden, empty, tag_loss=1.0)[0]
        optimiser_.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser_.step()
    left = batch_loss(model.eval(), hidden, empty, tag_loss=1.0)[0] - batch_loss(model, hidden, empty)[0]
    assert left.item() < 0.1 * sum(one.features.n_words for one in examples)


@pytest.mark.parametrize("variant", ["state-cls", "state-g2cls"])
def test_cls_tells_the_tags_of_the_words_in_question(variant: str) -> None:
    parser, examples = tiny_parser(variant, tagger=True)
    model = parser.model.eval()
    assert model.tagger is not None
    steps = [np.arange(one.n_steps)[::3] for one in examples]
    told = batch_loss(model, examples, steps, tag_loss=1.0)[0] - batch_loss(model, examples, steps)[0]
    expected, n_tags = 0.0, len(parser.vocabulary.tags) + 1
    for one, some in zip(examples, steps, strict=True):
        for step in some:  # each state alone, its words looked up one by one
            seen: list[torch.Tensor] = []
            hook = model.exist.slots[0].register_forward_pre_hook(lambda _, given: seen.append(given[0]))  # noqa: B023
            batch_loss(model, [one], [np.array([step])])
            hook.remove()
            scores = model.tagger(seen[0])[0].view(3, n_tags).log_softmax(1)
            for slot, node in enumerate(one.focus[step]):
                expected -= scores[slot, 0 if node == NO_NODE else one.tags[node]].item()
    assert told.item() == pytest.approx(expected, rel=1e-4)


# ---------------------------------------------------------------------- one clear line for each mistake


def test_mistakes(tmp_path: Path) -> None:
    toy = TOY.read_text()
    cycle, empty, unparsed = tmp_path / "cycle.conllu", tmp_path / "empty.conllu", tmp_path / "unparsed.conllu"
    cycle.write_text(toy.replace("2\tThere\tthere\tADV\tEX\t_\t0\troot", "2\tThere\tthere\tADV\tEX\t_\t1\troot"))
    empty.write_text("")
    unparsed.write_text(toy.replace("1\tYes\tyes\tINTJ\tUH\t_\t0\troot", "1\tYes\tyes\tINTJ\tUH\t_\t_\t_"))
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text('{"model_type": "bert"}')
    out = ["-o", str(tmp_path / "out")]
    good = [str(TOY), str(TOY), *TINY_FLAGS, *out]
    cases = {
        "cycle": [str(cycle), str(TOY), *out],
        "no sentences": [str(empty), str(TOY), *out],
        "without a head": [str(unparsed), str(TOY), *out],
        "No such file": [str(tmp_path / "none.conllu"), str(TOY), *out],
        "tokeniser": [*good, "--encoder", str(bare)],
        "no model 'big'": [*good, "--model", "big"],
        "train.epoch: unknown key": [*good, "--set", "train.epoch=5"],
        "expected a.b=value": [*good, "--set", "train.epochs"],
        "train.epochs": [*good, "--set", "train.epochs=many"],
        "--time-limit": [*good, "--time-limit", "soon"],
        "train.precision": [*good, "--set", "train.precision=int8"],
        "data.tags": [*good, "--tags", "penn"],
    }
    for message, arguments in cases.items():
        done = run(*arguments, check=False)
        assert done.returncode == 1, (message, done.stderr)
        lines = done.stderr.strip().splitlines()
        assert message in " ".join(lines), done.stderr
        assert len(lines) <= 2, done.stderr


def test_bf16_on_a_cpu_where_it_is_asked_for(tmp_path: Path) -> None:
    """Weights and moments stay fp32; the losses follow those of fp32 closely, but are not the same."""
    curves = []
    for precision in ("fp32", "bf16"):
        output = tmp_path / precision
        flags = ["--set=train.epochs=2", "--set=train.batch_pieces=60", f"--set=train.precision={precision}"]
        flags += ["--set=train.checkpoint_steps=1", "--model=sent-g2g"]
        done = run(str(TOY), str(TOY), *TINY_FLAGS, *flags, "-o", str(output), check=False)
        if done.returncode == -signal.SIGILL:
            pytest.skip("bf16 is an illegal instruction on this CPU")
        assert done.returncode == 0, done.stderr
        with safe_open(output / "model.safetensors", framework="np") as file:
            curves.append(np.concatenate([file.get_tensor(name).ravel() for name in sorted(file.keys())]))
    assert curves[1].dtype == np.float32
    difference = np.abs(curves[0] - curves[1])
    assert 0 < difference.mean() < 1e-3


def test_a_label_that_only_the_development_set_has_is_a_note(tmp_path: Path) -> None:
    dev = tmp_path / "dev.conllu"
    dev.write_text(TOY.read_text().replace("\tdiscourse\t", "\tvocative\t"))
    done = run(str(TOY), str(dev), *TINY_FLAGS, "--set=train.epochs=1", "-o", str(tmp_path / "out"))
    assert " ".join(done.stderr.split()).count("label vocative (sentence hey) is not in the training data") == 1


def test_a_variant_may_have_defaults_of_its_own(tmp_path: Path) -> None:
    """Weaker than what is asked for, and no reason to stumble over what is no group."""
    from graph2graph.cli.train import resolve

    for flags, expected in (([], 5e-4), (["train.new_learning_rate=1e-3"], 1e-3)):
        config, _ = resolve(None, flags, model="state-cls", tags=None, encoder=None)
        assert config.train.new_learning_rate == expected
    config, _ = resolve(None, [], model="sent", tags=None, encoder=None)
    assert config.train.new_learning_rate == TrainConfig().new_learning_rate
    for name in ("train", "model"):
        (tmp_path / "bad.toml").write_text(f"{name} = 3\n")
        with pytest.raises(DataError, match=name):
            resolve(tmp_path / "bad.toml", [], model="state-cls", tags=None, encoder=None)


def test_resume_wants_the_same_run(tmp_path: Path) -> None:
    output = tmp_path / "model"
    run(*RUN, "-o", str(output), "--set=train.epochs=1")
    done = run(*RUN, "-o", str(output), "--set=train.epochs=2", "--resume", check=False)
    assert done.returncode == 1
    assert "settings is not what it was" in done.stderr
    copies = [shutil.copy(TOY, tmp_path / name) for name in ("one.conllu", "two.conllu")]  # the same content elsewhere
    state = json.loads((output / "run.json").read_text())
    del state["asked"]["settings"]["train"]["explore"]  # as if by a version that had no such setting
    (output / "run.json").write_text(json.dumps(state))
    run(*map(str, copies), *RUN[2:], "-o", str(output), "--set=train.epochs=1", "--resume")


def test_training_goes_on_from_a_model(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    """A graph model begins with the weights of one without a graph: before it learns, it parses like that."""
    first, second = tmp_path / "first", tmp_path / "second"
    plain, _ = tiny_parser("sent")
    plain.save(first)
    grown = Parser.start_from(plain, tiny_parser("sent-g2g")[0].config)
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(grown.model.state_dict()[name], weight)
    assert grown.config.model.graph_input
    with torch.no_grad():
        for name, parameter in grown.model.named_parameters():
            if ".relation_" in name:
                parameter.zero_()
    sentences = list(conllu.read(TOY))
    assert [s.lines for s in grown.parse(sentences, reencode=0.0)] == [s.lines for s in plain.parse(sentences)]

    start = ["--start", first, "--set=train.epochs=1"]
    assert g2g("train", TOY, TOY, "-o", second, *start).code == 0
    assert "that of" in (second / "README.md").read_text()
    assert Parser.load(second).vocabulary == plain.vocabulary
    other = tmp_path / "other.conllu"
    other.write_text(TOY.read_text().replace("\tnsubj\t", "\tsubject\t"))
    for message, arguments in (
        ("no label subject", [other, TOY, *start]),
        ("--encoder or --start", [TOY, TOY, *start, "--encoder", first]),
        ("the settings of its data", [TOY, TOY, *start, "--tags", "none"]),
        ("no such model", [TOY, TOY, "--start", tmp_path / "nothing"]),
    ):
        done = g2g("train", *arguments, "-o", tmp_path / "never")
        assert done.code == 1
        assert message in done.err
    assert not (tmp_path / "never").exists()


def test_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph2graph.training import run as runs

    parser, _ = tiny_parser()
    monkeypatch.setattr(runs.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    with pytest.raises(DataError, match="MB of disk needed"):
        runs._check_room(tmp_path / "new", parser.model, parser.config)
