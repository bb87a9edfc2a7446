"""Start the server, and stop it without losing requests."""

import logging
import socket
from types import FrameType

import uvicorn

from graph2graph.errors import DataError
from graph2graph.server.admission import Admission
from graph2graph.server.app import create_app
from graph2graph.server.limits import Limits
from graph2graph.server.service import ServedModels, Service

MAX_HEADERS = 65_536  # bytes of the address and the headers of a request


class GracefulServer(uvicorn.Server):
    """A server that answers all pending requests before it stops, and refuses new ones; a second signal stops it at once."""

    def __init__(self, config: uvicorn.Config, admission: Admission) -> None:
        super().__init__(config)
        self.admission = admission

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; after a second signal, stop at once."""
        del sig, frame
        self.should_exit = self.force_exit = self.admission.service.is_stopping
        self.admission.service.is_stopping = True

    async def on_tick(self, counter: int) -> bool:
        """Stop as soon as no request is pending; uvicorn calls this ten times a second."""
        if self.admission.service.is_stopping and not self.admission.n_active:
            self.should_exit = True
        return await super().on_tick(counter)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise DataError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from error


def serve(models: ServedModels, listener: socket.socket, limits: Limits, *, access_log: bool = False) -> None:
    """Answer requests until SIGINT or SIGTERM."""
    service = Service(models, limits)
    admission = Admission(create_app(service), service)
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # clients are told about their malformed forms
    config = uvicorn.Config(
        admission,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        lifespan="on",
        ws="none",
        h11_max_incomplete_event_size=MAX_HEADERS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,  # seconds for clients to read their answers
        server_header=False,
    )
    GracefulServer(config, admission).run(sockets=[listener])
