"""The fields that UDPipe's clients send: in the address, in a URL-encoded body, or in a multipart form (curl -F)."""

from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from urllib.parse import parse_qsl

from graph2graph.server.limits import RequestRefused

URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FIELDS = 100


def fields(query: bytes, content_type: str | None, body: bytes) -> dict[str, str]:
    """The fields of a request. The body overrides the address, and a later field an earlier one of the same name."""
    found = dict(_url_encoded(query, "the address"))
    header = Message()
    header["content-type"] = content_type or ""
    kind = header.get_content_type() if content_type else None
    if kind == URL_ENCODED:
        found |= _url_encoded(body, "the body")
    elif kind == MULTIPART:
        boundary = header.get_boundary()
        if not boundary:
            raise RequestRefused(400, "the multipart form has no boundary in its Content-Type")
        found |= _multipart(body, boundary.encode("utf-8", "surrogateescape"))
    elif body:
        raise RequestRefused(415, f"expected a form, {URL_ENCODED} or {MULTIPART}, found {kind or 'no Content-Type'}")
    return found


def _url_encoded(data: bytes, source: str) -> list[tuple[str, str]]:
    try:
        given = data.decode()
        return parse_qsl(given, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise RequestRefused(400, f"invalid UTF-8 in {source}") from error
    except ValueError as error:
        raise RequestRefused(400, f"more than {MAX_FIELDS} fields in {source}") from error


def _multipart(body: bytes, boundary: bytes) -> Iterator[tuple[str, str]]:
    """The parts of a form, each between two boundaries: headers, a blank line, and the value."""
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary)
    if not parts or not parts[-1].startswith(b"--"):
        raise RequestRefused(400, "the multipart form is cut off or has no parts: its last boundary is missing")
    if len(parts) > MAX_FIELDS:
        raise RequestRefused(400, f"more than {MAX_FIELDS} fields in the body")
    for part in parts[:-1]:
        head, blank, value = part.partition(b"\r\n\r\n")
        name = BytesHeaderParser().parsebytes(head.lstrip(b"\r\n")).get_param("name", header="content-disposition")
        if not blank or not isinstance(name, str):
            raise RequestRefused(400, "a part of the multipart form has no name")
        try:
            yield name, value.decode()
        except UnicodeDecodeError as error:
            problem = f"invalid UTF-8: byte 0x{value[error.start]:02x} at position {error.start + 1}"
            raise RequestRefused(400, f"{ascii(name)[1:-1]}: {problem}") from error
