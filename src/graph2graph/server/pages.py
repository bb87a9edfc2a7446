"""HTML for browsers: the page, its files, and the API's documentation. Nothing is loaded from the network."""

from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response

from graph2graph.server.limits import RequestRefused

PAGE = Path(__file__).with_name("page")
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.45 }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } td { padding: .2rem .8rem .2rem 0; vertical-align: top }
h2 { margin-top: 2rem; border-top: 1px solid #8886; padding-top: 1rem } code { white-space: nowrap }
"""


def router() -> APIRouter:
    """The routes of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page() -> Response:
        return _file("index.html")

    @routes.get("/page/{name}")
    async def part(name: str) -> Response:
        return _file(name)

    return routes


def _file(name: str) -> Response:
    """A file of the page. Names are looked up in the directory listing, so none can lead out of the directory."""
    path = next((path for path in PAGE.iterdir() if path.name == name), None)
    if path is None or path.suffix not in TYPES:
        raise RequestRefused(404, f"the page has no file {name!a}")
    return FileResponse(path, media_type=TYPES[path.suffix], headers=HEADERS)


def docs(app: FastAPI) -> HTMLResponse:
    """The API as a plain page: each path with its fields and their meaning."""
    schema = app.openapi()
    parts = [f"<h1>{app.title} {app.version}</h1><p>{app.description} <a href=/openapi.json>For programs</a>."]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}")
            parts.append(_table(_fields(operation, schema)))
    return HTMLResponse(f"<!doctype html><meta charset=utf-8><title>API</title><style>{STYLE}</style>{''.join(parts)}")


def _table(rows: list[tuple[str, str, str]]) -> str:
    escaped = [tuple(map(escape, row)) for row in rows]
    lines = "".join(f"<tr><td><code>{name}</code><td>{kind}<td>{about}" for name, kind, about in escaped)
    return f"<table>{lines}</table>" if rows else ""


def _fields(operation: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, type and meaning of each field that a path takes."""
    named = [(one["name"], one["schema"], one) for one in operation.get("parameters", [])]
    for content in list(operation.get("requestBody", {}).get("content", {}).values())[:1]:
        body = _resolved(content["schema"], schema)
        named += [(name, field, field) for name, field in body["properties"].items()]
    return [(name, _type(field), about.get("description", "")) for name, field, about in named]


def _resolved(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = field.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema["components"]["schemas"][name] if name else field
    return found


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type") or field.get("$ref", "").rpartition("/")[2])
