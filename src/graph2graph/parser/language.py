"""Which language a model was trained on, by its commonest words, and a check that a text is in it.

A text in another language gets trees like any other, and they are wrong. In the language of the model, most words of a text are
among the 1,000 commonest of the training data (77 % in English); in another, few are. `experiments/language_check.py` measures
how well this tells texts apart. The words are in language.json in the model's directory; a model without it is not checked.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.treebank.sentence import Sentence

FILE_NAME = "language.json"
N_WORDS = 1000
LEAST, MOST = 20, 200  # words by which a text is judged: fewer tell too little, more would delay the warning
RATIO = 0.4  # of the share of common words in the training data, below which a text is in another language


class CommonWords(NamedTuple):
    """The commonest words of the training data, and the share of its words that they make up."""

    words: frozenset[str]
    share: float

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> "CommonWords":
        """The common words of a treebank."""
        counts = Counter(word for sentence in sentences for word in written_words(sentence.forms))
        common = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:N_WORDS])
        return cls(frozenset(common), round(sum(common.values()) / max(1, counts.total()), 4))

    @classmethod
    def read(cls, directory: Path) -> "CommonWords | None":
        """The common words of a model; None if they are not in its directory."""
        path = directory / FILE_NAME
        if not path.is_file():
            return None
        values = read_json(path)
        try:
            words, share = values["words"], values["share"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}: expected words and share") from error
        is_share = isinstance(share, (int, float)) and 0 <= share <= 1
        if not is_share or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise DataError(f"{path}: expected a list of words, and their share from 0 to 1")
        return cls(frozenset(words), share)

    def to_json(self) -> dict[str, Any]:
        """The content of language.json."""
        return {"share": self.share, "words": sorted(self.words)}


class LanguageCheck:
    """Counts the words of one text until they are enough to say whether it is in the language of the model."""

    def __init__(self, common: CommonWords) -> None:
        self.common = common
        self.n_words = self.n_common = 0

    @property
    def is_done(self) -> bool:
        """Whether more words would change nothing."""
        return self.n_words >= MOST

    def add(self, forms: Iterable[str]) -> None:
        """Count the words of a sentence."""
        for word in written_words(forms):
            self.n_words += 1
            self.n_common += word in self.common.words

    def problem(self) -> str | None:
        """What speaks against the language of the model; None if nothing does, or the text is too short."""
        share = self.n_common / max(1, self.n_words)
        if self.n_words < LEAST or share >= RATIO * self.common.share:
            return None
        usual = f"usually {self.common.share:.0%}"
        return f"{share:.0%} of {self.n_words} words are common ones of the model's language, {usual}: is it another language?"


def written_words(forms: Iterable[str]) -> Iterable[str]:
    """The words of letters alone, in lower case; numbers, addresses and punctuation belong to no language."""
    return (form.lower() for form in forms if all(unicodedata.category(character)[0] in "LM" for character in form))
