"""`g2g models`: the seven variants, their parts, and their sizes beside the paper's."""

from textwrap import fill
from typing import Any

import typer
from rich.table import Column, Table

from graph2graph.cli.printing import print_json, print_table
from graph2graph.config import EncoderConfig, ModelConfig
from graph2graph.variants import VARIANTS, Variant

# The paper's setting: Stanford dependencies on WSJ with the 44 labels in its appendix, and 45 Penn tags.
N_LABELS, N_TAGS = 44, 45
PAPER = {"state": 90_330_000, "state-g2g": 105_780_000, "sent": 63_230_000, "sent-g2g": 63_270_000}
PARTS = ("layers", "pieces", "positions", "segments", "relations", "composition", "history", "classifiers", "others")
# How our numbers differ from the paper's, and why, where that is known. A test recomputes the figures.
NOTES = [
    "Counted for bert-base-uncased (30,522 pieces, 6 layers × 768), 44 labels (those in the paper's appendix) and 45 Penn "
    "tags. The paper gives numbers for four models.",
    "The graph: SentTr+G2GTr has 0.04M more than SentTr, for relation tables and label embeddings; the paper has 0.04M "
    "more. They agree.",
    "SentTr: the paper's 63.23M is less than six layers of BERT with its embeddings, 66.36M, to which we add 1.35M of "
    "classifiers and tags. This is unexplained. If the paper's million is 2^20, it has 66.30M, close to the bare encoder.",
    "StateTr: if all our parts but the pieces are subtracted from the paper's 90.33M, 33.68M remain: 43,851 rows of 768, "
    "about the size of an embedding table of the treebank's words in place of BERT's pieces. This is a guess.",
    "StateTr+G2GTr: the paper has 15.45M more than StateTr, we have 2.39M fewer, because there is no composition model. "
    "Nothing in the paper explains the difference.",
]


def models(as_json: bool = typer.Option(False, "--json", help="Print a JSON object.")) -> None:
    """List the variants with their parts and their numbers of parameters at the paper's size, beside the paper's numbers.

    Example: g2g models
    """
    rows = [_row(variant) for variant in VARIANTS.values()]
    if as_json:
        size = {"vocab_size": 30522, "layers": 6, "width": 768, "heads": 12, "labels": N_LABELS, "tags": N_TAGS}
        print_json({"size": size, "models": rows, "notes": NOTES})
        return
    print_table(_table(rows), width=120)
    for note in NOTES:
        typer.echo(fill(note, 118, initial_indent="• ", subsequent_indent="  "))


def _row(variant: Variant) -> dict[str, Any]:
    """The parts of a variant and their sizes."""
    config = ModelConfig(**variant.model)
    parts = _parameters(config)
    return {
        "name": variant.name,
        "title": variant.title,
        "input": config.input,
        "graph_in": config.graph_input,
        "graph_out": config.output,
        "composition": config.composition,
        "history": config.history,
        "parameters": sum(parts.values()),
        "parts": parts,
        "paper_parameters": PAPER.get(variant.name),
    }


def _parameters(config: ModelConfig) -> dict[str, int]:
    """The numbers of parameters by part, counted on a model that has shapes but no values."""
    import torch

    from graph2graph.models.parser_model import ParserModel, encoder_config

    shape = encoder_config(config, EncoderConfig(), N_LABELS)
    config = config.model_copy(update={"encoder": shape})
    with torch.device("meta"):
        model = ParserModel(config, n_labels=N_LABELS, n_tags=N_TAGS, root_label=0, cls_sep=(0, 1))
    parts = dict.fromkeys(PARTS, 0)
    for key, parameter in model.named_parameters():
        parts[_part(key)] += parameter.numel()
    return parts


def _part(key: str) -> str:
    """The part of the model to which a parameter belongs."""
    if key.startswith("encoder.") and ".relation_" in key:
        return "relations"
    stem = key.removeprefix("encoder.").split(".")[0]
    part = {"words": "pieces", "exist": "classifiers", "relation": "classifiers"}.get(stem, stem)
    return part if part in PARTS else "others"


def _millions(number: float) -> str:
    return f"{number / 1e6:.2f}M"


def _table(rows: list[dict[str, Any]]) -> Table:
    sizes = (Column(name, justify="right") for name in ("parameters", "paper"))
    table = Table("name", "model", "input", "graph in", "graph out", "composition", "history", *sizes)
    for row in rows:
        graph_in, composition, history = ("yes" if row[key] else "–" for key in ("graph_in", "composition", "history"))
        parts = (graph_in, "yes" if row["graph_out"] == "tokens" else "CLS only", composition, history)
        paper = _millions(row["paper_parameters"]) if row["paper_parameters"] else ""
        table.add_row(row["name"], row["title"], row["input"], *parts, _millions(row["parameters"]), paper)
    return table
