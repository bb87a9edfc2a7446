"""What one server takes on, and what it answers when that is too much."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is taken on, so that no request can starve the others and memory stays bounded."""

    body: int = 2_000_000  # bytes of a request
    words: int = 20_000  # of a request
    sentence: int = 1_000  # words of a sentence: parsing time grows faster than its length
    requests: int = 256  # held at once
    queue: int = 20_000  # words that wait; with more, new requests are refused until some are done
    seconds: float = 60.0  # for a request, from its first byte to its answer
    batch: int = 2_048  # words parsed together
    wait: float = 0.003  # seconds that a request waits for company


class Refused(Exception):
    """A request that is not answered with what it asks for: the status, and one sentence that says why."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
