"""Options: what is given changes the model's own settings, and what makes no sense is refused."""

import math
from typing import Any

import pytest

from graph2graph.config import DecodeConfig
from graph2graph.decoding.options import ParseOptions, TagSource, read_reencode
from graph2graph.errors import DataError

MODEL = DecodeConfig(batch_tokens=100, draft_tokens=10, reencode=0.5, adaptive=0.7)


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ({}, {}),
        ({"reencode": "exact"}, {"reencode": math.inf}),
        ({"reencode": "adaptive"}, {"reencode": 0.7}),
        ({"reencode": 0}, {"reencode": 0.0}),
        ({"batch_tokens": 7, "draft_tokens": 0}, {"batch_tokens": 7, "draft_tokens": 0}),
    ],
)
def test_options_change_the_settings_of_the_model(given: dict[str, Any], changes: dict[str, Any]) -> None:
    assert ParseOptions(**given).resolve(MODEL) == MODEL.model_copy(update=changes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reencode": -1}, "reencode: expected exact, adaptive or a number from 0 up, found -1"),
        ({"reencode": math.nan}, "reencode: .* found nan"),
        ({"reencode": "often"}, "reencode: .* found often"),
        ({"beam": 0}, "beam: expected a number from 1 up, found 0"),
        ({"batch_tokens": 0}, "batch_tokens: expected a number from 1 up, found 0"),
        ({"draft_tokens": -1}, "draft_tokens: expected a number from 0 up, found -1"),
        ({"tags": "gold"}, "tags: expected keep, predict, none, found gold"),
        ({"beam": 2, "keep_arcs": True}, "beam search supports neither"),
        ({"beam": 2, "probabilities": True}, "beam search supports neither"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ParseOptions(**given)


def test_tags_may_be_given_by_name_or_as_a_boolean() -> None:
    assert [ParseOptions(tags=tags).tags for tags in (True, False, "predict", None)] == [
        TagSource.KEEP,
        TagSource.NONE,
        TagSource.PREDICT,
        None,
    ]


def test_a_threshold_may_be_written_as_a_string() -> None:
    assert [read_reencode(text) for text in ("exact", "adaptive", "0.55", "inf")] == [
        "exact",
        "adaptive",
        0.55,
        math.inf,
    ]


def test_equal_options_are_one_key() -> None:
    """Requests with the same options are parsed in one batch."""
    assert len({ParseOptions(reencode=0.5), ParseOptions(reencode="0.5"), ParseOptions()}) == 2
