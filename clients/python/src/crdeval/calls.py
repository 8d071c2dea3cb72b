"""What Client and AsyncClient share: retries, batches, and the settings of connections."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from crdeval.documents import Document, Text, Write, to_proto
from crdeval.errors import CrdevalError
from crdeval.registry import ENTRIES_AT_ONCE
from crdeval.v1 import evaluation_pb2, registry_pb2, server_pb2

MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of a response: the default limit of a server. The default of gRPC is 4 MiB."""

PAGE_SIZE = 1000
"""CRDs in one page of a list."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How calls are repeated that the server rejects with OVERLOADED. Such calls had no effect.

    The client makes `max_attempts` attempts, including the first. The pause doubles from `first_pause` to `max_pause`
    seconds, and half of it is random. It is at least the delay of the server. If it would exceed the timeout, the call
    fails. Streams are not repeated.
    """

    max_attempts: int = 5
    first_pause: float = 0.1
    max_pause: float = 10.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}: it is at least 1")
        if not 0 <= self.first_pause <= self.max_pause:
            raise ValueError(f"the pauses are {self.first_pause} and {self.max_pause}: 0 <= first_pause <= max_pause")

    def pause(self, attempt: int, error: CrdevalError) -> float:
        """Returns the seconds to wait after an attempt, counted from 1."""
        pause: float = min(self.first_pause * 2.0 ** (attempt - 1), self.max_pause)
        return max(pause / 2 + random.random() * pause / 2, error.retry_delay or 0.0)


def several(values: Iterable[R]) -> Iterable[R]:
    """Returns the values. Raises TypeError for one document, whose characters or keys would be taken as documents."""
    if isinstance(values, (str, bytes, Document, Mapping, Write)):
        raise TypeError(f"give a list of documents, not one {type(values).__name__}")
    return values


def write_item(write: Text | Write) -> evaluation_pb2.WriteItem:
    """Returns the item of a write. A document is the creation of its object."""
    if isinstance(write, Write):
        return write.item()
    return evaluation_pb2.WriteItem(create=evaluation_pb2.Create(object=to_proto(write)))


def object_item(value: Text | Write) -> evaluation_pb2.ObjectItem:
    """Returns the item of an object that a call transforms."""
    if isinstance(value, Write):
        raise TypeError("the call transforms objects: give a document, not a Write")
    return evaluation_pb2.ObjectItem(object=to_proto(value))


class Source:
    """The items of a stream. `error` is the error that ended the iterator. gRPC replaces it by an error of its own."""

    def __init__(self) -> None:
        self.error: Exception | None = None


def positive(timeout: float) -> float:
    """Returns a timeout in seconds. Raises ValueError unless it is positive."""
    if not timeout > 0:
        raise ValueError(f"the timeout is {timeout}: it must be positive")
    return timeout


def remaining(end: float) -> float:
    """Returns the timeout of a call that must end at a time of time.monotonic. gRPC takes no infinite timeout."""
    return min(max(end - time.monotonic(), 1e-6), 1e9)


def batch_end(elements: Sequence[Message], start: int, limits: server_pb2.ServerLimits, head: Message) -> int:
    """Returns the end of the batch that begins at `start`: at least one element, and otherwise within the limits.

    `head` is the request without elements.
    """
    most = limits.max_batch_items
    if isinstance(elements[0], registry_pb2.RegisterCrdsEntry):
        most = min(ENTRIES_AT_ONCE, limits.max_register_crds or ENTRIES_AT_ONCE)
    # Half of a message, because the response can be larger than the request.
    capacity = limits.max_message_bytes // 2 - head.ByteSize()
    end = start
    while end < len(elements):
        capacity -= elements[end].ByteSize() + 6  # at most, for the tag and the length
        if end > start and (end - start >= most or capacity < 0):
            break
        end += 1
    return end


def check_target(target: str) -> None:
    """Raises ValueError unless a target has a port, or a scheme other than http and https."""
    with_port = re.fullmatch(r"([^:/\[\]]+|\[.+\]):(\d+)", target, re.ASCII)
    with_scheme = re.match(r"[a-z][a-z0-9+.-]*:.", target) and not target.startswith(("http://", "https://"))
    if with_port and int(with_port[2]) > 65535:  # gRPC would connect to another port
        raise ValueError(f'the port of the address "{target}" is not from 0 to 65535')
    if not with_port and not with_scheme:
        raise ValueError(f'the address "{target}" is not HOST:PORT or unix:PATH: use the gRPC address of the server')


def on_this_host(target: str) -> bool:
    """Reports whether traffic to a target stays on this host."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    host = target.removeprefix("dns:///").removeprefix("ipv4:").removeprefix("ipv6:")
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    numbers = host.split(".")
    local = len(numbers) == 4 and numbers[0] == "127" and all(n.isdecimal() for n in numbers)
    return local or host in ("localhost", "::1")


def metadata(target: object, token: str, tls: object) -> tuple[tuple[str, str], ...]:
    """Returns the metadata of every call. Raises ValueError for a wrong address, and for a token in plain text."""
    if isinstance(target, str):
        check_target(target)
    if not token:
        return ()
    if not re.fullmatch("[ -~]+", token):
        raise ValueError("the token has a character that is not printable ASCII, such as a line feed")
    if isinstance(target, str) and not tls and not on_this_host(target):
        raise ValueError(f"{target}: the token would cross the network in plain text: give tls=True too")
    return (("authorization", f"Bearer {token}"),)


CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # They detect a lost server on an idle connection, such as that of a watch.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)
