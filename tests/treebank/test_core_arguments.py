"""Core arguments: which labels count, and what a head has too many of."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.treebank.core_arguments import CoreArgument, Repeated, core_argument, repeated_arguments

LABELS = [
    *("nsubj", "nsubj:pass", "nsubj:outer", "nsubj:caus", "csubj", "csubj:pass", "csubj:outer", "obj", "obj:lvc"),
    *("iobj", "ccomp", "obl", "root", "_", "expl:subj", "subj", "objx", "aux:pass", "obl:arg", "outer:nsubj"),
]


@pytest.mark.parametrize("deprel", LABELS)
def test_labels_count_as_in_ud_validator(deprel: str) -> None:
    udeprel = deprel.partition(":")[0]
    # udtools, level3.py: check_single_subject and check_single_object
    is_subject = udeprel in ("nsubj", "csubj") and not re.match(r"^[nc]subj:outer$", deprel)
    expected = CoreArgument.SUBJECT if is_subject else CoreArgument.OBJECT if udeprel == "obj" else None
    assert core_argument(deprel) == expected


@pytest.mark.parametrize("deprel", ["nsubjpass", "csubjpass", "dobj"])
def test_older_names_count(deprel: str) -> None:
    assert core_argument(deprel) == (CoreArgument.OBJECT if deprel == "dobj" else CoreArgument.SUBJECT)


def test_a_clausal_and_a_nominal_subject_are_two_subjects() -> None:
    heads, deprels = [2, 0, 2, 2, 4, 4], ["nsubj", "root", "csubj:pass", "obj", "obj", "obj"]
    assert list(repeated_arguments(heads, deprels)) == [
        Repeated(2, CoreArgument.SUBJECT, [1, 3]),
        Repeated(4, CoreArgument.OBJECT, [5, 6]),
    ]


def test_an_outer_subject_beside_the_inner_one_is_allowed() -> None:
    assert not list(repeated_arguments([3, 3, 0], ["nsubj:outer", "nsubj", "root"]))


def test_words_without_a_head_and_roots_have_no_siblings() -> None:
    assert not list(repeated_arguments([None, None, 0, 0], ["nsubj"] * 4))


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(LABELS)), max_size=8))
def test_what_is_found_are_the_groups_of_equal_head_and_kind(words: list[tuple[int, str]]) -> None:
    found = {(one.head, one.kind): one.words for one in repeated_arguments(*zip(*words))} if words else {}
    for head in range(1, 7):
        for kind in CoreArgument:
            group = [n for n, (of, deprel) in enumerate(words, 1) if of == head and core_argument(deprel) == kind]
            assert found.get((head, kind), group[:1]) == group
