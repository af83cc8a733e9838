"""A headless Chromium for tests, driven through its own driver, without a network."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Page", "Show", "browser", "missing"]

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--window-size=1360,900",
)


def missing() -> str:
    """What keeps a browser from being started here, empty if nothing does."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"no {program} here: apt-get install {package}"
    return ""


class Page:
    """A page in the browser, with what the viewer's tests do to it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path) -> None:
        self.driver.get(file.as_uri())
        self.settle()

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def settle(self) -> None:
        """Wait until the frame that a change asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def key(self, *names: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        chain = ActionChains(self.driver, duration=0)
        for name in names:
            chain.send_keys(getattr(Keys, name) if len(name) > 1 else name)
        chain.perform()
        self.settle()

    def click(self, element_id: str) -> None:
        self.driver.find_element("id", element_id).click()
        self.settle()

    def tool(self, name: str) -> None:
        self.driver.find_element("css selector", f"[data-tool='{name}']").click()

    def point(self, v: int, *, click: bool = False) -> None:
        """Move the pointer onto a vertex, and click."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        x, y = self.run("return pebbling.at(arguments[0])", v)
        actions = ActionBuilder(self.driver, duration=0)
        actions.pointer_action.move_to_location(round(x), round(y))
        if click:
            actions.pointer_action.click()
        actions.perform()
        self.settle()

    def text(self, element_id: str) -> str:
        return str(self.driver.find_element("id", element_id).text)

    def shown(self, element_id: str) -> bool:
        return bool(self.driver.find_element("id", element_id).is_displayed())

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.run("return pebbling.state()")
        return state

    def complaints(self) -> list[str]:
        """What the console holds since it was last asked: errors, refused requests, warnings."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]


# Opens a page given as HTML.
Show = Callable[[str], Page]


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with a profile of its own, closed at the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
        try:
            driver.set_script_timeout(20)
            yield Page(driver)
        finally:
            driver.quit()
