"""The fields that UDPipe's clients send: in the address, in a URL-encoded body, or in a multipart form (curl -F)."""

from collections.abc import Iterator
from io import BytesIO
from typing import cast
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from graph2graph.server.limits import RequestRefused

URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FIELDS = 100


def fields(query: bytes, content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a request. The body overrides the address; of fields with one name, the last counts."""
    found = dict(_url_encoded(query, "the address"))
    kind, options = parse_options_header(content_type)
    if kind == URL_ENCODED.encode():
        found |= _url_encoded(body, "the body")
    elif kind == MULTIPART.encode():
        if b"boundary" not in options:
            raise RequestRefused(400, "the multipart form has no boundary in its Content-Type")
        found |= _multipart(body, options[b"boundary"])
    elif body:
        given = ascii(kind.decode("latin-1"))[1:-1] or "no Content-Type"
        raise RequestRefused(415, f"expected a form, {URL_ENCODED} or {MULTIPART}, found {given}")
    return found


def _url_encoded(data: bytes, source: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise RequestRefused(400, f"invalid UTF-8 in {source}") from error
    except ValueError as error:
        raise RequestRefused(400, f"more than {MAX_FIELDS} fields in {source}") from error


def _multipart(body: bytes, boundary: bytes) -> Iterator[tuple[str, str]]:
    """The name and value of each part of a form. Uploaded files stay in memory."""
    parts: list[Field | File] = []

    def add(part: Field | File) -> None:
        if len(parts) == MAX_FIELDS:
            raise RequestRefused(400, f"more than {MAX_FIELDS} fields in the body")
        parts.append(part)

    ends: list[bool] = []
    try:
        settings = {"MAX_MEMORY_FILE_SIZE": len(body)}
        form = FormParser(MULTIPART, add, add, lambda: ends.append(True), boundary, config=settings)
        form.write(body)
    except FormParserError as error:
        raise RequestRefused(400, f"the multipart form is malformed: {error}") from error
    if not ends:
        raise RequestRefused(400, "the multipart form is cut off or has no parts: its last boundary is missing")
    for part in parts:
        name = (part.field_name or b"").decode(errors="replace")
        value = part.value if isinstance(part, Field) else cast(BytesIO, part.file_object).getvalue()
        try:
            yield name, (value or b"").decode()
        except UnicodeDecodeError as error:
            problem = f"invalid UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start + 1}"
            raise RequestRefused(400, f"{ascii(name)[1:-1]}: {problem}") from error
