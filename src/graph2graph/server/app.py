"""The FastAPI app: all routes, the files of the page, and every error as one clear sentence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.exceptions import HTTPException

from graph2graph import __version__
from graph2graph.errors import DataError
from graph2graph.server import json_api, udpipe_api
from graph2graph.server.limits import RequestRefused
from graph2graph.server.service import Service

PAGE = Path(__file__).with_name("page")
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


def create_app(service: Service) -> FastAPI:
    """The app, with all its routes."""
    description = (
        "The Graph2Graph Transformer dependency parser as a service. Errors are JSON: one sentence in the field detail."
    )
    app = FastAPI(
        title="graph2graph",
        version=__version__,
        description=description,
        lifespan=lambda _: service.running(),
        docs_url=None,  # FastAPI's own pages load scripts from the network
        redoc_url=None,
    )
    for routes in (udpipe_api.router(service), json_api.router(service)):
        app.include_router(routes)
    _add_status(app, service)
    _add_page(app)
    _add_errors(app)
    return app


def _add_status(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["State"], summary="Whether new requests are accepted")
    async def health() -> JSONResponse:
        status = "stopping" if service.is_stopping else "ok"
        content = {"status": status, "version": __version__, "models": list(service.models.by_name)}
        return JSONResponse(content, status_code=503 if service.is_stopping else 200)

    @app.get("/metrics", tags=["State"], summary="Counters for Prometheus")
    async def counters() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return _file("index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return _file("docs.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        return _file(name)


def _file(name: str) -> Response:
    """A file of the page. Names are looked up in the directory listing, so none can lead out of the directory."""
    path = next((path for path in PAGE.iterdir() if path.name == name), None)
    if path is None or path.suffix not in TYPES:
        raise RequestRefused(404, f"the page has no file {name!a}")
    return FileResponse(path, media_type=TYPES[path.suffix], headers=HEADERS)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestRefused)
    async def refused(_: Request, error: RequestRefused) -> JSONResponse:
        return error.response()

    @app.exception_handler(DataError)
    async def bad_data(_: Request, error: DataError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=400)

    @app.exception_handler(RequestValidationError)
    async def bad_request(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": _sentence(error.errors())}, status_code=422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        known = {
            404: f"no such path: {request.url.path}; /docs lists them",
            405: f"{request.url.path} does not accept {request.method}; see /docs",
        }
        detail = known.get(error.status_code, str(error.detail))
        return JSONResponse({"detail": detail}, status_code=error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> JSONResponse:  # raised again, and logged by Admission
        return JSONResponse({"detail": "the server failed on this request; its log says why"}, status_code=500)


def _sentence(errors: Sequence[Any]) -> str:
    """All errors of the first invalid field, in one sentence."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"not JSON: {first['ctx']['error']} at character {first['loc'][-1]}"
    if first["type"] in ("model_attributes_type", "missing") and first["loc"] == ("body",):
        return "expected a JSON object, sent with Content-Type: application/json"
    field = first["loc"][1:2]
    of_field = [error for error in errors if error["loc"][1:2] == field]
    messages = dict.fromkeys(error["msg"].removeprefix("Value error, ") for error in of_field)
    text = ", or ".join(message[0].lower() + message[1:] for message in messages)
    path = ".".join(map(str, first["loc"][1:] if len(messages) == 1 else field))
    return f"{path}: {text}" if path else text
