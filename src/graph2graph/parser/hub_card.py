"""The lines at the start of a model card that the Hugging Face hub reads: licence, language, library, data, scores.

They are YAML. Each value is written as JSON, which YAML includes.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

LIBRARY, TASK, DATASET = "graph2graph", "dependency parsing", "universal_dependencies"
SPLITS = {"dev": "validation", "test": "test"}
_UD_FILE = re.compile(r"(([a-z]{2,3})_[a-z0-9]+)(?:-ud-[a-z]+\.conllu.*)?")
_CREATIVE_COMMONS = re.compile(r"(cc-(?:0|by(?:-nc)?(?:-sa|-nd)?)-\d\.\d)(?:-[a-z]+)?")  # a country may follow
_LICENCES = ("apache-2.0", "mit", "gpl-3.0", "lgpl-3.0", "bsd-3-clause", "cc0-1.0", "unlicense")


class UdTreebank(NamedTuple):
    """A treebank of Universal Dependencies, as its files are named: en_ewt."""

    name: str
    language: str


def treebank_of(file: Path) -> UdTreebank | None:
    """The treebank in `en_ewt-ud-train.conllu` or `en_ewt/train.conllu`; None for a file of another name."""
    path = file.absolute()
    for name in (path.name, path.parent.name):
        if (match := _UD_FILE.fullmatch(name)) and "." not in match[1]:
            return UdTreebank(match[1], match[2])
    return None


def front_matter(
    *, name: str, licence: str, treebank: UdTreebank | None, scores: Mapping[str, Mapping[str, float]]
) -> str:
    """The lines for a model; `scores` are in percent, by split and metric."""
    values: dict[str, Any] = _licence(licence)
    if treebank:
        values |= {"language": treebank.language, "datasets": [DATASET]}
    values |= {
        "library_name": LIBRARY,
        "pipeline_tag": "token-classification",
        "tags": [TASK.replace(" ", "-"), "universal-dependencies", "graph2graph-transformer"],
        "metrics": ["uas", "las"],
    }
    if treebank:
        values["model-index"] = [{"name": name, "results": [_result(treebank, *one) for one in scores.items()]}]
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    return f"---\n{''.join(lines)}---\n"


def without_front_matter(card: str) -> str:
    """The card as people read it."""
    return re.sub(r"\A---\n.*?^---\n", "", card, count=1, flags=re.DOTALL | re.MULTILINE)


def _licence(name: str) -> dict[str, str]:
    """The identifier of a licence that the hub knows, or its name as another one."""
    identifier = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
    if match := _CREATIVE_COMMONS.fullmatch(identifier):
        return {"license": match[1]}
    if identifier in _LICENCES:
        return {"license": identifier}
    return {} if name == "not stated" else {"license": "other", "license_name": identifier}


def _result(treebank: UdTreebank, split: str, scores: Mapping[str, float]) -> dict[str, Any]:
    """The scores on a split, in the form of the hub's model-index."""
    dataset = {"type": DATASET, "name": treebank.name, "config": treebank.name, "split": SPLITS[split]}
    metrics = [{"type": name, "name": name.upper(), "value": round(value, 2)} for name, value in scores.items()]
    return {"task": {"type": "token-classification", "name": TASK}, "dataset": dataset, "metrics": metrics}
