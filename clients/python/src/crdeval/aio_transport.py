"""The parts of asyncio and grpc.aio that AsyncClient uses. blocking_transport has the same names for Client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
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
    try:
        async for message in call:
            yield message
    except asyncio.CancelledError:
        if source.error is not None:  # gRPC has cancelled the call
            raise source.error from None
        raise
    except grpc.RpcError as error:
        if source.error is not None:
            raise source.error from None
        raise CrdevalError.of(error) from error
    finally:
        call.cancel()  # no effect on a call that has ended
