"""Udtools' official scorer, and perturbed treebanks to compare its scores with ours."""

import io
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest
from udtools import udeval

from graph2graph import scoring
from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import DEPREL, FORM, XPOS, Sentence, cycles

# ---- treebanks and their perturbations
# Multiword tokens whose words are not their characters (du), are (damelo), or partly are (zum, in a row of two), an
# empty node, a space inside a word, subtypes, upper case, a symbol, and a non-projective arc.
# Multiword tokens whose words are not their characters (du), are (damelo), or partly are (zum, in a row of two), an
# empty node, a space inside a word, subtypes, upper case, a symbol, and a non-projective arc.
TOY = """\
# sent_id = fr
1-2 Du _ _ _ _ _ _
1 de _ ADP _ _ 3 case
2 le _ DET _ _ 3 det
3 pain _ NOUN _ _ 4 nsubj:pass
4 manque _ VERB _ _ 0 root
5-6 aux _ _ _ _ _ _
5 à _ ADP _ _ 7 case
6 les _ DET _ _ 7 det
7 amis _ NOUN _ _ 4 obl:arg
8 . _ PUNCT _ _ 4 punct

# sent_id = es
1-3 damelo _ _ _ _ _ _
1 da _ VERB _ _ 0 root
2 me _ PRON _ _ 1 iobj
3 lo _ PRON _ _ 1 obj
4 ya _ ADV _ _ 1 advmod
4.1 nada _ X _ _ _ _
5 !!! _ PUNCT _ _ 1 punct

# sent_id = de
1 Er _ PRON _ _ 2 nsubj
2 ging _ VERB _ _ 0 root
3-4 zum _ _ _ _ _ _
3 zu _ ADP _ _ 5 case
4 dem _ DET _ _ 5 det
5-6 Arztim _ _ _ _ _ _
5 Arzt _ NOUN _ _ 2 obl
6 im _ X _ _ 7 case
7 10~000 _ NUM _ _ 8 nummod
8 Euro-Haus _ NOUN _ _ 2 obl:loc
9 $ _ SYM _ _ 8 flat:name
10 , _ PUNCT _ _ 11 punct
11 sagt _ VERB _ _ 2 parataxis
12 " _ PUNCT _ _ 11 punct

# sent_id = en
1 A _ DET DT _ 2 det
2 hearing _ NOUN NN _ 4 nsubj:pass
3 is _ AUX VBZ _ 4 aux:pass
4 scheduled _ VERB VBN _ 0 root
5 on _ ADP IN _ 7 case
6 the _ DET DT _ 7 det
7 issue _ NOUN NN _ 2 nmod
8 today _ NOUN NN _ 4 obl:tmod
9 . _ PUNCT . _ 4 punct

# sent_id = one
1 Hm _ INTJ _ _ 0 root

"""


REAL_TREEBANKS = ["en_ewt", "he_htb", "it_isdt", "tr_imst", "fi_tdt", "zh_gsd", "eu_bdt", "wsj_sample", "ru_taiga"]
LABELS = ["nsubj", "nsubj:pass", "obj", "obl:arg", "case", "det", "det:poss", "punct", "root", "dobj", "acl:relcl", "_"]


def from_text(text: str) -> list[Sentence]:
    """Sentences from lines with spaces for tabs, ~ for spaces, and without the last two columns."""
    lines = [
        line if not line or line.startswith("#") else "\t".join([*line.split(), "_", "_"]).replace("~", " ")
        for line in text.splitlines()
    ]
    return list(conllu.read(io.StringIO("\n".join(lines) + "\n"), check="forest"))


def to_text(sentences: Iterable[Sentence]) -> str:
    return "".join("".join(sentence.lines) for sentence in sentences)


@dataclass(eq=False)
class Word:
    form: str
    deprel: str
    head: "Word | None" = None
    tags: tuple[str, ...] = ("_", "_", "_")  # LEMMA, UPOS, XPOS


@dataclass
class Token:
    form: str
    words: list[Word]


@dataclass
class Perturbed:
    """A treebank taken apart, so that anything in it can be changed; `text` puts it together as valid trees."""

    random: random.Random
    sentences: list[list[Token]] = field(default_factory=list)

    @classmethod
    def of(cls, sentences: list[Sentence], seed: str) -> "Perturbed":
        perturbed = cls(random.Random(seed))
        for sentence in sentences:
            words = [Word(row[FORM], row[DEPREL], tags=tuple(row[2:5])) for row in sentence.rows]
            for word, head in zip(words, sentence.tree, strict=True):
                word.head = words[head - 1] if head else None
            tokens, n_done = [], 0
            for line in sentence.lines:
                number, *cells = line.split("\t")
                if "-" in number and not line.startswith("#"):
                    last = int(number.split("-")[1])
                    tokens.append(Token(cells[0], words[n_done:last]))
                    n_done = last
                elif number.isdecimal() and int(number) > n_done:
                    tokens.append(Token(cells[0], [words[n_done]]))
                    n_done += 1
            perturbed.sentences.append(tokens)
        return perturbed

    def heads(self, rate: float) -> None:
        for tokens in self.sentences:
            words = [word for token in tokens for word in token.words]
            for word in words:
                if self.random.random() < rate:
                    word.head = self.random.choice([None, *words])

    def labels(self, rate: float) -> None:
        for tokens in self.sentences:
            for word in (word for token in tokens for word in token.words):
                if self.random.random() < rate:
                    bare = word.deprel.split(":")[0]
                    word.deprel = self.random.choice([bare, f"{bare}:extra", self.random.choice(LABELS)])
                    word.tags = tuple(self.random.choice([tag, tag, "X", "_"]) for tag in word.tags)

    def tokens(self, rate: float) -> None:
        """Join, split and regroup tokens; make, break and vary multiword tokens."""
        for sentence in self.sentences:
            i = 0
            while i < len(sentence):
                if self.random.random() < rate:
                    self.random.choice([self._join, self._split, self._join_ranges, self._rewrite, self._space])(
                        sentence, i
                    )
                i += 1

    def boundaries(self, rate: float) -> None:
        """Join sentences, and end them elsewhere."""
        result: list[list[Token]] = []
        for sentence in self.sentences:
            if result and self.random.random() < rate:
                result[-1] += sentence
            else:
                result.append(sentence)
            if len(result[-1]) > 1 and self.random.random() < rate:
                cut = self.random.randrange(1, len(result[-1]))
                result[-1:] = [result[-1][:cut], result[-1][cut:]]
        self.sentences = result

    def _join(self, sentence: list[Token], i: int) -> None:
        """Two tokens, or the words of a multiword token, become one word."""
        tokens = sentence[i : i + self.random.randint(1, 2)]
        form = "".join(token.form for token in tokens)
        sentence[i : i + len(tokens)] = [Token(form, [replace(tokens[0].words[0], form=form)])]

    def _split(self, sentence: list[Token], i: int) -> None:
        """A token becomes two, or a multiword token of two."""
        token = sentence[i]
        if len(token.form) > 1 and not token.form[:2].isspace():
            cut = self.random.randrange(1, len(token.form))
            parts = [part.strip() for part in (token.form[:cut], token.form[cut:])]
            if all(parts):
                words = [replace(token.words[j % len(token.words)], form=part) for j, part in enumerate(parts)]
                plain = [Token(word.form, [word]) for word in words]
                sentence[i : i + 1] = self.random.choice([plain, [Token(token.form, words)]])

    def _join_ranges(self, sentence: list[Token], i: int) -> None:
        """Two or three tokens become one multiword token with all their words."""
        tokens = sentence[i : i + self.random.randint(2, 3)]
        if len(tokens) > 1:
            words = [word for token in tokens for word in token.words]
            sentence[i : i + len(tokens)] = [Token("".join(token.form for token in tokens), words)]

    def _rewrite(self, sentence: list[Token], i: int) -> None:
        """The words of a multiword token change their case or form, one is lost, one is new, or two change places."""
        words = sentence[i].words
        if len(words) > 1:
            j = self.random.randrange(len(words))
            change = self.random.randrange(5)
            if change == 0:
                words[j].form = words[j].form.upper()
            elif change == 1:
                words[j].form = self.random.choice([words[j - 1].form, "x"])
            elif change == 2 and len(words) > 2:
                del words[j]
            elif change == 3:
                words.insert(j, Word(self.random.choice(words).form, "dep"))
            elif change == 4:
                words[j - 1], words[j] = words[j], words[j - 1]

    def _space(self, sentence: list[Token], i: int) -> None:
        """Spaces in a FORM do not matter."""
        token = sentence[i]
        cut = self.random.randrange(len(token.form) + 1)
        token.form = token.form[:cut] + self.random.choice(" \u00a0\u3000") + token.form[cut:]
        if len(token.words) == 1:
            token.words[0].form = token.form

    @property
    def text(self) -> str:
        return "".join(self._lines(sentence) for sentence in self.sentences)

    def _lines(self, tokens: list[Token]) -> str:
        words = [word for token in tokens for word in token.words]
        numbers = {id(word): number for number, word in enumerate(words, 1)}
        heads = self._tree([numbers.get(id(word.head), 0) for word in words])
        lines, first = [], 1
        for token in tokens:
            if len(token.words) > 1:
                cells = [f"{first}-{first + len(token.words) - 1}", token.form, *"________"]
                lines.append("\t".join(cells))
            for number, word in enumerate(token.words, first):
                form = word.form if len(token.words) > 1 else token.form
                cells = [str(number), form, *word.tags, "_", str(heads[number - 1]), word.deprel, "_", "_"]
                lines.append("\t".join(cells))
            first += len(token.words)
        return "\n".join(lines) + "\n\n"

    def _tree(self, heads: list[int]) -> list[int]:
        """These heads, made a tree with one root: cycles are cut, and what has no head goes below the root."""
        root = heads.index(0) + 1 if 0 in heads else self.random.randint(1, len(heads))
        heads = [head or root for head in heads]
        heads[root - 1] = 0
        for node in list(cycles(heads)):
            heads[node - 1] = root
        return heads


def official(gold: str, predicted: str, *, several_roots: bool = False) -> dict[str, tuple[float, ...]]:
    """Correct, gold and predicted counts, precision, recall and F1 of each metric, by udtools."""
    kind = {"multiple_roots_okay": several_roots}
    files = [
        udeval.load_conllu(io.StringIO(text), name, kind) for name, text in (("gold", gold), ("system", predicted))
    ]
    return {
        name: (s.correct, s.gold_total, s.system_total, 100 * s.precision, 100 * s.recall, 100 * s.f1)
        for name, s in udeval.evaluate(*files).items()
    }


def ours(scores: scoring.Scores) -> dict[str, tuple[float, ...]]:
    return {name: (m.correct, m.gold, m.predicted, m.precision, m.recall, m.f1) for name, m in scores.metrics.items()}


def assert_equal_scores(gold: list[Sentence], predicted: str, *, same_words: bool) -> None:
    expected = official(to_text(gold), predicted)
    sentences = list(conllu.read(io.StringIO(predicted)))
    aligned = scoring.score_aligned(gold, sentences)
    for name, values in ours(aligned).items():
        assert values == expected[name], name  # to the last bit
    assert len(aligned.metrics) == 9
    if same_words:
        scores = scoring.score(gold, sentences)
        assert ours(scores) == {name: expected[name] for name in ("UAS", "LAS", "CLAS")}
        assert (scores.uas, scores.las, scores.clas) == tuple(expected[name][-1] for name in ("UAS", "LAS", "CLAS"))
        assert replace(aligned, metrics=scores.metrics) == scores
        for punct in ("unicode", "ptb"):
            if punct == "unicode" or "_" not in {tag for s in gold for tag in s.column(XPOS)}:
                scores, aligned = (f(gold, sentences, punct=punct) for f in (scoring.score, scoring.score_aligned))
                assert replace(aligned, metrics=scores.metrics) == scores
                assert scores.metrics.items() <= aligned.metrics.items()


HEARING = """\
# sent_id = hearing
1 `` _ _ `` _ 3 punct
2 Hearings _ _ NNS _ 3 nsubj:pass
3 end _ _ VBP _ 0 root
4 -- _ _ : _ 6 punct
5 $ _ _ $ _ 6 dep
6 10 _ _ CD _ 3 dobj
7 -RRB- _ _ -RRB- _ 3 punct
8 ... _ _ : _ 3 punct
9 . _ _ . _ 3 punct

# sent_id = stop
1 . _ _ . _ 0 root

"""


def message(compare: Callable[..., scoring.Scores], gold: str, predicted: str, **options: str) -> str:
    with pytest.raises(DataError) as caught:
        compare(from_text(gold), from_text(predicted), names=("gold.conllu", "pred.conllu"), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
