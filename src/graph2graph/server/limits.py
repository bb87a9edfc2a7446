"""What the server accepts, and the error for what it refuses."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from starlette.responses import JSONResponse

from graph2graph.treebank.sentence import Sentence


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Upper bounds, so that no client can starve the others and memory stays bounded."""

    body: int = 2_000_000  # bytes in a request
    words: int = 20_000  # in a request
    sentence: int = 1_000  # words in a sentence: parsing time grows faster than its length
    requests: int = 256  # handled at once
    queue: int = 20_000  # words waiting; from this number on, new requests are refused
    seconds: float = 60.0  # from the first byte of a request to its answer
    batch: int = 2_048  # words parsed together
    wait: float = 0.003  # seconds that a request waits for others to share its batch

    def checked(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield the sentences, and refuse the request as soon as they have too many words."""
        n_words = 0
        for sentence in sentences:
            if len(sentence) > self.sentence:
                raise RequestRefused(413, f"a sentence of {len(sentence)} words; at most {self.sentence} are allowed")
            n_words += len(sentence)
            if n_words > self.words:
                raise RequestRefused(413, f"more than the {self.words} words allowed in one request")
            yield sentence


class RequestRefused(Exception):
    """A request is refused with an HTTP status and one sentence that says why."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def response(self) -> JSONResponse:
        """The answer to the client."""
        return JSONResponse({"detail": self.detail}, self.status, self.headers)
