"""Requests share batches, and do not disturb each other."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import CONTRACTIONS
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from server_tools import (
    TOY,
    Run,
    metric,
    post,
    process,
    trees,
    until,
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
def test_requests_together_are_parsed_together(url: str, served_pipeline: Pipeline) -> None:
    sentences = list(conllu.read(io.StringIO(TOY + CONTRACTIONS)))
    wanted = ["".join(line for s in sentences[: 1 + n % len(sentences)] for line in s.lines) for n in range(16)]
    expected = [trees(served_pipeline, text) for text in wanted]
    name = "g2g_batch_requests_count"
    before = metric(url, name)
    with ThreadPoolExecutor(16) as threads:
        for _ in range(3):
            answers = list(threads.map(lambda text: process(url, data=text, parser=""), wanted))
            assert [answer.json["result"] for answer in answers] == expected
    n_batches = metric(url, name) - before
    assert n_batches < 48


@pytest.mark.slow
def test_a_bad_request_does_not_spoil_its_batch(limited: Run, busy: Run) -> None:
    bad = TOY.replace("1\tA\ta\tDET\tDT\t_\t2\tdet", "1\tA\ta\tDET\tDT\t_\t0\troot")
    expected = [s.heads for s in conllu.read(io.StringIO(TOY))]
    with limited() as url, ThreadPoolExecutor(6) as threads:
        with busy(url, threads):
            texts = [TOY, TOY, bad, TOY, TOY]
            asked = [threads.submit(post, url, conllu=text, keep_arcs=True) for text in texts]
            until(lambda: metric(url, "g2g_queue_requests") == 5)
        answers = [one.result() for one in asked]
        assert [answer.status for answer in answers] == [200, 200, 400, 200, 200]
        assert "sentence hearing: no tree has these arcs" in answers[2].detail
        assert [[w["head"] for w in s["words"]] for s in answers[4].json["sentences"]] == expected
        assert metric(url, "g2g_batch_requests_count") == 2
        assert metric(url, "g2g_batch_requests_sum") == 6
        n_sentences = len(expected)
        assert (
            metric(url, "g2g_batch_sentences_sum") - metric(url, "g2g_sentences_total") == n_sentences
        )  # the bad ones


@pytest.mark.slow
def test_a_large_request_goes_in_parts(limited: Run, served_pipeline: Pipeline) -> None:
    with limited(batch=30) as url, ThreadPoolExecutor(2) as threads:
        large = threads.submit(process, url, data=TOY * 10, parser="")
        small = threads.submit(process, url, data=CONTRACTIONS, parser="")
        assert small.result().json["result"] == trees(served_pipeline, CONTRACTIONS)
        assert large.result().json["result"] == trees(served_pipeline, TOY * 10)
        assert metric(url, "g2g_batch_words_count") > 5


def test_a_full_queue_says_when_to_come_back(limited: Run, busy: Run) -> None:
    with limited(queue=5, requests=3) as url, ThreadPoolExecutor(3) as threads:
        with busy(url, threads):
            waiting = threads.submit(process, url, data=TOY, parser="")
            until(lambda: metric(url, "g2g_queue_requests") == 1)
            refused = process(url, data=TOY, parser="")
            assert refused.status == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert "words wait already; try again in" in refused.detail
            assert process(url, data=TOY).status == 200  # no parser, no queue
        assert waiting.result().status == 200
        assert process(url, data=TOY, parser="").status == 200
