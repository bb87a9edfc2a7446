"""The model card."""

from pathlib import Path

import pytest

from graph2graph import scoring
from graph2graph.parser.hub_card import without_front_matter
from graph2graph.training.card import card
from graph2graph.training.loop import Outcome, Progress
from graph2graph.training.request import Request
from graph2graph.treebank import conllu
from toy_training import TOY, tiny_parser

OUTCOME = Outcome(scoring.score([], []), Progress(best_step=1234), epochs=2.5, seconds=90.0)


@pytest.mark.parametrize(
    ("given", "encoder"),
    [({"encoder": "minilm-l6"}, "minilm-l6"), ({"start": Path("old")}, "that of old"), ({}, "none")],
)
def test_the_card_has_data_licence_scores_and_command(given: dict[str, object], encoder: str) -> None:
    parser, command = tiny_parser("state-g2g", seed=7), "g2g train toy.conllu toy.conllu -o model"
    request = Request((TOY,), TOY, Path("model"), parser.config, license="CC BY-SA 4.0", command=command, **given)
    sentences = list(conllu.read(TOY))
    text = card(request, parser, sentences, OUTCOME)
    assert text.startswith('---\nlicense: "cc-by-sa-4.0"\nlibrary_name: "graph2graph"\n')
    assert without_front_matter(text).startswith("# StateTr+G2GTr, trained with graph2graph\n")
    for row in (
        "| licence of the model | CC BY-SA 4.0 |",
        f"| trained on | data/toy.conllu: 7 sentences, {sum(map(len, sentences))} words |",
        f"| encoder | {encoder}: 1 layers × 32 |",
        "| seed | 7 |",
        "| training | 1,234 steps, 2.5 epochs, 1.5 minutes |",
        "| UAS | LAS | CLAS | UCM | LCM |",
        command,
    ):
        assert row in text


def test_a_parser_that_is_not_in_the_paper_has_no_title() -> None:
    parser = tiny_parser("state")
    model = parser.config.model.model_copy(update={"composition": False})
    parser.config = parser.config.model_copy(update={"model": model})
    text = card(Request((TOY,), TOY, Path("model"), parser.config), parser, [], OUTCOME)
    assert "license" not in text.partition("# ")[0]  # it was not stated
    assert without_front_matter(text).startswith("# a parser, trained")
