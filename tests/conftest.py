"""Fixtures that several test files share: a browser, and pages opened in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browsers import Page, Show, browser, missing


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A headless browser for a test file; the test is skipped where none can be started."""
    if missing():
        pytest.skip(f"the viewer's browser tests are skipped: {missing()}")
    with browser() as started:
        yield started


@pytest.fixture
def show(page: Page, tmp_path: Path) -> Iterator[Show]:
    """Opens a page given as HTML; at the end of the test the console must be empty."""

    def load(html: str) -> Page:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        page.open(file)
        return page

    yield load
    assert page.complaints() == []
