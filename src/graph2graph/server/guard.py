"""What stands before the app: it reads the body, keeps to the limits, watches the client, and counts.

As plain ASGI, since it must see the connection: a client that has gone away is noticed here, and its work is dropped.
"""

import asyncio
import json
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph2graph.server.limits import Refused
from graph2graph.server.service import Service

WORK = ("/process", "/parse", "/trace")  # what takes time, and is refused when there is too much of it
OTHERS = ("/", "/docs", "/health", "/metrics", "/models", "/openapi.json")
GONE = 499  # the client left; a number for the counts, as other servers have it

log = logging.getLogger("uvicorn.error")


class Gone(Exception):
    """The client left."""


class Answer:
    """Sends what the app answers, and knows how far that is."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """Send an error, unless an answer was begun."""
        if not self.status:
            body = json.dumps({"detail": refused.detail}, ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | refused.headers
            pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            await self({"type": "http.response.start", "status": refused.status, "headers": pairs})
            await self({"type": "http.response.body", "body": body})


class Guard:
    """The app, guarded."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service, self.n_held = app, service, 0
        service.metrics.watch("g2g_requests_held", "Requests that are worked on or wait.", lambda: self.n_held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, path, answer = time.perf_counter(), scope["path"], Answer(send)
        is_work = path in WORK
        self.n_held += is_work
        try:
            await self._answered(scope, receive, answer, is_work=is_work)
        except Refused as refused:
            await answer.refuse(refused)
        except Gone:
            answer.status = answer.status or GONE
        except Exception:  # a mistake of ours; the app has answered
            log.exception("%s %s failed", scope["method"], path)
        finally:
            self.n_held -= is_work
            label = path if path in WORK + OTHERS else "/page" if path.startswith("/page/") else "other"
            self.service.metrics.requests.add(1, label, str(answer.status))
            self.service.metrics.seconds.observe(time.perf_counter() - begin, label)

    async def _answered(self, scope: Scope, receive: Receive, answer: Answer, *, is_work: bool) -> None:
        """Have the app answer, in time."""
        limits, body = self.service.limits, None
        if is_work and self.service.is_stopping:
            raise Refused(503, "the server is stopping", retry_after=5)
        if is_work and self.n_held > limits.requests:
            raise Refused(429, f"{limits.requests} requests are held already; try again soon", retry_after=1)
        try:
            async with asyncio.timeout(limits.seconds):
                body = await self._body(scope, receive)
                await self._watched(scope, body, receive, answer)
        except TimeoutError:
            status, what = (408, "the request did not arrive") if body is None else (504, "there was no result")
            raise Refused(status, f"{what} within {limits.seconds:g} s") from None

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        limit = self.service.limits.body
        too_large = Refused(413, f"more than the {limit} bytes that are taken in one request")
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if int(length) > limit:  # the HTTP parser has seen to it that this is a number
            raise too_large
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise too_large
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _watched(self, scope: Scope, body: bytes, receive: Receive, answer: Answer) -> None:
        """Run the app until it has answered or the client has left."""
        first = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return first.pop() if first else await receive()

        work = asyncio.ensure_future(self.app(scope, replayed, answer))
        leaving = asyncio.ensure_future(receive())  # the body is there, so all that can come is that it goes
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Gone
            await work
        finally:
            for task in (work, leaving):
                task.cancel()
            await asyncio.wait({work, leaving})
