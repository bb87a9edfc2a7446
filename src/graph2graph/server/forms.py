"""The fields of a request as UDPipe's clients send them: in the address, url-encoded, or as a multipart form (curl -F)."""

from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from urllib.parse import parse_qsl

from graph2graph.server.limits import Refused

URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FIELDS = 100


def fields(query: bytes, content_type: str | None, body: bytes) -> dict[str, str]:
    """The fields of a request; those of the body count before those of the address, and later ones before earlier ones."""
    found = dict(_url_encoded(query, "the address"))
    header = Message()
    header["content-type"] = content_type or ""
    kind = header.get_content_type() if content_type else None
    if kind == URL_ENCODED:
        found |= _url_encoded(body, "the body")
    elif kind == MULTIPART:
        boundary = header.get_boundary()
        if not boundary:
            raise Refused(400, "the multipart form has no boundary in its Content-Type")
        found |= _multipart(body, boundary.encode("utf-8", "surrogateescape"))
    elif body:
        raise Refused(415, f"expected a form, {URL_ENCODED} or {MULTIPART}, found {kind or 'no Content-Type'}")
    return found


def _url_encoded(data: bytes, place: str) -> list[tuple[str, str]]:
    try:
        given = data.decode()
        return parse_qsl(given, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise Refused(400, f"invalid UTF-8 in {place}") from error
    except ValueError as error:
        raise Refused(400, f"more than {MAX_FIELDS} fields in {place}") from error


def _multipart(body: bytes, boundary: bytes) -> Iterator[tuple[str, str]]:
    """The parts of a form, each between two boundaries: headers, a blank line, and the value."""
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary)
    if not parts or not parts[-1].startswith(b"--"):
        raise Refused(400, "the multipart form is cut off or has no parts: its last boundary is missing")
    if len(parts) > MAX_FIELDS:
        raise Refused(400, f"more than {MAX_FIELDS} fields in the body")
    for part in parts[:-1]:
        head, blank, value = part.partition(b"\r\n\r\n")
        name = BytesHeaderParser().parsebytes(head.lstrip(b"\r\n")).get_param("name", header="content-disposition")
        if not blank or not isinstance(name, str):
            raise Refused(400, "a part of the multipart form has no name")
        try:
            yield name, value.decode()
        except UnicodeDecodeError as error:
            where = f"byte 0x{value[error.start]:02x} at position {error.start + 1}"
            raise Refused(400, f"{ascii(name)[1:-1]}: invalid UTF-8: {where}") from error
