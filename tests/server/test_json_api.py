"""The typed JSON API: its trees are those of the served_pipeline."""

import io
from typing import Any

import pytest

from conftest import CONTRACTIONS
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import HEAD, UPOS
from server_tools import TEXT, TOY, Run, post, trees

pytestmark = pytest.mark.usefixtures("one_thread")


def test_parse_gives_typed_json(url: str, served_pipeline: Pipeline) -> None:
    answer = post(url, text=TEXT, probabilities=True).json
    expected = served_pipeline(TEXT).sentences
    assert answer["model"] == "toy-full"
    assert [[w["head"] for w in s["words"]] for s in answer["sentences"]] == [s.heads for s in expected]
    for word in (word for s in answer["sentences"] for word in s["words"]):
        assert TEXT[word["start_char"] : word["end_char"]] == word["form"]
        assert 0 < word["arc_p"] <= 1
        assert 0 < word["label_p"] <= 1
    words = post(url, words=[["The", "dog"], ["Yes"]], model="bare").json["sentences"]
    assert [[w["form"] for w in s["words"]] for s in words] == [["The", "dog"], ["Yes"]]
    assert words[0]["words"][0].keys() >= {"id", "lemma", "upos", "deprel", "misc", "start_char", "arc_p"}
    assert words[0]["words"][0]["upos"] is None
    tagged = post(url, words=[["I", "think"]], tags="predict").json["sentences"][0]["words"]
    assert tagged[1]["upos"] == "VERB"


@pytest.mark.parametrize("how", [{}, {"tags": "predict"}, {"tags": "none"}, {"reencode": 0.0}, {"reencode": 0.7}])
def test_parse_is_the_pipelines(url: str, served_pipeline: Pipeline, how: dict[str, Any]) -> None:
    answer = post(url, conllu=TOY, **how).json["sentences"]
    expected = list(conllu.read(io.StringIO(trees(served_pipeline, TOY, **how))))
    assert [[w["head"] for w in s["words"]] for s in answer] == [s.heads for s in expected]
    assert [[w["upos"] for w in s["words"]] for s in answer] == [s.column(UPOS) for s in expected]


def test_parse_keeps_arcs(url: str) -> None:
    kept = post(url, conllu=TOY, keep_arcs=True, reencode="exact").json["sentences"]
    assert [[w["head"] for w in s["words"]] for s in kept] == [s.heads for s in conllu.read(io.StringIO(TOY))]
    assert post(url, conllu=TOY, reencode="adaptive").status == 200


def test_heads_are_only_looked_at_if_they_are_kept(url: str) -> None:
    odd = TOY.replace("\t2\tdet", "\t99\tdet")
    assert post(url, conllu=odd).status == 200
    assert "head 99 is out of range" in post(url, conllu=odd, keep_arcs=True).detail
    assert HEAD == 6


@pytest.mark.slow
def test_trace(limited: Run) -> None:
    arc = {"sentence": 0, "word": 1, "head": 2, "deprel": "obj"}
    with limited() as url:
        answer = post(url, "/trace", conllu=TOY, arcs=[arc, arc | {"word": 3, "head": 0, "deprel": None}])
        [hey, *others] = answer.json["sentences"]
        assert (hey["heads"][0], hey["deprels"][0], hey["heads"][2]) == (2, "obj", 0)
        assert hey["given"] == [1, 3]
        assert {number for other in others for number in other["given"]} == set()
        assert all(len(told["steps"]) >= 2 * len(told["words"]) for told in answer.json["sentences"])
        assert len(post(url, "/trace", text=TEXT).json["sentences"]) == 2
        for message, arcs in [
            ("no sentence 1; there are 1", [arc | {"sentence": 1}]),
            ("no arc from 9 to 1", [arc | {"head": 9}]),
            ("no arc from 1 to 1", [arc | {"head": 1}]),
            ("round in a circle", [arc, {"sentence": 0, "word": 2, "head": 1}]),
            *(("DEPREL: ", [arc | {"deprel": label}]) for label in ("\ud800", "a\tb", "a\nb", "a\rb")),
        ]:
            answer = post(url, "/trace", conllu=CONTRACTIONS.split("\n\n")[0] + "\n\n", arcs=arcs)
            assert (answer.status, message) == (400, message if message in answer.detail else answer.detail)
        assert post(url, "/trace", arcs=[]).status == 422
