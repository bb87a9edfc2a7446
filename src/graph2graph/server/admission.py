"""Middleware in front of the app: it reads bodies, enforces the limits, cancels requests whose client has left, and counts all.

It is plain ASGI, because FastAPI's middleware does not see that a client leaves.
"""

import asyncio
import logging
import time

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph2graph.server.limits import RequestRefused
from graph2graph.server.service import Service

PARSING = ("/process", "/parse", "/trace")  # slow, so `Limits.requests` applies to them
OTHERS = ("/", "/docs", "/health", "/metrics", "/models", "/openapi.json")
CLIENT_CLOSED_REQUEST = 499  # the status that other servers log for a client that left

log = logging.getLogger("uvicorn.error")


class Admission:
    """The app behind its limits."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service, self.n_active = app, service, 0
        service.metrics.watch("g2g_requests_held", "Requests in progress or waiting.", lambda: self.n_active)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, path, status = time.perf_counter(), scope["path"], 0
        is_parsing = path in PARSING

        async def send_part(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self.n_active += is_parsing
        try:
            await self._answer(scope, receive, send_part, is_parsing=is_parsing)
        except RequestRefused as error:
            if not status:  # no response was started
                await error.response()(scope, receive, send_part)
        except ClientDisconnect:
            status = status or CLIENT_CLOSED_REQUEST
        except Exception:  # a bug of ours; the app has sent status 500
            log.exception("%s %s failed", scope["method"], path)
        finally:
            self.n_active -= is_parsing
            label = path if path in PARSING + OTHERS else "/page" if path.startswith("/page/") else "other"
            self.service.metrics.requests.labels(label, str(status)).inc()
            self.service.metrics.seconds.labels(label).observe(time.perf_counter() - begin)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, *, is_parsing: bool) -> None:
        """Read the body and run the app, within the time limit."""
        limits, body = self.service.limits, None
        if is_parsing and self.service.is_stopping:
            raise RequestRefused(503, "the server is stopping", retry_after=5)
        if is_parsing and self.n_active > limits.requests:
            raise RequestRefused(
                429, f"{limits.requests} requests are in progress already; try again soon", retry_after=1
            )
        try:
            async with asyncio.timeout(limits.seconds):
                body = await self._read_body(scope, receive)
                await self._run_app(scope, body, receive, send)
        except TimeoutError:
            status, problem = (408, "the request did not arrive") if body is None else (504, "there was no result")
            raise RequestRefused(status, f"{problem} within {limits.seconds:g} s") from None

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        """The body of the request, which is refused as soon as it turns out to be too large."""
        request, limit, body = Request(scope, receive), self.service.limits.body, bytearray()
        too_large = RequestRefused(413, f"more than the {limit} bytes allowed in one request")
        if int(request.headers.get("content-length", 0)) > limit:  # uvicorn has checked that it is a number
            raise too_large
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise too_large
        return bytes(body)

    async def _run_app(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the app until it has answered or the client has left."""
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        answering = asyncio.ensure_future(self.app(scope, replay, send))
        leaving = asyncio.ensure_future(receive())  # the body has been read, so the next message is a disconnect
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ClientDisconnect
            await answering
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.wait({answering, leaving})
