"""Core arguments that a head has one of, its subject and its direct object; only this file says which labels these are.

As in UD's own validator (`too-many-subjects`, `too-many-objects`): nsubj and csubj are one kind, whatever their subtype, except
`:outer`, the subject of a clause whose predicate is itself a clause. Any number of iobj and ccomp is allowed. The names of UD 1
and Stanford Dependencies count too.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple


class CoreArgument(IntEnum):
    """A kind of dependent that a head has only one of."""

    SUBJECT = 0
    OBJECT = 1


_KINDS = {
    **dict.fromkeys(("nsubj", "csubj", "nsubjpass", "csubjpass"), CoreArgument.SUBJECT),
    **dict.fromkeys(("obj", "dobj"), CoreArgument.OBJECT),
}
_OUTER = ("nsubj:outer", "csubj:outer")


def core_argument(deprel: str) -> CoreArgument | None:
    """The kind of core argument that a label stands for, if any.

    >>> core_argument("nsubj:pass").name, core_argument("nsubj:outer"), core_argument("iobj")
    ('SUBJECT', None, None)
    """
    return None if deprel in _OUTER else _KINDS.get(deprel.partition(":")[0])


class Repeated(NamedTuple):
    """A head with several core arguments of one kind; words are counted from 1."""

    head: int
    kind: CoreArgument
    words: list[int]


def repeated_arguments(heads: Sequence[int | None], deprels: Sequence[str]) -> Iterator[Repeated]:
    """The heads of a sentence that have more than one subject or more than one object.

    >>> list(repeated_arguments([3, 3, 0, 3], ["nsubj", "csubj", "root", "obj"]))
    [Repeated(head=3, kind=<CoreArgument.SUBJECT: 0>, words=[1, 2])]
    """
    found: dict[tuple[int, CoreArgument], list[int]] = {}
    for word, (head, deprel) in enumerate(zip(heads, deprels, strict=True), 1):
        kind = core_argument(deprel)
        if head and kind is not None:
            found.setdefault((head, kind), []).append(word)
    for (head, kind), words in found.items():
        if len(words) > 1:
            yield Repeated(head, kind, words)
