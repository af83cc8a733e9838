"""Long calls into a solver's library that Ctrl-C can end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["interruptible"]

T = TypeVar("T")
# Seconds between two looks at whether the call has ended.
_TICK = 0.1


def interruptible(call: Callable[[], T], stop: Callable[[], None]) -> T:
    """What `call` returns; on Ctrl-C `stop` is called, and KeyboardInterrupt raised once `call` has ended.

    Python handles signals between its own instructions in the main thread, which a library holds up until
    it returns. So the call is made in a thread, and the main thread waits.

    Parameters
    ----------
    call : callable
        It must release the interpreter's lock.
    stop : callable
        Makes `call` end soon; it is called from another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_TICK)
    except KeyboardInterrupt:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
