"""Files for browsers: the page and the documentation of the API. Nothing is loaded from the network."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from graph2graph.server.limits import RequestRefused

PAGE = Path(__file__).with_name("page")
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


def router() -> APIRouter:
    """The routes of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page() -> Response:
        return _file("index.html")

    @routes.get("/docs")
    async def docs() -> Response:
        return _file("docs.html")

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
