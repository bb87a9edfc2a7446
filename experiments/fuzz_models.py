"""Coverage-guided fuzzing of model loading: hostile config.json, labels.json, tokenizer.json and model.safetensors.

    python experiments/fuzz_models.py --runs 200000 --output experiments/results/fuzz_models.json

Each run replaces one file of a tiny valid model, loads the model, and if that succeeds parses a sentence, greedily and with a
beam. The only exception allowed is DataError, in one printable line. Needs `pip install atheris`, which is not among our
dependencies. What fails is written to --failures, to become a test in tests/parser/test_hostile_models.py.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import traceback
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["graph2graph"]):
    from graph2graph.config import Config
    from graph2graph.errors import DataError
    from graph2graph.files import write_bytes, write_json
    from graph2graph.parser.model_directory import write_compressed
    from graph2graph.parser.parser import Parser
    from graph2graph.parser.vocabulary import Vocabulary
    from graph2graph.treebank.sentence import Sentence
    from graph2graph.variants import VARIANTS

import torch

FILES = ("config.json", "labels.json", "tokenizer.json", "model.safetensors")
BASES = {"plain": "sent-g2g", "state": "state-g2g-c", "8 bits": "sent-g2g"}  # name and variant
SENTENCE = Sentence.from_words(["The", "dog", "barks"])
TREE = SENTENCE.with_tree([2, 3, 0], ["det", "nsubj", "root"]).with_columns({3: ["DET", "NOUN", "VERB"]})
HOSTILE: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 2**64, 10**30, 1e-320, 1e308, -0.5, 0.5),
    *(
        "",
        "nan",
        "inf",
        "-inf",
        "\ud800",
        "a\tb",
        "a\nb",
        "\x00",
        "\x1b[2J",
        "[UNK]",
        "root",
        "_",
        "é" * 300,
        "../../etc/passwd",
    ),
    *([], {}, [[]], [None], {"": {}}, float("nan"), float("inf"), -float("inf")),
    *(
        "BPE",
        "Unigram",
        "WordLevel",
        "WordPiece",
        "ByteLevel",
        "Replace",
        "Split",
        "Metaspace",
        "BertNormalizer",
        "Precompiled",
    ),
    *("F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "F8_E4M3", "C64"),
]


def make_models(directory: Path) -> None:
    """Write the tiny models to start from."""
    shape = {"width": 4, "inner_width": 4, "layers": 1, "heads": 2, "vocab_size": 60, "max_positions": 24}
    for name, variant in BASES.items():
        values = {"model": VARIANTS[variant].model | {"encoder": shape, "exist_hidden": 4, "relation_hidden": 4}}
        torch.manual_seed(1)
        parser = Parser.create(Config.parse(values, name), Vocabulary.of([TREE]), forms=SENTENCE.forms)
        parser.save(directory / name)
        if name == "8 bits":
            write_compressed(directory / name, parser.model)


def resident() -> float:
    """The memory of this process in MB; libFuzzer's own share grows as long as it runs."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


class Campaign:
    """The models, and what was found so far. An input is a byte that chooses model and file, then the file's content."""

    def __init__(self, models: Path, failures: Path) -> None:
        self.models, self.failures = models, failures
        self.seeds = [
            bytes([number]) + (models / base / file).read_bytes()
            for number, (base, file) in enumerate((base, file) for base in BASES for file in FILES)
        ]
        self.kinds: dict[str, int] = {}
        self.runs = self.loaded = 0
        self.slowest = self.largest = 0.0

    def run(self, data: bytes) -> None:
        """One run: load and parse with one file replaced; count and keep what fails."""
        number = (data[0] if data else 0) % len(self.seeds)
        base, file = list(BASES)[number // len(FILES)], FILES[number % len(FILES)]
        path = self.models / base / file
        path.write_bytes(data[1:])
        self.runs += 1
        before, began = (
            resident(),
            time.process_time(),
        )  # not the time of the clock, as other processes may hold up this one
        try:
            parser = Parser.load(path.parent)
            self.loaded += 1
            for beam in (1, 2)[: 1 + (self.loaded % 4 == 0)]:  # a beam takes most of the time
                list(parser.parse([SENTENCE], beam=beam))
        except DataError as error:
            if not str(error).isprintable():
                self._failed("message of several lines", data)
        except BaseException as error:  # panics of Rust libraries are no Exceptions
            if isinstance(error, KeyboardInterrupt):
                raise
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self._failed(f"{type(error).__name__} {Path(frame.filename).name}:{frame.lineno} {str(error)[:80]}", data)
        finally:
            path.write_bytes(self.seeds[number][1:])
        seconds = time.process_time() - began
        grown = resident() - before
        if seconds > 5 or grown > 1000:
            self._failed("slow" if seconds > 5 else "large", data)
        self.slowest, self.largest = max(self.slowest, seconds), max(self.largest, grown)

    def _failed(self, kind: str, data: bytes) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.kinds[kind] == 1:
            print(f"{self.runs}: {kind}", file=sys.stderr, flush=True)
            write_bytes(self.failures / f"{self.runs}.bin", data)

    def result(self) -> dict[str, Any]:
        """The figures of the campaign."""
        return {
            "executions": self.runs,
            "loaded and parsed": self.loaded,
            "failures": self.kinds,
            "slowest run, CPU seconds": round(self.slowest, 2),
            "largest growth of memory in a run, MB": round(self.largest),
        }


def mutate(data: bytes, max_size: int, seed: int, seeds: list[bytes]) -> bytes:
    """Change a value in the JSON of an input or of a valid file, or its bytes."""
    chance = random.Random(seed)
    if (
        chance.random() < 0.5
    ):  # the library drops inputs that reach no new lines of Python, as most tokenisers and weights
        data = chance.choice(seeds)
    first, content = data[:1] or b"\0", data[1:]
    is_weights = first[0] % len(FILES) == FILES.index("model.safetensors")
    start = 8 if is_weights else 0
    end = start + int.from_bytes(content[:8], "little") if is_weights else len(content)
    try:
        if chance.random() < 0.4 or end > len(content):
            raise ValueError
        value = json.loads(content[start:end])
        for _ in range(chance.choice((1, 1, 2, 3))):
            value = _changed(value, chance)
        changed = json.dumps(value).encode()
    except (ValueError, RecursionError):
        return bytes(atheris.Mutate(data, max_size))
    length = len(changed).to_bytes(8, "little") if is_weights else b""
    return (first + length + changed + content[end:])[:max_size]


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with something in it replaced, removed, renamed or doubled."""
    if not isinstance(value, (dict, list)) or not value or chance.random() < 0.1:
        return deepcopy(chance.choice(HOSTILE))
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = chance.choice(keys)
    how = chance.random()
    if how < 0.75:
        value[key] = _changed(value[key], chance)
    elif how < 0.85:
        del value[key]
    elif isinstance(value, list):
        value.append(value[key])
    else:
        value[str(chance.choice(HOSTILE))] = value[key]
    return value


def main() -> None:
    """Run a campaign."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--runs", type=int, default=200_000)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--failures", type=Path, default=Path("runs/fuzz-models"))
    command.add_argument("--output", type=Path)
    chosen = command.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="fuzz-models-") as directory:
        models, corpus = Path(directory) / "models", Path(directory) / "corpus"
        make_models(models)
        campaign = Campaign(models, chosen.failures)
        for number, seed in enumerate(campaign.seeds):
            write_bytes(corpus / str(number), seed)

        def once(data: bytes) -> None:
            campaign.run(data)
            if campaign.runs == chosen.runs:  # libFuzzer ends the process without returning
                result = campaign.result()
                print(json.dumps(result, indent=2))
                if chosen.output:
                    write_json(chosen.output, result)

        flags = [
            f"-runs={chosen.runs + 1}",
            f"-seed={chosen.seed}",
            "-timeout=600",
            "-report_slow_units=600",
            "-rss_limit_mb=0",
            "-max_len=20000",
        ]
        atheris.Setup(["fuzz", *flags, str(corpus)], once, custom_mutator=partial(mutate, seeds=campaign.seeds))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
