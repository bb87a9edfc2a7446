"""The model card."""

from graph2graph import scoring
from graph2graph.config import Config
from graph2graph.training.card import TrainingFacts, card
from graph2graph.variants import VARIANTS

FACTS = TrainingFacts(
    encoder="minilm-l6",
    train="en/train.conllu",
    dev="en/dev.conllu",
    license="CC BY-SA 4.0",
    command="g2g train en/train.conllu en/dev.conllu -o model",
    seconds=90.0,
    steps=1234,
    epochs=2.5,
    parameters=22_700_000,
    sentences=12_544,
    words=204_576,
)


def test_the_card_has_data_licence_scores_and_command() -> None:
    config = Config.parse({"model": VARIANTS["state-g2g"].model, "train": {"seed": 7}}, "test")
    text = card(config, FACTS, scoring.score([], []))
    assert text.startswith("# StateTr+G2GTr, trained with graph2graph\n")
    for row in (
        "| licence of the model | CC BY-SA 4.0 |",
        "| trained on | en/train.conllu: 12,544 sentences, 204,576 words |",
        "| seed | 7 |",
        "| training | 1,234 steps, 2.5 epochs, 1.5 minutes |",
        "| UAS | LAS | CLAS | UCM | LCM |",
        FACTS.command,
    ):
        assert row in text


def test_a_parser_that_is_not_in_the_paper_has_no_title() -> None:
    config = Config.parse({"model": {"input": "state", "graph_input": False}}, "test")
    assert card(config, FACTS, scoring.score([], [])).startswith("# a parser, trained")
