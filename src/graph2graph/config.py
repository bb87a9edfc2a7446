"""The settings: one frozen tree that rejects unknown keys. An ablation is a field; a row of the paper is a few of them."""

import math
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graph2graph.errors import DataError


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class EncoderConfig(_Frozen):
    """The shape of a BERT-family encoder; the defaults are the paper's."""

    vocab_size: int = Field(30522, ge=1)
    width: int = Field(768, ge=1)
    layers: int = Field(6, ge=1)
    heads: int = Field(12, ge=1)
    inner_width: int = Field(3072, ge=1)  # of the feed-forward layers
    embedding_width: int | None = None  # of the input embeddings, where it is not `width` (ELECTRA)
    max_positions: int = Field(512, ge=8)  # how long an input may be
    n_segments: int = Field(2, ge=0)
    relations: int = Field(0, ge=0)  # k of Eq. 3 and 4, "none" included; 0 takes no graph
    position_buckets: int = Field(0, ge=0)  # of a relative-position bias shared by all layers (MPNet)
    layer_norm_eps: float = 1e-12
    activation: Literal["gelu", "gelu_new", "relu"] = "gelu"
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self

    @property
    def input_width(self) -> int:
        """The width of the input embeddings."""
        return self.embedding_width or self.width


class ModelConfig(_Frozen):
    """Which parts the parser has, and their sizes; the defaults are the paper's."""

    input: Literal["state", "sentence"] = "sentence"
    graph_input: bool = True  # the partial tree goes into the attention
    output: Literal["tokens", "cls"] = "tokens"  # what the classifiers see: the words in question, or CLS
    composition: bool = False
    composition_skip: bool = True
    history: bool = False
    separate_positions: bool = False  # positions counted in each segment anew
    labelled_relations: bool = False  # k = 2 · labels + 3 instead of the paper's 3
    # The tags are predicted too, from sentences that are seen without them; by CLS those of s2, s1 and b1, from any, so that
    # it learns where to look
    tagger: bool = False
    exist_hidden: int = Field(500, ge=1)
    relation_hidden: int = Field(100, ge=1)
    classifier_dropout: float = Field(0.05, ge=0, lt=1)
    history_layers: int = Field(2, ge=1)
    history_width: int | None = None  # default: the width of the encoder
    composition_hidden: int | None = None  # default: the width of the input embeddings
    encoder: EncoderConfig = EncoderConfig()


class DataConfig(_Frozen):
    """What is read from the treebank."""

    tags: Literal["upos", "xpos", "none"] = "upos"
    swap: Literal["eager", "lazy"] = "eager"
    max_pieces: int = Field(32, ge=1)  # of one word; what is longer is cut


class TrainConfig(_Frozen):
    """How a model is trained; the defaults suit a small pretrained encoder."""

    epochs: int = Field(10, ge=1)  # a time limit plans the number of steps instead
    batch_pieces: int = Field(1500, ge=1)  # encoded in one step
    batch_sentences: int = Field(0, ge=0)  # if set, a batch is so many sentences, however many pieces they encode
    states: int = Field(4, ge=0)  # encoded for each sentence of a graph or state model; 0 is all, the paper's way
    empty_share: float = Field(0.3, ge=0, le=1)  # with one state a sentence: how often it is that of the empty graph
    empty_epochs: int = Field(0, ge=0)  # at first, in which a graph model of sentences sees the empty graph only
    # of a decision, for each arc that the graph it is taken on lacks; in a state model, for each transition since
    stale_weight: float = Field(0.7, ge=0, le=1)
    empty_stale_weight: float = Field(1.0, ge=0, le=1)  # the same for the empty graph
    learning_rate: float = Field(3e-4, gt=0)  # of pretrained parameters
    new_learning_rate: float = Field(2e-3, gt=0)  # of what is put on a pretrained encoder
    graph_learning_rate: float | None = Field(
        None, gt=0
    )  # of relation tables and label embeddings; default: as all new ones
    scratch_learning_rate: float = Field(5e-4, gt=0)  # of everything, where the encoder is not pretrained
    composition_learning_rate: float = Field(1e-4, gt=0)  # of composition, which is applied over and over
    one_optimiser: bool = False  # the same rate, `learning_rate`, for all
    warmup: float = Field(0.05, ge=0, lt=1)  # share of the steps
    weight_decay: float = Field(0.01, ge=0)
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = Field(1e-6, gt=0)
    clip: float = Field(1.0, gt=0)  # of the global norm of the gradient
    tag_dropout: float = Field(0.2, ge=0, le=1)  # share of sentences that are seen without tags
    word_dropout: float = Field(0.0, ge=0, lt=1)  # share of words that are hidden behind the mask
    tag_loss: float = Field(0.2, ge=0)  # weight of the tagger's loss
    patience: int = Field(3, ge=0)  # epochs without a better score before stopping early; 0 never stops
    eval_sentences: int = Field(0, ge=0)  # of the development set, after each epoch; 0 is all
    checkpoint_minutes: float = Field(10, ge=0)
    checkpoint_steps: int = Field(0, ge=0)  # if set, checkpoints come after so many steps instead
    seed: int = 1
    precision: Literal["fp32", "bf16"] = (
        "fp32"  # of the encoder; weights, classifiers, losses and moments are fp32 in any case
    )
    tensorboard: bool = False


class DecodeConfig(_Frozen):
    """How a parser decodes unless told otherwise."""

    batch_tokens: int = Field(4096, ge=1)  # pieces encoded at once, padding counted
    draft_tokens: int = Field(192, ge=0)  # exact decoding encodes graphs that may come along, up to so many pieces
    reencode: float = Field(math.inf, ge=0)  # encode again when the best action is less probable; inf: always, exactly
    adaptive: float = Field(0.9, ge=0)  # the number that `adaptive` stands for
    predicted_tags: bool = True  # whether the parser sees the tags that its text model gives to raw text


class Config(_Frozen):
    """All settings of a model."""

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()

    @classmethod
    def parse(cls, values: dict[str, Any], source: str) -> Self:
        """The settings from plain values; what is wrong is said in one line, with the key."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise DataError(f"{source}: {problem(error)}") from error


def problem(error: ValidationError) -> str:
    """The first thing that is wrong with settings, in one line: key and reason."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
    return f"{key}: {message}" if key else message
