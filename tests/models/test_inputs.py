"""Algorithms 1 and 2 on the worked example of Appendix C, "Hey There .", written out by hand; Eq. 6, 7 and 9.

What is compared is what really arrives at the encoder: every embedding table is set to unit vectors of its own, so that each
input vector tells which token, tag and label were added up in it.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from graph2graph.config import Config, DecodeConfig, EncoderConfig, ModelConfig
from graph2graph.decoding.greedy import greedy
from graph2graph.encoder.layout import Graph, Layout
from graph2graph.encoder.pieces import Pieces
from graph2graph.models.features import Features
from graph2graph.models.inputs import node_embeddings, sentence_input_embeddings, state_input_embeddings
from graph2graph.models.parser_model import ParserModel, encoder_config
from graph2graph.models.rows import sentence_rows, state_rows
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Example, Sample, training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import supervise
from graph2graph.transition.state import Action
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

HEY = """\
1	Hey	_	INTJ	_	_	2	discourse	_	_
2	There	_	ADV	_	_	0	root	_	_
3	.	_	PUNCT	_	_	2	punct	_	_

"""
# "What did it look at?" cut short: `at` belongs to `What`, across `look`.
WHAT = """\
1	What	_	PRON	_	_	2	obl	_	_
2	look	_	VERB	_	_	0	root	_	_
3	at	_	ADP	_	_	1	case	_	_

"""
WHOLE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Hey", "There", ".", "What", "look", "at"]
CUT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Hey", "Th", "##e", "##re", "."]


class Step(NamedTuple):
    """What the encoder reads before a transition, and the transition."""

    tokens: str
    tags: str  # - for none
    labels: str  # - for none, + for a further piece of a word
    relations: str  # the matrix of ids, row by row; . for none
    segments: str = ""  # empty: one for all
    positions: str = ""  # empty: 0, 1, 2, …
    action: str = ""


# ---------------------------------------------------------------------------------------------- by hand: SentTr+G2GTr

SENT_EMPTY = """
    . . . . . .
    . . . . . .
    . . . . . .
    . . . . . .
    . . . . . .
    . . . . . ."""
SENT_HEY = [
    Step("CLS ROOT Hey There . SEP", "- - INTJ ADV PUNCT -", "- - - - - -", SENT_EMPTY, action="SHIFT"),
    Step("CLS ROOT Hey There . SEP", "- - INTJ ADV PUNCT -", "- - - - - -", SENT_EMPTY, action="SHIFT"),
    Step("CLS ROOT Hey There . SEP", "- - INTJ ADV PUNCT -", "- - - - - -", SENT_EMPTY, action="LEFT-ARC discourse"),
    Step(
        "CLS ROOT Hey There . SEP",
        "- - INTJ ADV PUNCT -",
        "- - discourse - - -",
        """
        . . . . . .
        . . . . . .
        . . . 2 . .
        . . 1 . . .
        . . . . . .
        . . . . . .""",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT Hey There . SEP",
        "- - INTJ ADV PUNCT -",
        "- - discourse - - -",
        """
        . . . . . .
        . . . . . .
        . . . 2 . .
        . . 1 . . .
        . . . . . .
        . . . . . .""",
        action="RIGHT-ARC punct",
    ),
    Step(
        "CLS ROOT Hey There . SEP",
        "- - INTJ ADV PUNCT -",
        "- - discourse - punct -",
        """
        . . . . . .
        . . . . . .
        . . . 2 . .
        . . 1 . 1 .
        . . . 2 . .
        . . . . . .""",
        action="RIGHT-ARC root",
    ),
]

PIECES_BEFORE = """
    . . . . . . . .
    . . . . . . . .
    . . . . . . . .
    . . . . 1 1 . .
    . . . 2 . . . .
    . . . 2 . . . .
    . . . . . . . .
    . . . . . . . ."""
PIECES_AFTER_LEFT = """
    . . . . . . . .
    . . . . . . . .
    . . . 2 . . . .
    . . 1 . 1 1 . .
    . . . 2 . . . .
    . . . 2 . . . .
    . . . . . . . .
    . . . . . . . ."""
PIECES_AFTER_RIGHT = """
    . . . . . . . .
    . . . . . . . .
    . . . 2 . . . .
    . . 1 . 1 1 1 .
    . . . 2 . . . .
    . . . 2 . . . .
    . . . 2 . . . .
    . . . . . . . ."""
CUT_TOKENS, CUT_TAGS = "CLS ROOT Hey Th ##e ##re . SEP", "- - INTJ ADV - - PUNCT -"
SENT_PIECES = [
    Step(CUT_TOKENS, CUT_TAGS, "- - - - + + - -", PIECES_BEFORE, action="SHIFT"),
    Step(CUT_TOKENS, CUT_TAGS, "- - - - + + - -", PIECES_BEFORE, action="SHIFT"),
    Step(CUT_TOKENS, CUT_TAGS, "- - - - + + - -", PIECES_BEFORE, action="LEFT-ARC discourse"),
    Step(CUT_TOKENS, CUT_TAGS, "- - discourse - + + - -", PIECES_AFTER_LEFT, action="SHIFT"),
    Step(CUT_TOKENS, CUT_TAGS, "- - discourse - + + - -", PIECES_AFTER_LEFT, action="RIGHT-ARC punct"),
    Step(CUT_TOKENS, CUT_TAGS, "- - discourse - + + punct -", PIECES_AFTER_RIGHT, action="RIGHT-ARC root"),
]

SENT_CASE = """
    . . . . . .
    . . . . . .
    . . . . 1 .
    . . . . . .
    . . 2 . . .
    . . . . . ."""
SENT_OBL = """
    . . . . . .
    . . . . . .
    . . . 2 1 .
    . . 1 . . .
    . . 2 . . .
    . . . . . ."""
WHAT_TOKENS, WHAT_TAGS = "CLS ROOT What look at SEP", "- - PRON VERB ADP -"
SENT_SWAP = [
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - - -", SENT_EMPTY, action="SHIFT"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - - -", SENT_EMPTY, action="SHIFT"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - - -", SENT_EMPTY, action="SHIFT"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - - -", SENT_EMPTY, action="SWAP"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - - -", SENT_EMPTY, action="RIGHT-ARC case"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - case -", SENT_CASE, action="SHIFT"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - - - case -", SENT_CASE, action="LEFT-ARC obl"),
    Step(WHAT_TOKENS, WHAT_TAGS, "- - obl - case -", SENT_OBL, action="RIGHT-ARC root"),
]

# --------------------------------------------------------------------------------------------- by hand: StateTr+G2GTr
# CLS, the stack up to its top, SEP, the buffer from its front, SEP, the deleted words in the order of the sentence.

STATE_EMPTY = """
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . ."""
STATE_HEY = [
    Step(
        "CLS ROOT SEP Hey There . SEP",
        "- - - INTJ ADV PUNCT -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 1 1 1 1",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT Hey SEP There . SEP",
        "- - INTJ - ADV PUNCT -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 1 1 1",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT Hey There SEP . SEP",
        "- - INTJ ADV - PUNCT -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 0 1 1",
        positions="0 1 2 3 4 5 6",
        action="LEFT-ARC discourse",
    ),
    Step(
        "CLS ROOT There SEP . SEP Hey",
        "- - ADV - PUNCT - INTJ",
        "- - - - - - discourse",
        """
        . . . . . . .
        . . . . . . .
        . . . . . . 1
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . 2 . . . .""",
        segments="0 0 0 0 1 1 2",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT There . SEP SEP Hey",
        "- - ADV PUNCT - - INTJ",
        "- - - - - - discourse",
        """
        . . . . . . .
        . . . . . . .
        . . . . . . 1
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . 2 . . . .""",
        segments="0 0 0 0 0 1 2",
        positions="0 1 2 3 4 5 6",
        action="RIGHT-ARC punct",
    ),
    Step(
        "CLS ROOT There SEP SEP Hey .",
        "- - ADV - - INTJ PUNCT",
        "- - - - - discourse punct",
        """
        . . . . . . .
        . . . . . . .
        . . . . . 1 1
        . . . . . . .
        . . . . . . .
        . . 2 . . . .
        . . 2 . . . .""",
        segments="0 0 0 0 1 2 2",
        positions="0 1 2 3 4 5 6",
        action="RIGHT-ARC root",
    ),
]
# The first piece stands for the word: the rest is as above.
STATE_PIECES = [step._replace(tokens=step.tokens.replace("There", "Th")) for step in STATE_HEY]
SEPARATE_POSITIONS = [
    "0 1 2 0 1 2 3",
    "0 1 2 3 0 1 2",
    "0 1 2 3 4 0 1",
    "0 1 2 3 0 1 0",
    "0 1 2 3 4 0 0",
    "0 1 2 3 0 0 1",
]
STATE_SEPARATE = [
    step._replace(positions=positions) for step, positions in zip(STATE_HEY, SEPARATE_POSITIONS, strict=True)
]

STATE_CASE = """
    . . . . . . .
    . . . . . . .
    . . . . . . 1
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . 2 . . . ."""
STATE_SWAP = [
    Step(
        "CLS ROOT SEP What look at SEP",
        "- - - PRON VERB ADP -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 1 1 1 1",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT What SEP look at SEP",
        "- - PRON - VERB ADP -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 1 1 1",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT What look SEP at SEP",
        "- - PRON VERB - ADP -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 0 1 1",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT What look at SEP SEP",
        "- - PRON VERB ADP - -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 0 0 1",
        positions="0 1 2 3 4 5 6",
        action="SWAP",
    ),
    Step(
        "CLS ROOT What at SEP look SEP",
        "- - PRON ADP - VERB -",
        "- - - - - - -",
        STATE_EMPTY,
        segments="0 0 0 0 0 1 1",
        positions="0 1 2 3 4 5 6",
        action="RIGHT-ARC case",
    ),
    Step(
        "CLS ROOT What SEP look SEP at",
        "- - PRON - VERB - ADP",
        "- - - - - - case",
        STATE_CASE,
        segments="0 0 0 0 1 1 2",
        positions="0 1 2 3 4 5 6",
        action="SHIFT",
    ),
    Step(
        "CLS ROOT What look SEP SEP at",
        "- - PRON VERB - - ADP",
        "- - - - - - case",
        STATE_CASE,
        segments="0 0 0 0 0 1 2",
        positions="0 1 2 3 4 5 6",
        action="LEFT-ARC obl",
    ),
    Step(
        "CLS ROOT look SEP SEP What at",
        "- - VERB - - PRON ADP",
        "- - - - - obl case",
        """
        . . . . . . .
        . . . . . . .
        . . . . . 1 .
        . . . . . . .
        . . . . . . .
        . . 2 . . . 1
        . . . . . 2 .""",
        segments="0 0 0 0 1 2 2",
        positions="0 1 2 3 4 5 6",
        action="RIGHT-ARC root",
    ),
]

# ------------------------------------------------------------------------------- by hand: labelled relations, SentTr+G2GTr
# discourse is label 0, punct 1, root 2, and the further pieces of a word come after them: 1 + 2·l, 2 + 2·l.

LABELLED_BEFORE = """
    . . . . . . . .
    . . . . . . . .
    . . . . . . . .
    . . . . 7 7 . .
    . . . 8 . . . .
    . . . 8 . . . .
    . . . . . . . .
    . . . . . . . ."""
LABELLED_AFTER_LEFT = """
    . . . . . . . .
    . . . . . . . .
    . . . 2 . . . .
    . . 1 . 7 7 . .
    . . . 8 . . . .
    . . . 8 . . . .
    . . . . . . . .
    . . . . . . . ."""
LABELLED_AFTER_RIGHT = """
    . . . . . . . .
    . . . . . . . .
    . . . 2 . . . .
    . . 1 . 7 7 3 .
    . . . 8 . . . .
    . . . 8 . . . .
    . . . 4 . . . .
    . . . . . . . ."""
SENT_LABELLED = [
    step._replace(relations=relations)
    for step, relations in zip(
        SENT_PIECES, [LABELLED_BEFORE] * 3 + [LABELLED_AFTER_LEFT] * 2 + [LABELLED_AFTER_RIGHT], strict=True
    )
]

# ----------------------------------------------------------------------------------------------------------- the tests


def unit_parser(variant: str, sentence: conllu.Sentence, pieces: Sequence[str], **fields: Any) -> Parser:
    """A parser whose tables of pieces, tags and labels hold a unit vector for each entry, and ROOT another."""
    vocabulary = Vocabulary.of([sentence])
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    sizes = {"width": 32, "heads": 2, "layers": 1, "inner_width": 16, "max_positions": 16}
    still = {"dropout": 0.0, "attention_dropout": 0.0}
    model_config = ModelConfig(**VARIANTS[variant].model | fields)
    encoder = encoder_config(
        model_config, EncoderConfig(vocab_size=len(pieces), **sizes, **still), len(vocabulary.labels)
    )
    config = Config(model=model_config.model_copy(update={"encoder": encoder}))
    model = ParserModel(
        config.model,
        n_labels=len(vocabulary.labels),
        n_tags=len(vocabulary.tags),
        root_label=vocabulary.labels.index("root"),
        cls_sep=(pieces.index("[CLS]"), pieces.index("[SEP]")),
    )
    with torch.no_grad():
        begin = 0
        for table in filter(None, (model.encoder.words, model.tags, model.labels)):
            table.weight.zero_()
            # index 0 stands for no tag, no label; among the pieces for [PAD]
            for row in range(1, len(table.weight)):
                table.weight[row, begin + row] = 1
            begin += len(table.weight)
        model.root.zero_()
        model.root[begin] = 1
    return Parser(config, vocabulary, Pieces(tokenizer, source="test"), model)


def names(parser: Parser, vector: torch.Tensor) -> list[str]:
    """What was added up in an input vector, in the order piece, tag, label."""
    pieces = parser.pieces.tokenizer.get_vocab()
    table = [piece.strip("[]") for piece in sorted(pieces, key=pieces.__getitem__)]
    table += ["-", *parser.vocabulary.tags, "-", *parser.vocabulary.labels, "+", "ROOT"]
    assert set(vector.tolist()) <= {0.0, 1.0}
    return [table[place] for place in vector.nonzero().flatten().tolist()]


def as_read(parser: Parser, layout: Layout, given: dict[str, Any]) -> Step:
    """What has arrived at the encoder, in the words of the tables above."""
    kinds = [set(parser.vocabulary.tags), {*parser.vocabulary.labels, "+"}]
    tokens, tags, labels = [], [], []
    for vector in given["vectors"]:
        found = names(parser, vector)
        tokens.append(found[0])
        tags.append(next((name for name in found[1:] if name in kinds[0]), "-"))
        labels.append(next((name for name in found[1:] if name in kinds[1]), "-"))
        assert len(found) == 1 + (tags[-1] != "-") + (labels[-1] != "-")
    graph: Graph = given["graph"]
    assert not graph.rows.any()
    length = int(layout.lengths)
    relations = [["."] * length for _ in range(length)]
    for query, key, relation in zip(graph.queries.tolist(), graph.keys.tolist(), graph.relations.tolist(), strict=True):
        assert relations[query][key] == "."
        relations[query][key] = str(relation)

    def written(name: str) -> str:
        return "" if given[name] is None else " ".join(map(str, given[name].tolist()))

    return Step(
        " ".join(tokens),
        " ".join(tags),
        " ".join(labels),
        "\n".join(" ".join(row) for row in relations),
        written("segments"),
        "" if given["segments"] is None else written("positions"),
    )


def spied(parser: Parser, run: Callable[[], object]) -> list[Step]:
    """What arrives at the encoder while something is run."""
    steps: list[Step] = []
    encoder, given = parser.model.encoder, dict[str, Any]()
    embed, encode = encoder.embed, encoder.encode

    def spy_embed(vectors: torch.Tensor, positions: torch.Tensor, segments: torch.Tensor | None = None) -> torch.Tensor:
        given.update(vectors=vectors, positions=positions, segments=segments)
        return embed(vectors, positions, segments)

    def spy_encode(x: torch.Tensor, layout: Layout, **rest: Any) -> torch.Tensor:
        steps.append(as_read(parser, layout, given | rest))
        return encode(x, layout, **rest)

    with mock.patch.multiple(encoder, embed=spy_embed, encode=spy_encode):
        run()
    return steps


def forced(parser: Parser, gold: Example) -> None:
    """Decode along the gold transitions, whatever the scores."""
    actions = iter(gold.actions.tolist())
    labels = iter(label for label in gold.labels.tolist() if label >= 0)

    def best_action(*args: Any) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.tensor([next(actions)]), len(Action)).float()

    def best_label(*args: Any) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.tensor([next(labels)]), len(parser.vocabulary.labels)).float()

    with mock.patch.multiple(parser.model, action_scores=best_action, label_scores=best_label):
        states = greedy(parser.model, [gold.features], DecodeConfig(draft_tokens=0))
    assert states.heads[0].tolist() == gold.heads.tolist()
    assert states.labels[0].tolist() == gold.deprels.tolist()


def plain(step: Step) -> Step:
    """Without the layout of the table, and without the transition."""
    lines = [" ".join(line.split()) for line in step.relations.strip().splitlines()]
    return step._replace(relations="\n".join(lines), action="")


CASES = {
    "sent-g2g": ("sent-g2g", HEY, WHOLE, SENT_HEY, {}),
    "sent-g2g, pieces": ("sent-g2g", HEY, CUT, SENT_PIECES, {}),
    "sent-g2g, labelled": ("sent-g2g", HEY, CUT, SENT_LABELLED, {"labelled_relations": True}),
    "sent-g2g, swap": ("sent-g2g", WHAT, WHOLE, SENT_SWAP, {}),
    "state-g2g": ("state-g2g", HEY, WHOLE, STATE_HEY, {}),
    "state-g2g, pieces": ("state-g2g", HEY, CUT, STATE_PIECES, {}),
    "state-g2g, separate": ("state-g2g", HEY, WHOLE, STATE_SEPARATE, {"separate_positions": True}),
    "state-g2g, swap": ("state-g2g", WHAT, WHOLE, STATE_SWAP, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_step_by_step(case: str) -> None:
    variant, text, pieces, table, fields = CASES[case]
    [sentence] = conllu.read(io.StringIO(text))
    parser = unit_parser(variant, sentence, pieces, **fields)
    [gold] = training_examples(parser, [sentence])

    taken = [
        " ".join([Action(action).title, *([parser.vocabulary.labels[label]] if label >= 0 else [])])
        for action, label in zip(gold.actions, gold.labels, strict=True)
    ]
    assert taken == [step.action for step in table]

    expected = [plain(step) for step in table]
    for step, wanted in enumerate(expected):
        batch = supervise([Sample(gold, np.array([step]))], parser.config.model)
        assert spied(parser, lambda batch=batch: batch_loss(parser.model, batch)) == [wanted]

    # SentTr+G2GTr reads again only what has changed: at the start, and after each arc but the last.
    after_arcs = [step for step in range(1, gold.n_steps) if gold.labels[step - 1] >= 0]
    read_at = range(gold.n_steps) if variant == "state-g2g" else [0, *after_arcs]
    assert spied(parser, lambda: forced(parser, gold)) == [expected[step] for step in read_at]


# ------------------------------------------------------------------------------------------------------- Eq. 6, 7 and 9


def hey(variant: str) -> tuple[Parser, Features]:
    [sentence] = conllu.read(io.StringIO(HEY))
    parser = unit_parser(variant, sentence, WHOLE)
    return parser, parser.featurizer(sentence)


@torch.no_grad()
def test_token_embeddings_are_those_of_equation_6() -> None:
    parser, features = hey("state")
    words, tags = parser.model.encoder.words.weight, parser.model.tags.weight
    [nodes] = node_embeddings(parser.model.input_tables, [features])
    assert torch.equal(nodes[0], parser.model.root)
    for node in (1, 2, 3):
        assert torch.equal(nodes[node], words[features.pieces[node]] + tags[features.tags[node]])


@torch.no_grad()
def test_state_inputs_are_those_of_equation_7() -> None:
    parser, _ = hey("state")
    encoder, states = parser.model.encoder, States([3])
    states.apply(np.zeros(1, dtype=np.int64), np.array([Action.SHIFT]))
    c, rows = torch.randn(1, 4, 32), state_rows(states, parser.model.config)
    x = state_input_embeddings(parser.model.input_tables, c, np.zeros(1, dtype=np.int64), rows, None)
    cls, sep = encoder.words.weight[WHOLE.index("[CLS]")], encoder.words.weight[WHOLE.index("[SEP]")]
    gamma, beta = encoder.segments.weight, encoder.positions.weight
    tokens = [(cls, 0), (c[0, 0], 0), (c[0, 1], 0), (sep, 0), (c[0, 2], 1), (c[0, 3], 1)]  # the stack is ROOT Hey
    for position, (vector, segment) in enumerate(tokens):
        torch.testing.assert_close(x[position], vector + gamma[segment] + beta[position])
    assert len(x) == len(tokens)


@torch.no_grad()
def test_sentence_inputs_are_those_of_equation_9() -> None:
    parser, features = hey("sent")
    encoder, tags = parser.model.encoder, parser.model.tags.weight
    x = sentence_input_embeddings(parser.model.input_tables, sentence_rows([features], 4), None)
    [window] = features.windows
    for position, (piece, tag) in enumerate(zip(window.tokens, window.tags, strict=True)):
        token = parser.model.root if position == 1 else encoder.words.weight[piece] + tags[tag]
        beta = encoder.positions.weight[position] + encoder.segments.weight[0]  # all tokens are in one segment
        torch.testing.assert_close(x[position], token + beta)
