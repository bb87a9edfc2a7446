"""The CoNLL-U reader under a coverage-guided fuzzer: no file crashes it, takes long or breaks a law of `laws.check_file`.

    pip install atheris    # in an environment with this package
    python experiments/fuzz_conllu.py fuzz CORPUS --runs 300000
    python experiments/fuzz_conllu.py pack MINIMISED

`fuzz` starts from some legal files and goes on from those in the directory CORPUS, to which it adds each file that reaches new
code; it stops at a file that takes over 5 s or 1 GB. Statistics of all runs are in experiments/results/fuzz-conllu.json.
`pack` writes a corpus, minimised by `fuzz CORPUS --minimise MINIMISED`, to tests/data/fuzzed-conllu.json, which the tests read.
"""

import argparse
import base64
import random
import resource
import sys
import time
from itertools import count, islice
from pathlib import Path

from graph2graph.files import make_directory, read_json, write_bytes, write_json

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "experiments" / "results" / "fuzz-conllu.json"
CORPUS = ROOT / "tests" / "data" / "fuzzed-conllu.json"
SEEDS, MAX_SEED = 100, 300
MAX_SECONDS = 5  # of processor time for a file
REPORT = 1_000  # executions between two reports


def fuzz(corpus: Path, runs: int, minimised: Path | None) -> None:
    """Run the fuzzer; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["graph2graph.treebank", "graph2graph.files"]):
        import laws
    make_directory(corpus)
    seeds = (laws.legal_file(random.Random(number)) for number in count())
    for number, seed in enumerate(islice((seed for seed in seeds if len(seed) < MAX_SEED), SEEDS)):
        write_bytes(corpus / f"seed-{number}", seed)
    counted = read_json(RESULT) if RESULT.exists() else {"executions": 0, "accepted": 0}

    def check(data: bytes) -> None:
        before = time.perf_counter()
        counted["accepted"] += laws.check_file(data)
        counted["executions"] += 1
        if time.perf_counter() - before > MAX_SECONDS:  # perhaps only because the machine is busy
            before = time.process_time()
            laws.check_file(data)
            assert time.process_time() - before < MAX_SECONDS, "a file takes too long"
        if counted["executions"] % REPORT == 0 and minimised is None:
            peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            write_json(RESULT, counted | {"max_seconds": MAX_SECONDS, "peak_rss_mb": peak})

    limits = ["-timeout=600", "-rss_limit_mb=1024", "-max_len=600", f"-artifact_prefix={corpus.parent}/"]
    what = [f"-runs={runs}", str(corpus)] if minimised is None else ["-merge=1", str(minimised), str(corpus)]
    if minimised is not None:
        make_directory(minimised)
    atheris.Setup([sys.argv[0], *limits, *what], check)
    atheris.Fuzz()


def main() -> None:
    """Fuzz, or pack what fuzzing found."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("fuzz", "pack"))
    arguments.add_argument("corpus", type=Path)
    arguments.add_argument("--runs", type=int, default=REPORT)
    arguments.add_argument("--minimise", type=Path, metavar="MINIMISED")
    given = arguments.parse_args()
    if given.what == "fuzz":
        fuzz(given.corpus.resolve(), given.runs, given.minimise)
    files = sorted((path.read_bytes() for path in given.corpus.iterdir()), key=lambda data: (len(data), data))
    write_json(CORPUS, [base64.b64encode(data).decode() for data in files])


if __name__ == "__main__":
    main()
