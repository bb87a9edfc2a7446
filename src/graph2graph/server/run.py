"""Start the server, and stop it without losing what it holds."""

import socket
from types import FrameType

import uvicorn

from graph2graph.errors import DataError
from graph2graph.server.app import create_app
from graph2graph.server.guard import Guard
from graph2graph.server.limits import Limits
from graph2graph.server.served import Models
from graph2graph.server.service import Service

HEADERS = 65_536  # bytes that the address and the headers of a request may have


class Server(uvicorn.Server):
    """A server that, told to stop, finishes what it holds and says so to all others; told again, it stops at once."""

    def __init__(self, config: uvicorn.Config, guard: Guard) -> None:
        super().__init__(config)
        self.guard = guard

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        del sig, frame
        self.should_exit = self.force_exit = self.guard.service.is_stopping
        self.guard.service.is_stopping = True

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, whether it is time to go."""
        if self.guard.service.is_stopping and not self.guard.n_held:
            self.should_exit = True
        return await super().on_tick(counter)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"cannot listen on {host}, port {port}: {reason or error}") from error


def serve(models: Models, listener: socket.socket, limits: Limits, *, access_log: bool = False) -> None:
    """Answer requests until SIGINT or SIGTERM."""
    service = Service(models, limits)
    guard = Guard(create_app(service), service)
    config = uvicorn.Config(
        guard,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        lifespan="on",
        ws="none",
        h11_max_incomplete_event_size=HEADERS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,  # for answers to be read; by then none is waited for any more
        server_header=False,
    )
    Server(config, guard).run(sockets=[listener])
