"""`g2g models`: the variants with their parts, and how large they are at the paper's size."""

import json
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from graph2graph.config import EncoderConfig, ModelConfig
from graph2graph.variants import VARIANTS, Variant

# The paper's setting: Stanford dependencies on WSJ, of which its appendix lists 44 types, and the 45 tags of the treebank.
N_LABELS, N_TAGS = 44, 45
PAPER = {"state": 90_330_000, "state-g2g": 105_780_000, "sent": 63_230_000, "sent-g2g": 63_270_000}


def models(as_json: bool = typer.Option(False, "--json", help="Print a JSON object.")) -> None:
    """List the variants with their parts and their numbers of parameters at the paper's size, beside the paper's own.

    Example: g2g models
    """
    rows = [_row(variant) for variant in VARIANTS.values()]
    notes = _notes({row["name"]: row for row in rows})
    if as_json:
        size = {"vocab_size": 30522, "layers": 6, "width": 768, "heads": 12, "labels": N_LABELS, "tags": N_TAGS}
        typer.echo(json.dumps({"size": size, "models": rows, "notes": notes}, indent=2, ensure_ascii=False))
        return
    console = Console(width=None if Console().is_terminal else 120)
    console.print(_table(rows))
    for note in notes:
        console.print(f"• {note}", highlight=False)


def _row(variant: Variant) -> dict[str, Any]:
    """A variant: what it is made of, and the size of each part."""
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
    """The numbers of parameters of a model with this config, by part; nothing is computed or stored for it."""
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
    """The part that a parameter belongs to."""
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
    """Why the paper's numbers are others, as far as that can be told."""
    sent, sent_g2g, state, state_g2g = (rows[name] for name in ("sent", "sent-g2g", "state", "state-g2g"))
    width = EncoderConfig().width
    encoder = sum(sent["parts"][part] for part in ("layers", "pieces", "positions", "segments"))
    graph = sent_g2g["parameters"] - sent["parameters"]
    table = PAPER["state"] - (state["parameters"] - state["parts"]["pieces"])
    more, fewer = PAPER["state-g2g"] - PAPER["state"], state["parameters"] - state_g2g["parameters"]
    return [
        f"Counted for bert-base-uncased's shape (30,522 pieces, 6 layers × {width}), {N_LABELS} labels (those in the paper's "
        f"appendix) and {N_TAGS} Penn tags. The paper has a count for four models.",
        f"The graph: SentTr+G2GTr has {_millions(graph)} more than SentTr, relation tables and label embeddings; in the paper "
        f"{_millions(PAPER['sent-g2g'] - PAPER['sent'])}. They agree.",
        f"SentTr: the paper's {_millions(PAPER['sent'])} is less than six layers of BERT and its embeddings alone, "
        f"{_millions(encoder)}, to which we add {_millions(sent['parameters'] - encoder)} of classifiers and tags. Not "
        f"explained; if a million means 2^20 there, it is {_millions(PAPER['sent'] * 2**20 / 1e6)}, near the bare encoder.",
        f"StateTr: take all our parts but the pieces from the paper's {_millions(PAPER['state'])}, and {_millions(table)} are "
        f"left, {table / width:,.0f} rows of {width}: about what a table of the treebank's own words would have, in place of "
        "BERT's pieces. A guess.",
        f"StateTr+G2GTr: the paper has {_millions(more)} more than StateTr, we have {_millions(fewer)} fewer, since there is "
        "no composition model. Not explained by anything in the paper.",
    ]
