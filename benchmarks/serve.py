"""What `g2g serve` does under load, against `g2g parse` on the same file in the same run.

    python benchmarks/serve.py FILE [--model en] [--clients 32] [--seconds 60] [--sentences 1] [--threads 2] [--json]

A server is started on a free port of this machine. Clients, all in one process, send sentences of the CoNLL-U file, one
request after another: as CoNLL-U to be parsed, and (if the model can) as plain text to be split, tagged and parsed. `g2g parse`
is timed before and after, from its first read to its last write, without the time to load the model. All share the cores.
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

WORD = re.compile(rb'(?:\\n|")\d+\\t')  # the beginning of a word's line in the JSON of an answer
WARM_UP = 2.0  # seconds that do not count
FORM = "application/x-www-form-urlencoded"
HEAD = f"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: {{}}\r\n\r\n"


@dataclass
class Seen:
    """What the clients saw."""

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


async def client(port: int, requests: Any, seen: Seen, begin: float, end: float) -> None:
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
            seen.statuses[status] += 1
            if status == "200":
                seen.seconds.append(done - sent)
                seen.n_words += len(WORD.findall(body))
        if status == "429":
            await asyncio.sleep(0.5)
    writer.close()


async def load(port: int, requests: list[bytes], given: argparse.Namespace) -> Seen:
    seen, shared = Seen(), cycle(requests)
    begin = time.perf_counter() + WARM_UP
    await asyncio.gather(*(client(port, shared, seen, begin, begin + given.seconds) for _ in range(given.clients)))
    return seen


def served(given: argparse.Namespace, kind: str) -> dict[str, Any] | None:
    """The load of one kind, on a server of its own; None if the model cannot do it."""
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
        seen = asyncio.run(load(port, requests_of(sentences_of(given.file), kind, given.sentences), given))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()
    return report(seen, metrics, given.seconds)


def report(seen: Seen, metrics: dict[str, str], seconds: float) -> dict[str, Any]:
    ordered = sorted(seen.seconds) or [float("nan")]
    n_batches = float(metrics.get("g2g_batch_words_count", 0)) or 1
    return {
        "words_per_second": seen.n_words / seconds,
        "requests_per_second": len(seen.seconds) / seconds,
        "p50_ms": 1000 * ordered[len(ordered) // 2],
        "p99_ms": 1000 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        "statuses": dict(seen.statuses),
        "requests_per_batch": float(metrics.get("g2g_batch_requests_sum", 0)) / n_batches,
        "words_per_batch": float(metrics.get("g2g_batch_words_sum", 0)) / n_batches,
    }


def parse_once(given: argparse.Namespace) -> dict[str, float]:
    """What `g2g parse` does, in this process."""
    import torch

    from graph2graph.parser.pipeline import Pipeline
    from graph2graph.treebank import conllu

    torch.set_num_threads(given.threads)
    pipeline = Pipeline.load(given.model)
    texts = "\n".join(sentence.text for sentence in sentences_of(given.file)) if given.only == "text" else ""
    begin, n_words, out = time.perf_counter(), 0, io.StringIO()
    read = pipeline.text_model.sentences(texts) if texts else conllu.read(given.file, check="columns")
    for sentence in pipeline.parse(read):
        n_words += len(sentence)
        out.writelines(sentence.lines)
    return {"words_per_second": n_words / (time.perf_counter() - begin)}


def parsed(kind: str) -> float:
    """Words a second of `g2g parse`, in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--only", kind]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout)["words_per_second"])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sentences", type=int, default=1, help="in a request")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=["conllu", "text"], default=["conllu", "text"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(parse_once(given)))
        return
    results = {}
    for kind in given.kinds:
        before = parsed(kind) if kind == "conllu" else None
        if (found := served(given, kind)) is None:
            print(f"{given.model} cannot parse raw text: g2g train-text makes what is missing", file=sys.stderr)
            continue
        after = parsed(kind)
        found["parse_words_per_second"] = after if before is None else (before + after) / 2
        found["share_of_parse"] = found["words_per_second"] / found["parse_words_per_second"]
        results[kind] = found
    if given.json:
        print(json.dumps(results, indent=1))
        return
    print(
        f"{'sent as':8} {'words/s':>8} {'g2g parse':>9} {'share':>6} {'p50 ms':>7} {'p99 ms':>7} {'in a batch':>10}  answers"
    )
    for kind, row in results.items():
        answers = ", ".join(f"{status}: {count}" for status, count in sorted(row["statuses"].items()))
        print(
            f"{kind:8} {row['words_per_second']:8,.0f} {row['parse_words_per_second']:9,.0f} {row['share_of_parse']:6.2f} "
            f"{row['p50_ms']:7,.0f} {row['p99_ms']:7,.0f} {row['requests_per_batch']:10.1f}  {answers}"
        )


if __name__ == "__main__":
    main()
