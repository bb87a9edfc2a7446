"""The speed of `g2g serve` under load, against `g2g parse` on the same file in the same run.

    python benchmarks/serve.py FILE [--model en] [--clients 32] [--seconds 60] [--sentences 1] [--threads 2] [--json]

A server is started on a free port of this machine. Clients, all in one process, send sentences of the CoNLL-U file, one
request after another: as CoNLL-U to be parsed, and (if the model can) as plain text to be split, tagged and parsed. What
`g2g parse` does is timed before and after, from its first read to its last write, without loading the model. All share the
cores.
"""

import argparse
import asyncio
import io
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from graph2graph import markdown
from graph2graph.reproduce.jobs import Job, results_of

WORD = re.compile(rb'(?:\\n|")\d+\\t')  # the beginning of a word's line in the JSON of an answer
WARM_UP = 2.0  # seconds that do not count
FORM = "application/x-www-form-urlencoded"
HEAD = f"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: {{}}\r\n\r\n"


@dataclass
class Answers:
    """The answers that the clients got."""

    seconds: list[float] = field(default_factory=list)  # of the requests that were answered with trees
    statuses: Counter[str] = field(default_factory=Counter)
    n_words: int = 0


def sentences_of(path: Path) -> list[Any]:
    from graph2graph.treebank import conllu

    return list(conllu.read(path, check="columns"))


def requests_of(sentences: list[Any], kind: str, together: int) -> list[bytes]:
    """The requests that the clients send, ready to go."""
    requests = []
    for first in range(0, len(sentences), together):
        some = sentences[first : first + together]
        if kind == "conllu":
            fields = {"data": "".join(line for one in some for line in one.lines), "parser": ""}
        else:
            fields = {"data": "\n".join(one.text for one in some), "tokenizer": "", "tagger": "", "parser": ""}
        body = urlencode(fields)
        requests.append((HEAD.format(len(body)) + body).encode())
    return requests


async def client(port: int, requests: Any, answers: Answers, begin: float, end: float) -> None:
    """One client: it sends a request, waits for the answer, and sends the next."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (sent := time.perf_counter()) < end:
        try:
            writer.write(next(requests))
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(re.search(rb"content-length: (\d+)", head.lower())[1]))  # type: ignore[index]
            status = head.split(b" ", 2)[1].decode()
        except (OSError, asyncio.IncompleteReadError):
            status, body = "lost", b""
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        done = time.perf_counter()
        if begin <= done <= end:
            answers.statuses[status] += 1
            if status == "200":
                answers.seconds.append(done - sent)
                answers.n_words += len(WORD.findall(body))
        if status == "429":
            await asyncio.sleep(0.5)
    writer.close()


async def load(port: int, requests: list[bytes], given: argparse.Namespace) -> Answers:
    answers, shared = Answers(), cycle(requests)
    begin = time.perf_counter() + WARM_UP
    await asyncio.gather(*(client(port, shared, answers, begin, begin + given.seconds) for _ in range(given.clients)))
    return answers


def served(given: argparse.Namespace, kind: str) -> dict[str, Any] | None:
    """The load of one kind, on a new server; None if the model cannot do it."""
    import urllib.request

    command = [sys.executable, "-m", "graph2graph", "serve", "--port", "0", "--model", given.model]
    server = subprocess.Popen([*command, "--threads", str(given.threads)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        found = re.search(r"http://\S+:(\d+)", line)
        if not found:
            sys.exit(line + server.stderr.read())
        port = int(found[1])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/models") as answer:
            components = next(iter(json.load(answer)["models"].values()))
        if kind == "text" and "tokenizer" not in components:
            return None
        answers = asyncio.run(load(port, requests_of(sentences_of(given.file), kind, given.sentences), given))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()
    return report(answers, metrics, given.seconds)


def report(answers: Answers, metrics: dict[str, str], seconds: float) -> dict[str, Any]:
    ordered = sorted(answers.seconds) or [float("nan")]
    n_batches = float(metrics.get("g2g_batch_words_count", 0)) or 1
    return {
        "words_per_second": answers.n_words / seconds,
        "requests_per_second": len(answers.seconds) / seconds,
        "p50_ms": 1000 * ordered[len(ordered) // 2],
        "p99_ms": 1000 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        "statuses": dict(answers.statuses),
        "requests_per_batch": float(metrics.get("g2g_batch_requests_sum", 0)) / n_batches,
        "words_per_batch": float(metrics.get("g2g_batch_words_sum", 0)) / n_batches,
    }


def parse_speed(kind: str, model: str, file: Path, threads: int) -> float:
    """Words a second of what `g2g parse` does, in this process."""
    import torch

    from graph2graph.parser.pipeline import Pipeline
    from graph2graph.treebank import conllu

    torch.set_num_threads(threads)
    pipeline = Pipeline.load(model)
    texts = "\n".join(sentence.text for sentence in sentences_of(file)) if kind == "text" else ""
    begin, n_words, out = time.perf_counter(), 0, io.StringIO()
    read = pipeline.text_model.sentences(texts) if texts else conllu.read(file, check="columns")
    for sentence in pipeline.parse(read):
        n_words += len(sentence)
        out.writelines(sentence.lines)
    return n_words / (time.perf_counter() - begin)


def parsed(kind: str, given: argparse.Namespace) -> float:
    """Words a second of `g2g parse`, measured in a separate process."""
    job = Job(kind, parse_speed, (kind, given.model, given.file, given.threads), threads=given.threads)
    [(_, speed)] = results_of([job], workers=1)
    return speed


def measure(given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The figures of each kind of request that the model can answer."""
    results = {}
    for kind in given.kinds:
        before = parsed(kind, given) if kind == "conllu" else None
        if (found := served(given, kind)) is None:
            print(f"{given.model} cannot parse raw text: g2g train-text makes what is missing", file=sys.stderr)
            continue
        after = parsed(kind, given)
        found["parse_words_per_second"] = after if before is None else (before + after) / 2
        found["share_of_parse"] = found["words_per_second"] / found["parse_words_per_second"]
        results[kind] = found
    return results


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sentences", type=int, default=1, help="in a request")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=["conllu", "text"], default=["conllu", "text"])
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Measure and print a row for each kind of request."""
    given = arguments()
    results = measure(given)
    if given.json:
        print(json.dumps(results, indent=1))
        return
    rows = []
    for kind, row in results.items():
        speeds = [f"{row[key]:,.0f}" for key in ("words_per_second", "parse_words_per_second")]
        times = [f"{row[key]:,.0f}" for key in ("p50_ms", "p99_ms")]
        answers = ", ".join(f"{status}: {count}" for status, count in sorted(row["statuses"].items()))
        rows.append(
            [kind, *speeds, f"{row['share_of_parse']:.2f}", *times, f"{row['requests_per_batch']:.1f}", answers]
        )
    header = ["sent as", "words/s", "g2g parse", "share", "p50 ms", "p99 ms", "in a batch", "answers"]
    print(markdown.table(header, rows), end="")


if __name__ == "__main__":
    main()
