"""The JSON of requests and answers, typed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graph2graph.treebank.sentence import Sentence


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Reencode = Annotated[
    Literal["exact", "adaptive"] | Annotated[float, Field(ge=0)] | None,
    Field(
        description="Graph models: encode again after every arc (exact), or when the best action is less probable than this "
        "number. Default: the model's setting."
    ),
]


class ParseRequest(_Strict):
    """A text, words or CoNLL-U, and how to parse them."""

    text: str | None = Field(None, description="Raw text; the model must have a tokenizer.")
    words: list[list[str]] | None = Field(None, description="Sentences, each a list of words.")
    conllu: str | None = Field(None, description="CoNLL-U; only HEAD and DEPREL will change.")
    model: str | None = Field(None, description="A name from /models. Default: the first.")
    tags: Literal["keep", "predict", "none"] | None = Field(
        None,
        description="Where the tags that the parser sees come from: the CoNLL-U (keep), the model's tagger (predict), or "
        "nowhere (none). Default: keep for CoNLL-U, otherwise what suits the model best.",
    )
    reencode: Reencode = None
    keep_arcs: bool = Field(False, description="Keep the heads and labels in the CoNLL-U.")
    probabilities: bool = Field(False, description="Give the probability of each arc and of its label.")
    presegmented: bool = Field(False, description="The raw text has one sentence on each line.")

    @model_validator(mode="after")
    def _check_fields(self) -> "ParseRequest":
        if sum(given is not None for given in (self.text, self.words, self.conllu)) != 1:
            raise ValueError("give one of text, words and conllu")
        if self.tags == "keep" and self.conllu is None:
            raise ValueError("tags: only CoNLL-U has tags to keep; expected predict or none")
        return self

    @property
    def n_characters(self) -> int:
        """The size of the data."""
        words = (word for sentence in self.words or [] for word in sentence)
        return len(self.text or self.conllu or "") + sum(map(len, words))


class WordAnswer(BaseModel):
    """A word; `_` in CoNLL-U is null here."""

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
    start_char: int | None = Field(description="Its first character in the raw text, counted from 0.")
    end_char: int | None
    arc_p: float | None = Field(description="The probability of the action that made its arc, if asked for.")
    label_p: float | None


class SentenceAnswer(BaseModel):
    """A sentence and its tree; words are numbered from 1, and the root's head is 0."""

    sent_id: str | None
    text: str
    words: list[WordAnswer]


class ParseAnswer(BaseModel):
    """The parsed sentences, in the order of the request."""

    model: str
    sentences: list[SentenceAnswer]


class RequiredArc(_Strict):
    """An arc that must be in the tree."""

    sentence: int = Field(ge=0, description="Counted from 0.")
    word: int = Field(ge=1, description="Counted from 1.")
    head: int = Field(ge=0, description="0 is the root.")
    deprel: str | None = None


class TraceRequest(_Strict):
    """A text or CoNLL-U to parse step by step; heads in the CoNLL-U are ignored, only `arcs` are kept."""

    text: str | None = None
    conllu: str | None = None
    arcs: list[RequiredArc] = []
    model: str | None = None
    reencode: Reencode = None

    @model_validator(mode="after")
    def _check_fields(self) -> "TraceRequest":
        if (self.text is None) == (self.conllu is None):
            raise ValueError("give one of text and conllu")
        return self


class TraceAnswer(BaseModel):
    """The steps by which each sentence was parsed."""

    sentences: list[dict[str, Any]]


class ErrorAnswer(BaseModel):
    """Every error: one sentence that says what is wrong."""

    detail: str


def sentence_answer(sentence: Sentence) -> dict[str, Any]:
    """A parsed sentence in the form of `SentenceAnswer`, not validated again because that takes time."""
    answer = sentence.to_json()
    probabilities = sentence.probabilities or [None] * len(sentence)
    for word, probability in zip(answer["words"], probabilities, strict=True):
        word["arc_p"], word["label_p"] = probability or (None, None)
        word.setdefault("start_char", None)
        word.setdefault("end_char", None)
    return answer
