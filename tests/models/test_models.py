"""Every variant of the paper, with and without pretrained weights: it learns, it is saved and loaded, its trees are trees."""

import io
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graph2graph.config import Config, DecodeConfig, EncoderConfig, ModelConfig
from graph2graph.decoding.greedy import Work, greedy
from graph2graph.errors import DataError
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.models.rows import sentence_rows, state_rows
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Example, Sample, training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import StaleWeights, supervise, total_weight
from graph2graph.transition.state import NO_NODE, Action, State
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from graph2graph.variants import VARIANTS

pytestmark = pytest.mark.usefixtures("one_thread")
TOY = list(conllu.read(Path(__file__).parents[1] / "data" / "toy.conllu"))
VOCABULARY = Vocabulary.of(TOY)

MODELS: dict[str, dict[str, Any]] = {
    **{name: variant.model for name, variant in VARIANTS.items()},
    "state without skip": VARIANTS["state"].model | {"composition_skip": False},
    "state with separate positions": VARIANTS["state"].model | {"separate_positions": True},
    "sent-g2g with labelled relations": VARIANTS["sent-g2g"].model | {"labelled_relations": True},
}


def tiny(name: str, *, seed: int = 0, **encoder: Any) -> Parser:
    """An untrained parser with random weights."""
    torch.manual_seed(seed)
    sizes = {"width": 32, "layers": 2, "heads": 4, "inner_width": 64, "max_positions": 64, "vocab_size": 300}
    shape = EncoderConfig(**sizes | {"dropout": 0.0, "attention_dropout": 0.0} | encoder)
    model = ModelConfig(**MODELS[name], exist_hidden=60, relation_hidden=30, encoder=shape)
    config = Config(model=model, decode=DecodeConfig(draft_tokens=0))  # so that what is encoded can be counted
    return Parser.create(config, VOCABULARY, forms=[form for sentence in TOY for form in sentence.forms])


def wild(name: str, **encoder: Any) -> Parser:
    """A parser whose weights are so large that everything matters."""
    parser = tiny(name, **encoder)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return parser


def calm(name: str, **encoder: Any) -> Parser:
    """A parser with random weights that never swaps, so that it is done after 2n steps."""
    parser = tiny(name, **encoder)
    with torch.no_grad():
        parser.model.exist.out.bias[Action.SWAP] = -100
    return parser


def every_state(examples: Sequence[Example]) -> list[Sample]:
    return [Sample(one, np.arange(one.n_steps)) for one in examples]


def trees(sentences: Sequence[Sentence]) -> list[tuple[list[int], list[str]]]:
    return [(sentence.tree, sentence.deprels) for sentence in sentences]


def unparsed(sentence: Sentence) -> Sentence:
    lines = ["\t".join([*row[:6], "_", "_", *row[8:]]) + "\n" for row in sentence.rows]
    [bare] = conllu.read(io.StringIO(f"# sent_id = {sentence.sent_id}\n" + "".join(lines) + "\n"))
    return bare


def train(parser: Parser, *, rate: float, at_most: int) -> None:
    """Train on the toy treebank until it is parsed without an error."""
    batch = supervise(every_state(training_examples(parser, TOY)), parser.config.model)
    optimiser = torch.optim.Adam([one for one in parser.model.parameters() if one.requires_grad], lr=rate)
    weight = total_weight([batch])
    for step in range(1, at_most + 1):
        parser.model.train()
        loss = batch_loss(parser.model, batch).total
        optimiser.zero_grad()
        (loss / weight).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step % 5 == 0 and loss.item() / weight < 0.3:
            parser.model.eval()
            if trees(list(parser.parse(TOY))) == trees(TOY):
                return
    pytest.fail(f"loss {loss.item() / weight:.3f} after {at_most} steps")


# ------------------------------------------------------------------------------------------------------------- learning


@pytest.fixture(scope="module", params=MODELS)
def learnt(request: pytest.FixtureRequest) -> Parser:
    """Each model, trained on the toy treebank from nothing."""
    parser = tiny(request.param)
    train(parser, rate=3e-3, at_most=300)
    return parser


@pytest.fixture(scope="module", params=VARIANTS)
def learnt_from_pretrained(request: pytest.FixtureRequest, encoder_dir: Callable[[str], Path]) -> Parser:
    """Each variant, trained on the toy treebank from the first layer of MiniLM."""
    encoder = encoder_dir("minilm-l6")
    torch.manual_seed(0)
    parts = VARIANTS[request.param].model
    sizes = {"exist_hidden": 100, "relation_hidden": 50, "history_width": 64, "composition_hidden": 64}
    shape = EncoderConfig(layers=1, dropout=0.0, attention_dropout=0.0)
    parser = Parser.create(Config(model=ModelConfig(**parts, **sizes, encoder=shape)), VOCABULARY, encoder=encoder)
    # 11.7 million numbers, of which the toy treebank has some sixty rows: they would take most of the time
    parser.model.encoder.words.weight.requires_grad_(False)
    train(parser, rate=2e-3, at_most=250)
    return parser


def check_trees(parser: Parser, directory: Path) -> None:
    """The toy treebank is parsed without an error: after saving and loading, at any batch size, in any order."""
    parser.save(directory)
    loaded = Parser.load(directory)
    assert loaded.config == parser.config
    bare = [unparsed(sentence) for sentence in TOY]
    for one, batch_tokens in ((parser, 10_000), (loaded, 10_000), (loaded, 50), (loaded, 1)):
        assert trees(list(one.parse(bare, batch_tokens=batch_tokens))) == trees(TOY)
    backwards = list(loaded.parse(bare[::-1], batch_tokens=40))
    assert trees(backwards[::-1]) == trees(TOY)
    assert [sentence.sent_id for sentence in backwards[::-1]] == [sentence.sent_id for sentence in TOY]


def test_learns_the_toy_treebank(learnt: Parser, tmp_path: Path) -> None:
    check_trees(learnt, tmp_path / "model")


def test_learns_the_toy_treebank_from_pretrained_weights(learnt_from_pretrained: Parser, tmp_path: Path) -> None:
    check_trees(learnt_from_pretrained, tmp_path / "model")


def test_what_senttr_cannot_tell_apart() -> None:
    """SentTr decides by s2, s1 and b1 on one encoding: where a tree wants two actions for the same three, it must fail.

    Here `dog` waits for its relative clause, and then no longer: only the graph tells the two moments apart.
    """
    text = "I saw a dog yesterday that barked"
    [sentence] = conllu.read(io.StringIO(_unparsed_text(text.split())))
    sentence = sentence.with_tree([2, 0, 4, 2, 2, 7, 4], ["nsubj", "root", "det", "obj", "advmod", "nsubj", "conj"])
    [one] = training_examples(tiny("sent"), [sentence])
    wanted: dict[tuple[int, ...], set[int]] = {}
    for focus, action in zip(one.focus.tolist(), one.actions.tolist(), strict=True):
        wanted.setdefault(tuple(focus), set()).add(action)
    assert wanted[2, 4, 5] == {Action.SHIFT, Action.RIGHT_ARC}
    for toy in training_examples(tiny("sent"), TOY):  # the toy treebank has no such tree: every variant can learn it
        pairs = {(*focus, action) for focus, action in zip(toy.focus.tolist(), toy.actions.tolist(), strict=True)}
        assert len(pairs) == len({pair[:3] for pair in pairs})


def _unparsed_text(forms: Sequence[str], sent_id: str = "1") -> str:
    rows = (f"{number}\t{form}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for number, form in enumerate(forms, 1))
    return f"# sent_id = {sent_id}\n" + "".join(rows) + "\n"


# --------------------------------------------------------------------------------------------- training and decoding agree


class Recorder:
    """Decodes along the gold transitions, or trains on them, and keeps the scores of each decision: [sentence][step]."""

    def __init__(self, parser: Parser, examples: list[Example]) -> None:
        self.model, self.examples = parser.model, examples
        self.actions: list[list[Tensor]] = [[] for _ in examples]
        self.labels: list[dict[int, Tensor]] = [{} for _ in examples]

    def decode(self) -> States:
        """With the real decoder, which is made to believe that the gold action scores best."""
        score_actions, score_labels = self.model.action_scores, self.model.label_scores

        is_whole = self.model.config.input == "sentence"  # its encodings are those of all sentences, in their order
        running: list[int] = []  # the others of a state model, which keep step

        def actions(encodings: Encodings, rows: Tensor, *args: Any) -> Tensor:
            nonlocal running
            running = [n for n, one in enumerate(self.examples) if one.n_steps > len(self.actions[n])]
            numbers = rows.tolist() if is_whole else running
            scores = score_actions(encodings, rows, *args)
            best = torch.tensor([self.examples[number].actions[len(self.actions[number])] for number in numbers])
            for number, row in zip(numbers, scores, strict=True):
                self.actions[number].append(row)
            return torch.nn.functional.one_hot(best, len(Action)).float()

        def labels(encodings: Encodings, rows: Tensor, *args: Any) -> Tensor:
            numbers = rows.tolist() if is_whole else [running[row] for row in rows.tolist()]
            steps = [len(self.actions[number]) - 1 for number in numbers]
            for number, step, row in zip(numbers, steps, score_labels(encodings, rows, *args), strict=True):
                self.labels[number][step] = row
            best = torch.tensor(
                [self.examples[number].labels[step] for number, step in zip(numbers, steps, strict=True)]
            )
            return torch.nn.functional.one_hot(best, len(VOCABULARY.labels)).float()

        with mock.patch.multiple(self.model, action_scores=actions, label_scores=labels):
            return greedy(self.model, [one.features for one in self.examples], DecodeConfig(draft_tokens=0))

    @torch.no_grad()
    def teach(self) -> None:
        """With the loss, all steps at once."""
        score_actions, score_labels = self.model.action_scores, self.model.label_scores
        found: list[Tensor] = []

        def kept(score: Callable[..., Tensor]) -> Callable[..., Tensor]:
            def scored(*args: Any) -> Tensor:
                found.append(score(*args))
                return found[-1]

            return scored

        batch = supervise(every_state(self.examples), self.model.config)
        with mock.patch.multiple(self.model, action_scores=kept(score_actions), label_scores=kept(score_labels)):
            batch_loss(self.model, batch)
        action_scores, label_scores = found
        decisions = batch.decisions
        encoded_at = np.concatenate([sample.steps for sample in batch.samples])[decisions.encoded]
        once = self.model.config.input == "sentence" and not self.model.config.graph_input
        arc_rows = iter(label_scores)
        for row, (number, step, at) in enumerate(zip(decisions.sentences, decisions.steps, encoded_at, strict=True)):
            labels = next(arc_rows) if self.examples[number].labels[step] != NO_NODE else None
            if once or at == step:
                self.actions[number].append(action_scores[row])
                if labels is not None:
                    self.labels[number][int(step)] = labels


@pytest.mark.parametrize("max_positions", [64, 8], ids=["whole", "in windows"])
@pytest.mark.parametrize("name", MODELS)
def test_training_sees_what_decoding_sees(name: str, max_positions: int) -> None:
    parser = wild(name, max_positions=max_positions)
    examples = training_examples(parser, TOY)
    taught, decoded = Recorder(parser, examples), Recorder(parser, examples)
    taught.teach()
    states = decoded.decode()
    for number, one in enumerate(examples):
        assert states.heads[number, : len(one.heads)].tolist() == one.heads.tolist()
        assert states.labels[number, : len(one.heads)].tolist() == one.deprels.tolist()
        assert len(taught.actions[number]) == len(decoded.actions[number]) == one.n_steps
        close(torch.stack(decoded.actions[number]), torch.stack(taught.actions[number]))
        assert decoded.labels[number].keys() == taught.labels[number].keys()
        for step, scores in taught.labels[number].items():
            close(decoded.labels[number][step], scores)


@pytest.mark.parametrize("ahead", [0.0, 0.9], ids=["own decision", "later ones too"])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("state")])
def test_a_state_model_leaves_out_only_what_nobody_reads(name: str, ahead: float) -> None:
    """Loss and gradient are those of encoding every token to the end."""
    parser = wild(name)
    samples = every_state(training_examples(parser, TOY))
    batch = supervise(samples, parser.config.model, StaleWeights(0.0, ahead))

    def gradients() -> list[Tensor]:
        total = batch_loss(parser.model, batch).total
        return [total, *torch.autograd.grad(total, list(parser.model.parameters()), materialize_grads=True)]

    found = gradients()
    with mock.patch.object(ParserModel, "_tokens_read", lambda *given, **_: np.arange(len(given[-1].nodes))):
        expected = gradients()
    for some, every in zip(found, expected, strict=True):
        torch.testing.assert_close(some, every, rtol=1e-4, atol=1e-3 if ahead else 1e-4)


def close(some: Tensor, others: Tensor) -> None:
    torch.testing.assert_close(some, others, atol=1e-5, rtol=1e-5)


# ------------------------------------------------------------------------------------------------- trees are always trees

WILD = {name: wild(name, max_positions=24) for name in MODELS}
_form = st.one_of(
    st.sampled_from([form for sentence in TOY for form in sentence.forms]),
    st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=8),
)


def check_tree(sentence: Sentence) -> None:
    """One root, no cycle, and the root label where the root is and nowhere else."""
    heads = [0, *sentence.tree]
    assert sentence.heads.count(0) == 1
    for word in range(1, len(heads)):
        above = {word}
        while (word := heads[word]) != 0:
            assert word not in above
            above.add(word)
    assert [head == 0 for head in sentence.heads] == [label == "root" for label in sentence.deprels]


@pytest.mark.parametrize("name", MODELS)
@given(st.lists(st.lists(_form, min_size=1, max_size=12), min_size=1, max_size=4))
@settings(max_examples=8)
def test_random_weights_give_trees(name: str, texts: list[list[str]]) -> None:
    sentences = list(conllu.read(io.StringIO("".join(map(_unparsed_text, texts)))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are longer than 24 positions
        parsed = list(WILD[name].parse(sentences))
    assert [sentence.forms for sentence in parsed] == texts
    for sentence in parsed:
        check_tree(sentence)


def test_parts_that_do_not_fit_the_sentence_models_are_refused() -> None:
    for fields in ({"history": True}, {"composition": True}, {"output": "cls"}):
        with pytest.raises(DataError, match="belong to state models"):
            Parser.create(Config(model=ModelConfig(**VARIANTS["sent-g2g"].model | fields)), VOCABULARY, forms=["a"])


# ------------------------------------------------------------------------------------------------ adaptive re-encoding


def test_a_threshold_above_one_is_exact_and_zero_encodes_once() -> None:
    parser = WILD["sent-g2g"]
    exact, always, once, between = Work(), Work(), Work(), Work()
    expected = trees(list(parser.parse(TOY, work=exact)))
    assert trees(list(parser.parse(TOY, reencode=1.1, work=always))) == expected
    assert trees(list(parser.parse(TOY, reencode=0.0, work=once))) != expected
    for sentence in parser.parse(TOY, reencode=0.5, batch_tokens=30, work=between):
        check_tree(sentence)
    assert exact.n_encoded == always.n_encoded == sum(map(len, TOY))  # the last arc ends it
    assert once.n_encoded == len(TOY)
    assert once.n_encoded < between.n_encoded < exact.n_encoded


def test_adaptive_trees_do_not_depend_on_the_batch() -> None:
    parser = WILD["sent-g2g"]
    together = trees(list(parser.parse(TOY, reencode=0.6)))
    assert trees(list(parser.parse(TOY, reencode=0.6, batch_tokens=1))) == together


def test_long_sentences_are_decoded_adaptively_too() -> None:
    parser, sentence = WILD["sent-g2g"], long_sentence(80)
    found = []
    for threshold in (math.inf, 1.1):
        with pytest.warns(UserWarning, match="sentence endless"):
            found += list(parser.parse([sentence], reencode=threshold))
    assert trees(found[:1]) == trees(found[1:])
    with pytest.warns(UserWarning, match="sentence endless"):
        [between] = parser.parse([sentence], reencode=0.6)
    check_tree(between)


def test_senttr_knows_no_threshold() -> None:
    parser = WILD["sent"]
    assert trees(list(parser.parse(TOY, reencode=0.0))) == trees(list(parser.parse(TOY)))


# ---------------------------------------------------------------------------------------------------------- long sentences


def long_sentence(n_words: int) -> Sentence:
    forms = [form for sentence in TOY for form in sentence.forms]
    [sentence] = conllu.read(io.StringIO(_unparsed_text([forms[i % len(forms)] for i in range(n_words)], "endless")))
    return sentence


@pytest.mark.parametrize("name", VARIANTS)
def test_a_sentence_of_3000_words(name: str) -> None:
    # the other state models take as long and differ in nothing that matters here
    sentence = long_sentence(3000 if name in ("sent", "sent-g2g", "state-g2g") else 150)
    parser = calm(name, width=16, layers=1, heads=2, inner_width=16)
    with pytest.warns(UserWarning, match="sentence endless: longer than the encoder's 64 positions"):
        [parsed] = parser.parse([sentence])
    check_tree(parsed)


@pytest.mark.parametrize("name", MODELS)
def test_long_sentences_leave_the_others_alone(name: str) -> None:
    parser = WILD[name]
    short = [sentence for sentence in TOY if len(sentence) < 5]
    long = long_sentence(40)
    alone = trees(list(parser.parse(short)))
    with pytest.warns(UserWarning, match="sentence endless"):
        *others, first = parser.parse([*short, long], batch_tokens=10_000)
    assert trees(others) == alone
    with pytest.warns(UserWarning, match="sentence endless"):
        [second] = parser.parse([long], batch_tokens=1)
    assert trees([first]) == trees([second])


def test_who_is_warned_of() -> None:
    """A sentence model reads CLS, ROOT, the pieces and SEP; a state model CLS, ROOT, the words, and one or two SEP."""
    [word] = {form for sentence in TOY for form in sentence.forms if form == "the"}
    for name, longest in (("sent", 61), ("sent-g2g", 61), ("state", 61), ("state-g2g", 60)):
        parser = calm(name)
        fits, does_not = (
            next(conllu.read(io.StringIO(_unparsed_text([word] * n_words)))) for n_words in (longest, longest + 1)
        )
        check_tree(next(parser.parse([fits])))  # a warning would be an error
        with pytest.warns(UserWarning, match="longer than the encoder's 64 positions"):
            check_tree(next(parser.parse([does_not])))


def test_many_pieces_are_no_length_for_a_state_model() -> None:
    words = ["antidisestablishmentarianistically"] * 8
    [sentence] = conllu.read(io.StringIO(_unparsed_text(words)))
    parser = calm("state-g2g", vocab_size=60)
    assert parser.featurizer(sentence).n_pieces > 64
    check_tree(next(parser.parse([sentence])))


@given(st.lists(_form, min_size=1, max_size=60), st.integers(8, 40))
@settings(max_examples=40)
def test_windows(forms: list[str], max_positions: int) -> None:
    """Every word is represented once, in a window that holds all its pieces; what fits is one window, as ever."""
    parser = WILD["sent-g2g"]
    [sentence] = conllu.read(io.StringIO(_unparsed_text(forms)))
    with mock.patch.object(parser.featurizer, "max_positions", max_positions):
        features = parser.featurizer(sentence)
    with mock.patch.object(parser.featurizer, "max_positions", 10_000):
        whole = parser.featurizer(sentence)
    pieces = [parser.pieces.of(form)[: max_positions - 3] for form in forms]
    n_pieces = sum(map(len, pieces))
    assert features.is_long == (n_pieces + 3 > max_positions)
    if not features.is_long and n_pieces == sum(len(parser.pieces.of(form)) for form in forms):
        for ours, theirs in zip(vars(features.windows[0]).values(), vars(whole.windows[0]).values(), strict=True):
            assert np.array_equal(ours, theirs)
    assert features.window_of[0] == 0
    assert features.n_pieces == sum(len(row.tokens) for row in features.windows)
    for row in features.windows:
        assert len(row.tokens) <= max_positions
        assert (row.tokens[0], row.tokens[1], row.tokens[-1]) == (
            parser.pieces.cls,
            parser.pieces.mask,
            parser.pieces.sep,
        )
        assert row.columns[0] == 1
    for word, its_pieces in enumerate(pieces, 1):
        row = features.windows[features.window_of[word]]
        begin = row.columns[word]
        assert begin != OUTSIDE
        assert row.tokens[begin : begin + len(its_pieces)].tolist() == its_pieces
        inner = row.inner[row.inner_heads == begin]
        assert inner.tolist() == list(range(begin + 1, begin + len(its_pieces)))
    given = sentence_rows([features], len(forms) + 1)
    places = given.node_tokens[0, 1:]
    assert len(set(places.tolist())) == len(forms)
    assert given.tokens[places].tolist() == [its_pieces[0] for its_pieces in pieces]


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
    given = state_rows(states, graph=graph, max_positions=max_positions)
    words = given.nodes[given.nodes >= 0].tolist()
    assert len(given.nodes) == given.lengths[0] <= max_positions
    assert len(set(words)) == len(words)
    for node in state.focus:
        if node != NO_NODE:
            assert given.nodes[given.node_tokens[0, node]] == node
    everything = [*state.stack, *reversed(state.buffer), *(state.deleted if graph else [])]
    if len(everything) + (3 if graph else 2) <= max_positions:
        assert words == everything
    else:
        assert len(given.nodes) == max_positions
        assert [node for node in everything if node in words] == words


def test_only_the_windows_with_the_new_arc_are_encoded_again() -> None:
    """And that makes no difference to the scores."""
    parser = wild("sent-g2g", max_positions=8)
    examples = training_examples(parser, TOY)
    assert sum(one.features.is_long for one in examples) >= 3
    quick, slow = Recorder(parser, examples), Recorder(parser, examples)
    encode, lengths = parser.model.encoder.encode, []

    def spy(vectors: Tensor, *args: Any, **given: Any) -> Tensor:
        lengths.append(len(vectors))
        return encode(vectors, *args, **given)

    with mock.patch.object(parser.model.encoder, "encode", spy):
        quick.decode()
        n_quick, lengths = sum(lengths), []
        with mock.patch.object(Features, "around", lambda self, nodes: self):
            slow.decode()
    assert n_quick < sum(lengths)
    for some, others in zip(quick.actions, slow.actions, strict=True):
        close(torch.stack(some), torch.stack(others))
