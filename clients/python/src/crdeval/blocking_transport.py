"""The parts of gRPC that Client uses. aio_transport has the same names for AsyncClient."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from crdeval.calls import CHANNEL_OPTIONS, Source, several
from crdeval.documents import Text, Write
from crdeval.errors import CrdevalError

Writes = Iterable["Text | Write"]

sleep = time.sleep


def connect(target: str, tls: bool | grpc.ChannelCredentials) -> grpc.Channel:
    """Returns a channel."""
    if not tls:
        return grpc.insecure_channel(target, options=CHANNEL_OPTIONS)
    credentials = grpc.ssl_channel_credentials() if tls is True else tls
    return grpc.secure_channel(target, credentials, options=CHANNEL_OPTIONS)


def each(writes: Writes) -> Iterator[Text | Write]:
    """Yields the writes of a stream."""
    yield from several(writes)


def messages(call: Any, source: Source) -> Iterator[Any]:
    """Yields the messages of a stream, and cancels it at the end.

    Raises the error of the source, or a CrdevalError for an error of gRPC.
    """
    try:
        yield from call
    except grpc.RpcError as error:
        if source.error is not None:
            raise source.error from None
        raise CrdevalError.of(error) from error
    finally:
        call.cancel()  # no effect on a call that has ended
