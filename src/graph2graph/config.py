"""All settings: one frozen tree that rejects unknown keys. An ablation is a field; a variant (variants.py) sets a few."""

import math
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graph2graph.errors import DataError

Precision = Literal["auto", "fp32", "bf16", "int8"]  # of the encoder
DEEPEST, WIDEST, MOST_ROWS = 1000, 65_536, 10_000_000  # far beyond any encoder, and short of what exhausts a machine


class FrozenModel(BaseModel):
    """A group of settings; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    @classmethod
    def parse(cls, values: dict[str, Any], source: str) -> Self:
        """The settings from plain values; an error names `source`, the file or option they come from, and the key."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
            raise DataError(f"{source}: {key}: {message}" if key else f"{source}: {message}") from error


class EncoderConfig(FrozenModel):
    """The shape of a BERT-family encoder; the defaults are the paper's."""

    vocab_size: int = Field(30522, ge=1, le=MOST_ROWS)
    width: int = Field(768, ge=1, le=WIDEST)
    layers: int = Field(6, ge=1, le=DEEPEST)
    heads: int = Field(12, ge=1)
    inner_width: int = Field(3072, ge=1, le=WIDEST)  # of the feed-forward layers
    embedding_width: int | None = Field(
        None, ge=1, le=WIDEST
    )  # of the input embeddings; default: `width`, but in ELECTRA
    max_positions: int = Field(512, ge=8, le=MOST_ROWS)  # the longest input
    n_segments: int = Field(2, ge=0, le=MOST_ROWS)
    relations: int = Field(0, ge=0, le=MOST_ROWS)  # k of Eq. 3 and 4, counting "none"; 0: no graph input
    # Of a relative-position bias that all layers share (MPNet); 0: no bias. From 512 on the last ones would have no distance
    position_buckets: int = Field(0, ge=0, lt=512)
    layer_norm_eps: float = Field(1e-12, ge=0, le=1)
    activation: Literal["gelu", "gelu_new", "relu"] = "gelu"
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if 0 < self.position_buckets < 4:
            raise ValueError("position_buckets: expected 0 or at least 4, two for each direction")
        return self

    @property
    def input_width(self) -> int:
        """The width of the input embeddings."""
        return self.embedding_width or self.width


class ModelConfig(FrozenModel):
    """The parts of a parser and their sizes; the defaults are the paper's."""

    input: Literal["state", "sentence"] = "sentence"
    graph_input: bool = True  # the partial tree is input to the attention
    output: Literal["tokens", "cls"] = "tokens"  # the classifiers read the vectors of the focus words, or that of CLS
    composition: bool = False
    composition_skip: bool = True  # the "+ ψ" of Eq. 11
    history: bool = False
    separate_positions: bool = False  # positions start again in each segment
    labelled_relations: bool = False  # k = 2 · labels + 3 relations, instead of the paper's 3
    # Predict tags as well: of every word, in sentences whose tags are hidden; with CLS, those of s2, s1 and b1 in every state
    tagger: bool = False
    exist_hidden: int = Field(500, ge=1, le=WIDEST)
    relation_hidden: int = Field(100, ge=1, le=WIDEST)
    classifier_dropout: float = Field(0.05, ge=0, lt=1)
    history_layers: int = Field(2, ge=1, le=DEEPEST)
    history_width: int | None = Field(None, ge=1, le=WIDEST)  # default: the width of the encoder
    composition_hidden: int | None = Field(None, ge=1, le=WIDEST)  # default: the width of the input embeddings
    encoder: EncoderConfig = EncoderConfig()


class DataConfig(FrozenModel):
    """How a treebank is read."""

    tags: Literal["upos", "xpos", "none"] = "upos"
    swap: Literal["eager", "lazy"] = "eager"  # when the oracle swaps
    max_pieces: int = Field(32, ge=1)  # of a word; the rest is cut off


class TrainConfig(FrozenModel):
    """How a model is trained; the defaults suit a small pretrained encoder."""

    epochs: int = Field(10, ge=1)  # ignored if there is a time limit
    patience: int = Field(3, ge=0)  # epochs without a better score before a run stops early; 0: never
    seed: int = 1
    # Of the encoder; weights, classifiers, losses and moments are always fp32. auto: bf16 where the CPU gains by it
    precision: Literal["auto", "fp32", "bf16"] = "auto"

    # Batches, and what is sampled from each sentence
    batch_pieces: int = Field(1500, ge=1)  # pieces encoded in a step
    batch_sentences: int = Field(0, ge=0)  # if not 0, sentences in a batch, instead of batch_pieces
    states: int = Field(4, ge=0)  # states encoded per sentence, in graph and state models; 0: all, as in the paper
    empty_share: float = Field(0.3, ge=0, le=1)  # if states = 1: how often it is the empty graph
    empty_epochs: int = Field(0, ge=0)  # epochs at the start in which SentTr+G2GTr sees only empty graphs
    tag_dropout: float = Field(0.2, ge=0, le=1)  # share of sentences whose tags are hidden
    word_dropout: float = Field(0.0, ge=0, lt=1)  # share of words replaced by the mask

    # The loss. A decision is weighted by this number to the power of the arcs that its graph lacks; in a state model, of the
    # transitions that the encoded state lacks. 0: an encoded state supervises its own decision only, as in the paper
    stale_weight: float = Field(0.7, ge=0, le=1)
    empty_stale_weight: float = Field(1.0, ge=0, le=1)  # the same for the empty graph
    tag_loss: float = Field(0.2, ge=0)  # weight of the tagger's loss

    # Learning rates and AdamW
    learning_rate: float = Field(3e-4, gt=0)  # of pretrained parameters
    new_learning_rate: float = Field(2e-3, gt=0)  # of new parameters beside a pretrained encoder
    scratch_learning_rate: float = Field(5e-4, gt=0)  # of all parameters, without a pretrained encoder
    composition_learning_rate: float = Field(1e-4, gt=0)
    graph_learning_rate: float | None = Field(None, gt=0)  # of relation tables and label embeddings; default: no other
    one_optimiser: bool = False  # `learning_rate` for all parameters
    warmup: float = Field(0.05, ge=0, lt=1)  # share of the steps
    weight_decay: float = Field(0.01, ge=0)
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = Field(1e-6, gt=0)
    clip: float = Field(1.0, gt=0)  # largest norm of the whole gradient

    # Scoring, checkpoints, logs
    eval_sentences: int = Field(0, ge=0)  # of the development set, scored after each epoch; 0: all
    checkpoint_minutes: float = Field(10, ge=0)  # between two checkpoints
    checkpoint_steps: int = Field(0, ge=0)  # if not 0, steps between two checkpoints, instead of checkpoint_minutes
    tensorboard: bool = False


class DecodeConfig(FrozenModel):
    """How a model decodes unless the user chooses otherwise."""

    batch_tokens: int = Field(4096, ge=1)  # pieces encoded at once, padding included
    draft_tokens: int = Field(192, ge=0)  # pieces of likely graphs that exact decoding encodes in advance
    reencode: float = Field(math.inf, ge=0)  # re-encode if the best action is less probable; inf: exact decoding
    adaptive: float = Field(0.9, ge=0)  # the threshold that `adaptive` stands for
    predicted_tags: bool = True  # in raw text, the parser sees the tags of the text model


class Config(FrozenModel):
    """All settings of a model."""

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()
