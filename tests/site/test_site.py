"""The documentation in a browser: accessible, as wide as its window, with a search and without dead links.

`tox -e site` builds the pages, serves them to Chromium, and leaves pictures of them in `build/site/pictures`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/site"
# A phone in dark colours and a desktop in light ones: both palettes, both layouts.
WINDOWS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True},
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
}
PICTURED = "index tutorial install kernels language graphs profiling platforms api/vyre cli".split()
WIDTH = """() => [document.scrollingElement.scrollWidth, document.documentElement.clientWidth]"""
LINKS = """() => [...document.querySelectorAll("a[href], link, img, script[src]")].map(e => e.href || e.src)"""
NAMES = """() => [...document.querySelectorAll("[id]")].map(e => e.id)"""


@pytest.fixture(scope="module")
def pages() -> list[str]:
    """Build the site, and name its pages."""
    shutil.rmtree(SITE, ignore_errors=True)
    html = SITE / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html"]
    subprocess.run([*command, "-d", SITE / "doctrees", ROOT / "docs", html], check=True)
    return sorted(file.relative_to(html).as_posix() for file in html.glob("**/*.html"))


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that writes no log."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(pages: list[str]) -> Iterator[str]:
    """Serve the site on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE / "html")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start the installed Chromium, or the one that Playwright brought."""
    api = pytest.importorskip("playwright.sync_api", reason="`tox -e site` has it")
    installed = shutil.which("chromium") or shutil.which("google-chrome")
    unboxed = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # root has no sandbox
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed, args=unboxed)
        yield browser
        browser.close()


@pytest.fixture(params=WINDOWS)
def window(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open a window."""
    context = chromium.new_context(**WINDOWS[request.param])
    page = context.new_page()
    page.window = request.param
    yield page
    context.close()


def test_no_page_is_wider_than_its_window(window: Any, address: str, pages: list[str]) -> None:
    wide = []
    for page in pages:
        window.goto(address + page)
        content, width = window.evaluate(WIDTH)
        if content > width:
            wide.append(f"{page}: {content} px of {width}")
    assert wide == []


def test_no_page_violates_a_rule_of_axe(window: Any, address: str, pages: list[str]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = []
    for page in pages:
        window.goto(address + page)
        for violation in axe.run(window).response["violations"]:
            nodes = violation["nodes"]
            found.append(f"{page}: {violation['id']}, {len(nodes)} times: {violation['help']}: {nodes[0]['html']}")
    assert found == []


def test_every_page_draws_itself_without_an_error(window: Any, address: str, pages: list[str]) -> None:
    errors: list[str] = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.on("requestfailed", lambda request: errors.append(request.url))
    window.on("response", lambda response: None if response.ok else errors.append(response.url))
    folder = SITE / "pictures" / window.window
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        window.goto(address + page)
        if page.removesuffix(".html") in PICTURED:
            window.screenshot(path=folder / f"{page.removesuffix('.html').replace('/', '-')}.png")
    assert errors == []


def test_the_search_finds_kernels(window: Any, address: str) -> None:
    window.goto(address + "search.html?q=kernel")
    window.wait_for_selector("#search-results ul.search li a")
    window.wait_for_function("document.querySelector('.search-summary').innerText.includes('found')")
    found = window.evaluate("() => [...document.querySelectorAll('ul.search li > a')].map(a => a.href)")
    assert any(urldefrag(link).url.endswith("/kernels.html") for link in found[:10]), found


def test_every_internal_link_leads_somewhere(chromium: Any, address: str, pages: list[str]) -> None:
    window = chromium.new_page()
    names, links = {}, {}
    for page in pages:
        window.goto(address + page)
        names[address + page] = set(window.evaluate(NAMES))
        links[page] = {link for link in window.evaluate(LINKS) if link.startswith(address)}
    window.close()
    dead = []
    for page, targets in links.items():
        for target in targets:
            url, name = urldefrag(target)
            file = SITE / "html" / unquote(url.removeprefix(address).partition("?")[0] or "index.html")
            if not file.is_file() or (name and file.suffix == ".html" and unquote(name) not in names[url]):
                dead.append(f"{page}: {target.removeprefix(address)}")
    assert len(pages) > 50
    assert sum(map(len, links.values())) > 1000
    assert dead == []
