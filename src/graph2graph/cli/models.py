"""`g2g models`: the seven variants, their parts, and their sizes beside the paper's."""

from textwrap import fill
from typing import Any

import typer
from rich.table import Table

from graph2graph.cli.printing import print_json, print_table
from graph2graph.config import EncoderConfig, ModelConfig
from graph2graph.variants import VARIANTS, Variant

# The paper's setting: Stanford dependencies on WSJ with the 44 labels in its appendix, and 45 Penn tags.
N_LABELS, N_TAGS = 44, 45
PAPER = {"state": 90_330_000, "state-g2g": 105_780_000, "sent": 63_230_000, "sent-g2g": 63_270_000}


def models(as_json: bool = typer.Option(False, "--json", help="Print a JSON object.")) -> None:
    """List the variants with their parts and their numbers of parameters at the paper's size, beside the paper's numbers.

    Example: g2g models
    """
    rows = [_row(variant) for variant in VARIANTS.values()]
    notes = _notes({row["name"]: row for row in rows})
    if as_json:
        size = {"vocab_size": 30522, "layers": 6, "width": 768, "heads": 12, "labels": N_LABELS, "tags": N_TAGS}
        print_json({"size": size, "models": rows, "notes": notes})
        return
    print_table(_table(rows), width=120)
    for note in notes:
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
    parts = dict.fromkeys(
        ("layers", "pieces", "positions", "segments", "relations", "composition", "history", "classifiers", "others"), 0
    )
    for key, parameter in model.named_parameters():
        parts[_part(key)] += parameter.numel()
    return parts


def _part(key: str) -> str:
    """The part of the model to which a parameter belongs."""
    stem, _, rest = key.partition(".")
    if stem == "encoder":
        if ".relation_" in key:
            return "relations"
        return {"layers": "layers", "words": "pieces", "positions": "positions", "segments": "segments"}.get(
            rest.split(".")[0], "others"
        )
    parts = {"composition": "composition", "history": "history", "exist": "classifiers", "relation": "classifiers"}
    return parts.get(stem, "others")


def _millions(number: float) -> str:
    return f"{number / 1e6:.2f}M"


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table("name", "model", "input", "graph in", "graph out", "composition", "history", "parameters", "paper")
    for row in rows:
        flags = {key: "yes" if row[key] else "–" for key in ("graph_in", "composition", "history")}
        table.add_row(
            row["name"],
            row["title"],
            row["input"],
            flags["graph_in"],
            "yes" if row["graph_out"] == "tokens" else "CLS only",
            flags["composition"],
            flags["history"],
            _millions(row["parameters"]),
            _millions(row["paper_parameters"]) if row["paper_parameters"] else "",
        )
    for column in table.columns[-2:]:
        column.justify = "right"
    return table


def _notes(rows: dict[str, dict[str, Any]]) -> list[str]:
    """How our numbers differ from the paper's, and why, where that is known."""
    sent, sent_g2g, state, state_g2g = (rows[name] for name in ("sent", "sent-g2g", "state", "state-g2g"))
    width = EncoderConfig().width
    encoder = sum(sent["parts"][part] for part in ("layers", "pieces", "positions", "segments"))
    graph = sent_g2g["parameters"] - sent["parameters"]
    table = PAPER["state"] - (state["parameters"] - state["parts"]["pieces"])
    more, fewer = PAPER["state-g2g"] - PAPER["state"], state["parameters"] - state_g2g["parameters"]
    return [
        f"Counted for bert-base-uncased (30,522 pieces, 6 layers × {width}), {N_LABELS} labels (those in the paper's appendix) "
        f"and {N_TAGS} Penn tags. The paper gives numbers for four models.",
        f"The graph: SentTr+G2GTr has {_millions(graph)} more than SentTr, for relation tables and label embeddings; the paper "
        f"has {_millions(PAPER['sent-g2g'] - PAPER['sent'])} more. They agree.",
        f"SentTr: the paper's {_millions(PAPER['sent'])} is less than six layers of BERT with its embeddings, "
        f"{_millions(encoder)}, to which we add {_millions(sent['parameters'] - encoder)} of classifiers and tags. This is "
        f"unexplained. If the paper's million is 2^20, it has {_millions(PAPER['sent'] * 2**20 / 1e6)}, close to the bare "
        "encoder.",
        f"StateTr: if all our parts but the pieces are subtracted from the paper's {_millions(PAPER['state'])}, "
        f"{_millions(table)} remain: {table / width:,.0f} rows of {width}, about the size of an embedding table of the "
        "treebank's words in place of BERT's pieces. This is a guess.",
        f"StateTr+G2GTr: the paper has {_millions(more)} more than StateTr, we have {_millions(fewer)} fewer, because there is "
        "no composition model. Nothing in the paper explains the difference.",
    ]
