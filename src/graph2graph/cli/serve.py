"""`g2g serve`: the REST server and the page."""

import sys
import warnings

import typer

from graph2graph.errors import DataError
from graph2graph.parser import catalogue


def serve(
    host: str = typer.Option("127.0.0.1", help="Where to listen; 0.0.0.0 is all of this machine's addresses."),
    port: int = typer.Option(8000, min=0, max=65535, help="0 is any free one."),
    model: list[str] = typer.Option(
        [catalogue.DEFAULT],
        metavar="NAME|DIR",
        help="A model shipped with g2g, or the directory of a trained one; may be given several times. The first is the "
        "default of the server.",
    ),
    max_body: int = typer.Option(2_000_000, min=1, help="Bytes of a request."),
    max_words: int = typer.Option(20_000, min=1, help="Words of a request."),
    max_sentence: int = typer.Option(1_000, min=1, help="Words of a sentence."),
    max_requests: int = typer.Option(256, min=1, help="Requests held at once; more are answered with 429."),
    max_queue: int = typer.Option(20_000, min=1, help="Words that wait; while there are as many, 429 is the answer."),
    timeout: float = typer.Option(60.0, min=0.001, help="Seconds for a request."),
    batch_words: int = typer.Option(2_048, min=1, help="Words parsed together."),
    batch_wait: float = typer.Option(
        0.003, min=0, help="Seconds that a request waits for others to be parsed with it."
    ),
    threads: int = typer.Option(None, min=1, help="Threads of the model; default: all cores."),
    access_log: bool = typer.Option(False, "--access-log", help="Log every request."),
) -> None:
    """Serve UDPipe's REST API (/models, /process), typed JSON (/parse), and a page (/) that shows the parser at work.

    /docs describes the API; /health and /metrics are for those who run it. SIGINT (Ctrl-C) or SIGTERM stops the server when
    all it holds is answered, a second one at once.

    Examples:

    g2g serve --port 8080 --model en --model DIR

    curl -F data="The dog barks." -F tokenizer= -F tagger= -F parser= http://127.0.0.1:8080/process
    """
    try:
        from graph2graph.server.limits import Limits
        from graph2graph.server.run import listen
        from graph2graph.server.run import serve as run
        from graph2graph.server.served import Models
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette"):
            raise
        raise DataError(f"{error.name} is not installed; pip install 'graph2graph[serve]'") from error
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    limits = Limits(
        body=max_body,
        words=max_words,
        sentence=max_sentence,
        requests=max_requests,
        queue=max_queue,
        seconds=timeout,
        batch=batch_words,
        wait=batch_wait,
    )
    with listen(host, port) as listener:  # before the models are loaded: a mistake is known at once
        models = Models.load(model)
        warnings.showwarning = _note
        address = f"[{host}]" if ":" in host else host
        _note(f"serving {', '.join(models.by_name)} on http://{address}:{listener.getsockname()[1]}")
        run(models, listener, limits, access_log=access_log)
    _note("stopped")


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"g2g: {message}", file=sys.stderr, flush=True)
