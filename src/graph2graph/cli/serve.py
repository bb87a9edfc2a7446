"""`g2g serve`: the REST server and the page."""

import warnings

import typer

from graph2graph.cli.options import PRECISION
from graph2graph.cli.printing import report
from graph2graph.config import Precision
from graph2graph.errors import DataError
from graph2graph.parser import catalogue


def serve(
    host: str = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 is all addresses of this machine."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on; 0 is any free one."),
    model: list[str] = typer.Option(
        [catalogue.DEFAULT],
        metavar="NAME|DIR",
        help="A shipped or downloaded model, or the directory of a trained one. May be repeated; the first is the default.",
    ),
    max_body: int = typer.Option(2_000_000, min=1, help="Bytes allowed in a request."),
    max_words: int = typer.Option(20_000, min=1, help="Words allowed in a request."),
    max_sentence: int = typer.Option(1_000, min=1, help="Words allowed in a sentence."),
    max_requests: int = typer.Option(256, min=1, help="Requests handled at once; further ones are refused (429)."),
    max_queue: int = typer.Option(20_000, min=1, help="Requests are refused (429) while so many words are queued."),
    timeout: float = typer.Option(60.0, min=0.001, help="Seconds that a request may take."),
    batch_words: int = typer.Option(2_048, min=1, help="Words parsed together."),
    batch_wait: float = typer.Option(0.003, min=0, help="Seconds that a request waits for others to share its batch."),
    threads: int = typer.Option(None, min=1, help="Threads of the model. Default: all cores."),
    precision: Precision = PRECISION,
    access_log: bool = typer.Option(False, "--access-log", help="Log every request."),
) -> None:
    """Serve UDPipe's REST API (/models, /process), typed JSON (/parse), and a page (/) that shows how a sentence is parsed.

    /docs describes the API; /health and /metrics are for monitoring. SIGINT (Ctrl-C) or SIGTERM stops the server once all
    pending requests are answered, a second signal at once.

    Examples:

    g2g serve --port 8080 --model en --model DIR

    curl -F data="The dog barks." -F tokenizer= -F tagger= -F parser= http://127.0.0.1:8080/process
    """
    try:
        from graph2graph.server.limits import Limits
        from graph2graph.server.run import listen
        from graph2graph.server.run import serve as run
        from graph2graph.server.service import ServedModels
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "prometheus_client", "python_multipart", "starlette", "uvicorn"):
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
    with listen(host, port) as listener:  # before the models are loaded, so that a port in use is reported at once
        models = ServedModels.load(model, precision)
        warnings.showwarning = report
        address = f"[{host}]" if ":" in host else host
        report(f"serving {', '.join(models.by_name)} on http://{address}:{listener.getsockname()[1]}")
        run(models, listener, limits, access_log=access_log)
    report("stopped")
