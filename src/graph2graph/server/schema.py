"""The JSON that goes in and out, typed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graph2graph.treebank import document
from graph2graph.treebank.conllu import Sentence


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Reencode = Annotated[
    Literal["exact", "adaptive"] | Annotated[float, Field(ge=0)] | None,
    Field(description="Graph models: encode again after every arc, or only when the best action is less probable."),
]


class ParseRequest(_Strict):
    """What to parse: a text, words, or CoNLL-U; and how."""

    text: str | None = Field(None, description="Raw text, which the model must have a tokenizer for.")
    words: list[list[str]] | None = Field(None, description="Sentences, each a list of its words.")
    conllu: str | None = Field(None, description="CoNLL-U; only HEAD and DEPREL will differ from it.")
    model: str | None = Field(None, description="A name that /models lists; default: the first.")
    tags: Literal["keep", "predict", "none"] | None = Field(
        None,
        description="The tags that the parser sees: those of the CoNLL-U, those of the model's tagger, or none. Default: keep "
        "for CoNLL-U; for all else predict, or none if the model has no tagger or does better without.",
    )
    reencode: Reencode = None
    keep_arcs: bool = Field(False, description="Heads and labels of the CoNLL-U stay.")
    probabilities: bool = Field(False, description="Give the probability of each arc and of its label.")
    presegmented: bool = Field(False, description="Raw text has a sentence a line.")

    @model_validator(mode="after")
    def _one_source(self) -> "ParseRequest":
        if sum(given is not None for given in (self.text, self.words, self.conllu)) != 1:
            raise ValueError("give one of text, words and conllu")
        if self.tags == "keep" and self.conllu is None:
            raise ValueError("tags: only CoNLL-U has tags to keep; expected predict or none")
        return self


class Word(BaseModel):
    """A word; what is `_` in CoNLL-U is null."""

    id: int
    form: str
    lemma: str | None
    upos: str | None
    xpos: str | None
    feats: str | None
    head: int
    deprel: str
    deps: str | None
    misc: str | None
    start_char: int | None = Field(description="Where it begins in the raw text, in characters from 0.")
    end_char: int | None
    arc_p: float | None = Field(description="The probability of the action that made its arc, if asked for.")
    label_p: float | None


class ParsedSentence(BaseModel):
    """A sentence and its tree; words are numbered from 1, head 0 is the root."""

    sent_id: str | None
    text: str
    words: list[Word]


class ParseAnswer(BaseModel):
    """The trees, in the order of the sentences."""

    model: str
    sentences: list[ParsedSentence]


class Arc(_Strict):
    """An arc that must be in the tree."""

    sentence: int = Field(ge=0, description="From 0.")
    word: int = Field(ge=1, description="From 1.")
    head: int = Field(ge=0, description="0 is the root.")
    deprel: str | None = None


class TraceRequest(_Strict):
    """What to parse step by step; heads in the CoNLL-U are not looked at, only `arcs` are kept."""

    text: str | None = None
    conllu: str | None = None
    arcs: list[Arc] = []
    model: str | None = None
    reencode: Reencode = None

    @model_validator(mode="after")
    def _one_source(self) -> "TraceRequest":
        if (self.text is None) == (self.conllu is None):
            raise ValueError("give one of text and conllu")
        return self


class TraceAnswer(BaseModel):
    """How each sentence was parsed."""

    sentences: list[dict[str, Any]]


class Problem(BaseModel):
    """What every error looks like: one sentence that says what is wrong."""

    detail: str


def as_json(sentence: Sentence) -> dict[str, Any]:
    """A parsed sentence in the shape of `ParsedSentence`; built by hand, since checking our own output takes time."""
    found = document.as_json(sentence)
    for word in found["words"]:
        misc = dict(item.partition("=")[::2] for item in (word["misc"] or "").split("|"))
        for name, key in (("arc_p", "ArcP"), ("label_p", "LabelP")):
            word[name] = float(misc[key]) if key in misc else None
        word.setdefault("start_char", None)
        word.setdefault("end_char", None)
    return found
