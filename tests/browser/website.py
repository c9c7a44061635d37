"""A website of somebody else, on a port of its own, whose pages hold the bubble."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEAD = '<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>Shop</title>'
BODY = (
    '{head}</head><body><main><h1>Shop</h1><p><a href="/other">Other page</a></p>{extra}</main></body></html>'
)


class Website:
    """Pages by their paths, and what each forbids. `origin`: the website's own."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self._pages: dict[str, tuple[str, str, str]] = {}

    def put_page(self, path: str, head: str, *, policy: str = "", extra: str = "", lang: str = "en") -> str:
        """Put a page at a path; return its address. `policy`: its Content-Security-Policy."""
        text = BODY.format(head=HEAD.format(lang=lang) + head, extra=extra)
        return self._put(path, "text/html; charset=utf-8", text, policy)

    def put_script(self, path: str, text: str) -> str:
        """Put a script at a path; return its address."""
        return self._put(path, "text/javascript", text, "")

    def find(self, path: str) -> tuple[str, str, str]:
        """Return the type, the text and the policy of a path."""
        return self._pages.get(path, ("text/html", "<!doctype html><title>None</title>", ""))

    def _put(self, path: str, kind: str, text: str, policy: str) -> str:
        self._pages[path] = (kind, text, policy)
        return self.origin + path


@contextmanager
def serve_website() -> Iterator[Website]:
    """Serve a website for the time of a block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text, policy = site.find(self.path)
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Website(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
