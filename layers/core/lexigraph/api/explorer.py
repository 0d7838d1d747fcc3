"""The explorer: the built page, its files as they are, and its start for every address below ``/explorer/``.

The page holds nothing secret, so it needs no key; what it asks for does. It is strict about itself: nothing from elsewhere,
no inline script or style, no frame around it. Its sources are in ``web/``; ``make web`` puts the built files here.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from lexigraph.api.access.auth import EXPLORER
from lexigraph.api.startup import PAGE

_ASSETS = "assets"  # files whose names tell what is in them
# how names of files of a page end; no address of the page does
_FILES = frozenset(".css .ico .js .json .map .mjs .png .svg .wasm .webmanifest .woff .woff2".split())
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Lexigraph</title></head>
<body><h1>The page is not built</h1>
<p>Run <code>make web</code> in the folder of the project, then load this page again.
The API itself is there: see <a href="/docs">its documentation</a>.</p></body></html>
"""
_NO_FILE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Lexigraph</title></head><body>There is no such file.</body></html>
"""


class Page(StaticFiles):
    """The files of a built page. Whatever is none of them, nor named like one, is an address of the page: its start."""

    async def check_config(self) -> None:
        """Find nothing wrong: the folder may come while the server runs."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or the start of the page; 404 for a file that is not there, and before the first build."""
        try:
            reply = await self._found(path, scope)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            reply = HTMLResponse(_NO_FILE if self._has("index.html") else _NOT_BUILT, 404)
        reply.headers.update(_HEADERS)
        return reply

    async def _found(self, path: str, scope: Scope) -> Response:
        kept = PurePosixPath(path).parts[:1] == (_ASSETS,)
        file = kept or self._has(path) or PurePosixPath(path).suffix.lower() in _FILES
        reply = await super().get_response(path if file else "index.html", scope)
        reply.headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-cache"
        return reply

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file, tagged by what is in it: in a layer all files have one time, and every start one size."""
        reply = FileResponse(full_path, status_code=status_code, stat_result=stat_result)
        reply.headers["ETag"] = f'"{sha256(Path(full_path).read_bytes()).hexdigest()[:32]}"'
        if self.is_not_modified(reply.headers, Headers(scope=scope)):
            return NotModifiedResponse(reply.headers)
        return reply

    def _has(self, path: str) -> bool:
        with suppress(OSError, ValueError):  # an address of the page may be longer than a path, or be none
            found = self.lookup_path(path)[1]
            return found is not None and S_ISREG(found.st_mode)
        return False


def add_explorer(app: FastAPI, folder: Path = PAGE) -> None:
    """Give the application the page at ``/explorer/``; browsers that come to ``/`` are sent there, others to ``/docs``.

    It leads there by relative addresses: a gateway may have all of this below a path of its own.
    """

    @app.get("/", include_in_schema=False)
    def start(request: Request) -> RedirectResponse:
        page = "text/html" in request.headers.get("accept", "")
        return RedirectResponse(f"{EXPLORER[1:]}/" if page else "docs", headers={"Vary": "Accept"})

    @app.get(EXPLORER, include_in_schema=False)
    def page() -> RedirectResponse:
        return RedirectResponse(f"{EXPLORER[1:]}/")

    app.mount(EXPLORER, Page(directory=folder, check_dir=False), name="explorer")
