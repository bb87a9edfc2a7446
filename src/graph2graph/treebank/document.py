"""The result of parsing: a document of sentences whose words know their heads, children and offsets in the text.

A sentence is a `conllu.Sentence` with its verbatim lines, and a word is a view of one of its rows.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from graph2graph.errors import DataError
from graph2graph.treebank import conllu, drawing
from graph2graph.treebank.json_sentences import from_json
from graph2graph.treebank.misc import ArcProbability, Span, pairs
from graph2graph.treebank.sentence import DEPREL, FEATS, FORM, LEMMA, MISC, UPOS, XPOS, Sentence

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab


class Word:
    """A word of a sentence, its columns, and the words it is connected to; a column that is `_` is None."""

    __slots__ = ("id", "sentence")
    sentence: "ParsedSentence"
    id: int  # counted from 1

    def __init__(self, sentence: "ParsedSentence", id: int) -> None:
        object.__setattr__(self, "sentence", sentence)
        object.__setattr__(self, "id", id)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name}: a word cannot be changed; sentence.with_tree(heads, deprels) and "
            "sentence.with_columns({LEMMA: lemmas}) give a changed sentence"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Word, (self.sentence, self.id)

    def __repr__(self) -> str:
        return f"Word({self.id}, {self.form!r})"

    def __str__(self) -> str:
        return self.form

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and self.sentence is other.sentence and self.id == other.id

    def __hash__(self) -> int:
        return hash((id(self.sentence), self.id))

    @property
    def _row(self) -> list[str]:
        return self.sentence.rows[self.id - 1]

    def _cell(self, column: int) -> str | None:
        value = self._row[column]
        return None if value == "_" else value

    @property
    def form(self) -> str:
        """The word as it is written."""
        return self._row[FORM]

    text = form

    @property
    def lemma(self) -> str | None:
        """The dictionary form."""
        return self._cell(LEMMA)

    @property
    def upos(self) -> str | None:
        """The universal part of speech."""
        return self._cell(UPOS)

    @property
    def xpos(self) -> str | None:
        """The treebank's own tag."""
        return self._cell(XPOS)

    @property
    def feats(self) -> dict[str, str]:
        """The morphological features."""
        return pairs(self._row[FEATS])

    @property
    def misc(self) -> dict[str, str]:
        """The items of the MISC column; an item without `=` has an empty value."""
        return pairs(self._row[MISC])

    @property
    def head(self) -> int | None:
        """The id of the head; 0 for the root, None if the word is not parsed."""
        return self.sentence.heads[self.id - 1]

    @property
    def deprel(self) -> str | None:
        """The label of the arc from its head."""
        return self._cell(DEPREL)

    @property
    def probability(self) -> ArcProbability | None:
        """The probabilities of the arc from its head and of the label, if parsed with `probabilities=True`."""
        return self.sentence.probabilities[self.id - 1] if self.sentence.probabilities else None

    @property
    def span(self) -> Span | None:
        """The offsets of the word in the raw text, if they are known."""
        return self.sentence.spans[self.id - 1] if self.sentence.spans else None

    @property
    def start_char(self) -> int | None:
        """The offset of the first character: `document.text[word.start_char : word.end_char]`."""
        return self.span.start if self.span else None

    @property
    def end_char(self) -> int | None:
        """The offset after the last character."""
        return self.span.end if self.span else None

    @property
    def head_word(self) -> "Word | None":
        """The head; None for the root."""
        return Word(self.sentence, self.head) if self.head else None

    @property
    def children(self) -> "list[Word]":
        """The dependents, in sentence order."""
        return [Word(self.sentence, child) for child in self.sentence.children[self.id]]

    @property
    def ancestors(self) -> "list[Word]":
        """The head, the head's head, and so on up to the root."""
        found, word = [], self.head_word
        while word is not None:
            found.append(word)
            word = word.head_word
        return found

    @property
    def subtree(self) -> "list[Word]":
        """The word and its direct and indirect dependents, in sentence order."""
        ids, children = [self.id], self.sentence.children
        for word in ids:  # grows during the loop
            ids += children[word]
        return [Word(self.sentence, word) for word in sorted(ids)]

    def path_to(self, other: "Word") -> "list[Word]":
        """The words on the path through the tree from this word to another, both included."""
        up, down = [self, *self.ancestors], [other, *other.ancestors]
        if self.sentence is not other.sentence or up[-1] != down[-1]:
            raise DataError(f"no path from {self!r} to {other!r}: they are not in one tree")
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:  # until the lowest common ancestor is last
            up.pop()
            down.pop()
        return up + down[-2::-1]


class ParsedSentence(Sentence):
    """A `conllu.Sentence` whose words and tree can be walked."""

    @classmethod
    def of(cls, sentence: Sentence) -> "ParsedSentence":
        """The same sentence; raise an error if its heads have a cycle."""
        sentence.check_acyclic()
        return cls(**{field.name: getattr(sentence, field.name) for field in fields(Sentence)})

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    @overload
    def __getitem__(self, index: int) -> Word: ...

    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...

    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        """A word, or some, counted from 0 as in any sequence; the ids of words count from 1."""
        return self.words[index]

    @property
    def words(self) -> list[Word]:
        """The words, in order."""
        return [Word(self, number) for number in range(1, len(self) + 1)]

    @property
    def end_char(self) -> int | None:
        """The offset after the last character of the last word, if it is known."""
        last = self.spans[-1] if self.spans else None
        return last.end if last else None

    @property
    def root(self) -> Word:
        """The word whose head is 0."""
        if 0 not in self.heads:
            raise DataError(f"sentence {self.sent_id or self.text!r} has no root: it is not parsed")
        return Word(self, self.heads.index(0) + 1)

    @cached_property
    def children(self) -> list[list[int]]:
        """The ids of the dependents of each word; `children[0]` is the root."""
        children: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for word, head in enumerate(self.heads, 1):
            if head is not None:
                children[head].append(word)
        return children

    def render(self) -> str:
        """The tree as a stand-alone SVG picture."""
        return drawing.svg(self)

    _repr_svg_ = render  # what a notebook shows


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A text and its parsed sentences; a notebook shows the trees."""

    text: str
    sentences: list[ParsedSentence]

    @classmethod
    def of(cls, text: str | None, sentences: Iterable[Sentence]) -> "Document":
        """The document of a text and its sentences; without a text, it is the sentences' texts joined by spaces."""
        found = [ParsedSentence.of(sentence) for sentence in sentences]
        return cls(" ".join(sentence.text for sentence in found) if text is None else text, found)

    @classmethod
    def from_conllu(cls, written: str) -> "Document":
        """The document in a CoNLL-U string, comments included; its text is the sentences' texts joined by spaces."""
        return cls.of(None, conllu.read(io.StringIO(written)))

    @classmethod
    def from_json(cls, values: str | list[dict[str, Any]], *, text: str | None = None) -> "Document":
        """The document that `to_json` gave, as a list or as a JSON string, or the lines of `g2g parse -f json`.

        JSON has neither multiword tokens nor comments but sent_id and text. `text` is the text that the offsets are in.
        """
        return cls.of(text, from_json(values))

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)

    def __iter__(self) -> Iterator[ParsedSentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> ParsedSentence: ...

    @overload
    def __getitem__(self, index: slice) -> list[ParsedSentence]: ...

    def __getitem__(self, index: int | slice) -> ParsedSentence | list[ParsedSentence]:
        """A sentence, or some, counted from 0."""
        return self.sentences[index]

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"Document({shown!r}, {len(self.sentences)} sentence{'s' * (len(self.sentences) != 1)})"

    @property
    def words(self) -> list[Word]:
        """The words of all sentences, in order."""
        return [word for sentence in self.sentences for word in sentence.words]

    def to_conllu(self) -> str:
        """The sentences in CoNLL-U."""
        return "".join(conllu.texts(self.sentences))

    def to_json(self) -> list[dict[str, Any]]:
        """The sentences as `g2g parse -f json` writes them, as a list."""
        return [sentence.to_json() for sentence in self.sentences]

    def to_spacy(self, vocab: "Vocab | None" = None) -> "Doc":
        """The same words, lemmas, tags, trees and sentences as a spaCy Doc."""
        try:
            from graph2graph.treebank.spacy_doc import doc_of
        except ImportError as error:
            raise DataError("to_spacy needs spaCy: pip install 'graph2graph[spacy]'") from error
        return doc_of(self.sentences, vocab)

    def render(self) -> str:
        """The trees as one stand-alone SVG picture, one below the other."""
        return drawing.svg(*self.sentences)

    _repr_svg_ = render  # what a notebook shows

    def _repr_html_(self) -> str:
        pictures = (sentence.render().removeprefix(drawing.PROLOGUE) for sentence in self.sentences)
        return "\n".join(f'<div style="overflow-x: auto">{picture}</div>' for picture in pictures)
