"""Repeats calls that an overloaded server rejects.

    from crdeval import retries

    channel = retries.with_retries(grpc.insecure_channel("localhost:9090"))

A call that is rejected with OVERLOADED had no effect, so every unary call can be repeated. Streams, and calls made with
`future`, are not repeated.
"""

import random
import time
from collections import namedtuple
from typing import Any

import grpc

from crdeval.errors import CrdevalError

MAX_ATTEMPTS = 5
"""Attempts of a call, including the first."""

FIRST_PAUSE, MAX_PAUSE = 0.1, 10.0
"""Seconds before the second attempt, and at most before any. The pause doubles each time. Half of it is random."""


def with_retries(
    channel: grpc.Channel,
    *,
    max_attempts: int = MAX_ATTEMPTS,
    first_pause: float = FIRST_PAUSE,
    max_pause: float = MAX_PAUSE,
) -> grpc.Channel:
    """Returns a channel that repeats unary calls rejected with OVERLOADED.

    It never repeats a call before the retry delay that the server gives. If the pause would exceed the `timeout` of the
    call, which applies to all attempts together, the call raises the error of the last attempt. Other errors are not
    repeated.
    """
    if max_attempts < 1:
        raise ValueError(f"max_attempts is {max_attempts}: it is at least 1")
    return grpc.intercept_channel(channel, _Retries(max_attempts, first_pause, max_pause))


def retry_delay(error: Any) -> float | None:
    """Returns the seconds after which an OVERLOADED call can be repeated. None for another error."""
    found = CrdevalError.of(error)
    return (found.retry_delay or 0.0) if found.overloaded else None


class _Details(
    namedtuple("_Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")),
    grpc.ClientCallDetails,
):
    pass


class _Retries(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, max_attempts: int, first_pause: float, max_pause: float):
        self._max_attempts, self._first_pause, self._max_pause = max_attempts, first_pause, max_pause

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        end = None if client_call_details.timeout is None else time.monotonic() + client_call_details.timeout
        details, pause = client_call_details, self._first_pause
        for attempt in range(1, self._max_attempts + 1):
            call = continuation(details, request)
            if attempt == self._max_attempts or not call.done():
                return call
            delay = retry_delay(call)
            if delay is None:
                return call
            wait = max(pause / 2 + random.random() * pause / 2, delay)
            if end is not None:
                left = end - time.monotonic() - wait
                if left <= 0:
                    return call
                details = _Details(*(getattr(details, field, None) for field in _Details._fields))._replace(timeout=left)
            time.sleep(wait)
            pause = min(2 * pause, self._max_pause)
        raise AssertionError("unreachable")
