"""The parts of asyncio and grpc.aio that AsyncClient uses. blocking_transport has the same names for Client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

from crdeval.calls import CHANNEL_OPTIONS, Source, several
from crdeval.documents import Text, Write
from crdeval.errors import CrdevalError

Writes = AsyncIterable["Text | Write"] | Iterable["Text | Write"]

sleep = asyncio.sleep


def connect(target: str, tls: bool | grpc.ChannelCredentials) -> grpc.aio.Channel:
    """Returns a channel."""
    if not tls:
        return grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
    credentials = grpc.ssl_channel_credentials() if tls is True else tls
    return grpc.aio.secure_channel(target, credentials, options=CHANNEL_OPTIONS)


async def each(writes: Writes) -> AsyncIterator[Text | Write]:
    """Yields the writes of a stream."""
    if isinstance(writes, AsyncIterable):
        async for write in writes:
            yield write
    else:
        for write in several(writes):
            yield write


async def messages(call: Any, source: Source) -> AsyncIterator[Any]:
    """Yields the messages of a stream, and cancels it at the end.

    Raises the error of the source, or a CrdevalError for an error of gRPC.
    """
    statuses = _Statuses(call)
    try:
        async for message in call:
            yield message
    except asyncio.CancelledError:
        if source.error is not None:  # gRPC has cancelled the call
            raise source.error from None
        raise
    except grpc.aio.AioRpcError as error:
        if source.error is not None:
            raise source.error from None
        raise CrdevalError.of(await statuses.sent(error)) from error
    finally:
        call.cancel()  # no effect on a call that has ended


class _Statuses:
    """The statuses of one stream.

    If the server ends a stream during a write, grpc.aio replaces the status of the server by one of its own
    (grpc/grpc#36066). The callbacks of the call see both, in any order.
    """

    def __init__(self, call: Any):
        self._seen: list[grpc.aio.AioRpcError] = []
        self._of_server = asyncio.Event()
        call.add_done_callback(self._add)

    async def sent(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """Returns the status of the server for the error of a stream, and the error itself if there is none."""
        if _from_write(error):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._of_server.wait(), _STATUS_TIMEOUT)
        return next((status for status in self._seen if not _from_write(status)), error)

    def _add(self, call: Any) -> None:
        code, details = _result(call.code()), _result(call.details())
        trailing = _result(call.trailing_metadata())
        self._seen.append(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details))
        if not _from_write(self._seen[-1]):
            self._of_server.set()


_STATUS_TIMEOUT = 5.0
"""Seconds to wait for the status of the server after a failed write."""


def _from_write(status: grpc.aio.AioRpcError) -> bool:
    """Returns whether grpc.aio gave a stream this status because a write failed."""
    return status.code() is grpc.StatusCode.INTERNAL and status.details() == "Internal error from Core"


def _result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Returns the result of a coroutine that need not wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("the call has no status")
