"""Ctrl-C and SIGTERM: a run that is asked to stop does so at a place from which it can be resumed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = signal.SIGINT, signal.SIGTERM


class Stopped(KeyboardInterrupt):
    """A run has stopped because it was asked to; its checkpoint is written."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"stopped at step {step:,}")
        self.signal, self.step = number, step


class StopRequest:
    """Whether the run has been asked to stop, and by which signal."""

    signal: int = 0

    def note(self, number: int, _: FrameType | None) -> None:
        """Note a signal; a second Ctrl-C does not wait for the run."""
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Note signals instead of ending at once; only the main thread can, so elsewhere nothing changes."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.note) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
