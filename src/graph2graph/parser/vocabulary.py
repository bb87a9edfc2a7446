"""The labels and tags of a model, numbered in the order of its labels.json."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.treebank.sentence import DEPREL, UPOS, XPOS, Sentence, cell_problem

TAG_COLUMNS = {"upos": UPOS, "xpos": XPOS, "none": None}


@dataclass(frozen=True)
class Vocabulary:
    """The labels and tags of a treebank, in the order of their numbers."""

    labels: list[str]
    tags: list[str]
    root_label: str

    @classmethod
    def of(cls, sentences: Iterable[Sentence], tags: str = "upos") -> "Vocabulary":
        """The labels and tags of a treebank; all arcs from ROOT, and no others, must have one and the same label."""
        column = TAG_COLUMNS[tags]
        labels, found_tags, root_labels, others = set[str](), set[str](), set[str](), set[str]()
        for sentence in sentences:
            for row, head in zip(sentence.rows, sentence.heads, strict=True):
                labels.add(row[DEPREL])
                (root_labels if head == 0 else others).add(row[DEPREL])
                if column is not None and row[column] != "_":
                    found_tags.add(row[column])
        if len(root_labels) != 1 or root_labels & others:
            found, shared = ", ".join(sorted(root_labels)) or "none", ", ".join(sorted(root_labels & others))
            on_others = f", of which {shared} on other arcs too" if shared else ""
            raise DataError(f"expected one label for arcs from ROOT and for no others, found {found}{on_others}")
        if not others:
            raise DataError("expected labels of arcs between words, found none: every sentence has a single word")
        return cls(sorted(labels), sorted(found_tags), root_labels.pop())

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """The vocabulary in a model's labels.json."""
        values = read_json(path)
        try:
            labels, tags, root = values["labels"], values["tags"], values["root"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}: expected labels, tags and root") from error
        for name, value in (("labels", labels), ("tags", tags)):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise DataError(f"{path}: {name}: expected a list of strings")
            if (problem := cell_problem(value)) or len(set(value)) < len(value):
                raise DataError(f"{path}: {name}: {problem or 'one is listed twice'}")
        if root not in labels or len(labels) == 1:
            raise DataError(f"{path}: root: expected one of at least two labels, found {root!r}")
        return cls(labels, tags, root)

    def to_json(self) -> dict[str, Any]:
        """The content of labels.json."""
        return {"labels": self.labels, "tags": self.tags, "root": self.root_label}

    @cached_property
    def label_ids(self) -> dict[str, int]:
        """The number of each label."""
        return {label: number for number, label in enumerate(self.labels)}
