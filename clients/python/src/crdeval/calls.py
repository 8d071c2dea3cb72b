"""The requests of Client and AsyncClient.

A method is a generator: it yields a Call or a Pause, gets the response, and returns its result. The clients differ only
in how they perform these steps.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from crdeval import results
from crdeval.documents import Document, Text, Write, to_proto
from crdeval.errors import CrdevalError, CrdRejectedError
from crdeval.registry import ENTRIES_AT_ONCE
from crdeval.results import Crd, Registered, Registration, Result, Transformed, Verdict
from crdeval.v1 import document_pb2, evaluation_pb2, registry_pb2, server_pb2

MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of a response: the default limit of a server. The default of gRPC is 4 MiB."""

PAGE_SIZE = 1000

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


@dataclass(frozen=True, slots=True)
class Call:
    """A unary call of a method of a service."""

    service: str
    method: str
    request: Message
    timeout: float


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait before the next attempt."""

    seconds: float


Steps = Generator["Call | Pause", Any, R]


class Calls:
    """The requests for one catalog. It keeps the token of the latest write and the limits of the server."""

    def __init__(self, catalog: str, timeout: float, retries: RetryPolicy):
        if timeout <= 0:
            raise ValueError(f"the timeout is {timeout}: it must be positive")
        self.catalog, self.timeout, self.retries = catalog, timeout, retries
        self.token = ""
        self._limits: server_pb2.ServerLimits | None = None

    def end(self, timeout: float | None) -> float:
        """Returns when a method must end."""
        seconds = self.timeout if timeout is None else timeout
        if seconds <= 0:
            raise ValueError(f"the timeout is {seconds}: it must be positive")
        return time.monotonic() + seconds

    def call(self, service: str, method: str, request: Message, end: float) -> Steps[Any]:
        """Makes a unary call, repeats it while the server is overloaded, and keeps the token of a write."""
        attempt = 0
        while True:
            attempt += 1
            try:
                response = yield Call(service, method, request, max(end - time.monotonic(), 1e-6))
            except grpc.RpcError as e:
                error = CrdevalError.of(e)
                pause = self.retries.pause(attempt, error)
                if not error.overloaded or attempt >= self.retries.max_attempts or end - time.monotonic() <= pause:
                    raise error from e
                yield Pause(pause)
                continue
            self.token = getattr(response, "token", "") or self.token
            return response

    def limits(self, end: float) -> Steps[server_pb2.ServerLimits]:
        """Returns the limits of the server. Requests them once."""
        if self._limits is None:
            info = yield from self.call("Server", "GetServerInfo", server_pb2.GetServerInfoRequest(), end)
            self._limits = info.limits
        return self._limits

    def validate(
        self, writes: Iterable[Text | Write], timeout: float | None, **fields: Any
    ) -> Steps[list[Result[Verdict]]]:
        """Calls Validate."""
        request = evaluation_pb2.ValidateRequest(**self.common(fields))
        return self._batches("Evaluation", "Validate", request, "items", items(writes), results.verdict, timeout)

    def admit(
        self, writes: Iterable[Text | Write], timeout: float | None, **fields: Any
    ) -> Steps[list[Result[Verdict]]]:
        """Calls Admit."""
        request = evaluation_pb2.AdmitRequest(**self.common(fields))
        return self._batches("Evaluation", "Admit", request, "items", items(writes), results.verdict, timeout)

    def transform(
        self, method: str, kind: type[Message], objects: Iterable[Text | Write], timeout: float | None, **fields: Any
    ) -> Steps[list[Result[Transformed]]]:
        """Calls Prune, Default, Read or Convert."""
        request = kind(**self.common(fields))
        return self._batches("Evaluation", method, request, "items", items(objects), results.transformed, timeout)

    def convert(
        self, version: str, objects: Iterable[Text | Write], timeout: float | None, **fields: Any
    ) -> Steps[list[Result[Transformed]]]:
        """Calls Convert."""
        if not version:
            raise ValueError("the version to convert to is missing")
        kind = evaluation_pb2.ConvertRequest
        return self.transform("Convert", kind, objects, timeout, target_version=version, **fields)

    def register(self, manifest: Text, timeout: float | None) -> Steps[Registration]:
        """Calls RegisterCrd."""
        request = registry_pb2.RegisterCrdRequest(catalog=self.catalog, manifest=to_proto(manifest))
        response = yield from self.call("Registry", "RegisterCrd", request, self.end(timeout))
        registration = results.registration(response)
        if not registration.accepted:
            raise CrdRejectedError(registration)
        return registration

    def register_all(self, manifests: Iterable[Text], timeout: float | None) -> Steps[list[Registered]]:
        """Calls RegisterCrds."""
        entries = [registry_pb2.RegisterCrdsEntry(manifest=to_proto(m)) for m in several(manifests)]
        request = registry_pb2.RegisterCrdsRequest(catalog=self.catalog)
        return self._batches("Registry", "RegisterCrds", request, "entries", entries, results.registered, timeout)

    def check(self, manifest: Text, timeout: float | None) -> Steps[Registration]:
        """Calls CheckCrd."""
        request = registry_pb2.CheckCrdRequest(
            catalog=self.catalog, manifest=to_proto(manifest), at_least=self.token
        )
        response = yield from self.call("Registry", "CheckCrd", request, self.end(timeout))
        return results.registration(response)

    def get_crd(self, crd: str, timeout: float | None) -> Steps[Crd]:
        """Calls GetCrd."""
        request = registry_pb2.GetCrdRequest(catalog=self.catalog, crd=crd, at_least=self.token)
        response = yield from self.call("Registry", "GetCrd", request, self.end(timeout))
        return results.crd(response.crd)

    def list_crds(self, timeout: float | None) -> Steps[list[Crd]]:
        """Calls ListCrds for each page."""
        end, page, all_crds = self.end(timeout), "", []
        while True:
            request = registry_pb2.ListCrdsRequest(
                catalog=self.catalog, page_size=PAGE_SIZE, page_token=page, at_least=self.token
            )
            response = yield from self.call("Registry", "ListCrds", request, end)
            all_crds += [results.crd(c) for c in response.crds]
            page = response.next_page_token
            if not page:
                return all_crds

    def delete_crd(self, crd: str, timeout: float | None) -> Steps[None]:
        """Calls DeleteCrd."""
        request = registry_pb2.DeleteCrdRequest(catalog=self.catalog, crd=crd)
        yield from self.call("Registry", "DeleteCrd", request, self.end(timeout))

    def common(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the fields of an evaluation request."""
        crds = [to_proto(crd) for crd in several(fields.get("crds", ()))]
        return {**fields, "crds": crds, "catalog": self.catalog, "at_least": self.token}

    def _batches(
        self,
        service: str,
        method: str,
        head: Message,
        field: str,
        elements: Sequence[Message],
        convert: Callable[[Any], R],
        timeout: float | None,
    ) -> Steps[list[R]]:
        """Sends elements in as many requests as needed, one after the other. Returns a result for each."""
        end, sent, all_results = self.end(timeout), 0, []
        while sent < len(elements):
            stop = 1
            if len(elements) > 1:
                limits = yield from self.limits(end)
                most = limits.max_batch_items
                if field == "entries":
                    most = min(ENTRIES_AT_ONCE, limits.max_register_crds or ENTRIES_AT_ONCE)
                # Half of a message, because the response can be larger than the request.
                stop = batch_end(elements, sent, most, limits.max_message_bytes // 2 - head.ByteSize())
            part = type(head)(**{field: elements[sent:stop]})
            part.MergeFrom(head)
            response = yield from self.call(service, method, part, end)
            if len(response.results) != stop - sent:
                got = len(response.results)
                raise RuntimeError(f"{method}: the server sent {got} results for {stop - sent} objects")
            all_results += [convert(r) for r in response.results]
            sent = stop
        return all_results


def several(values: Iterable[R]) -> Iterable[R]:
    """Returns the values. Raises TypeError for one document, whose characters or keys would be taken as documents."""
    if isinstance(values, (str, bytes, Document, Mapping, Write)):
        raise TypeError(f"give a list of documents, not one {type(values).__name__}")
    return values


def items(writes: Iterable[Text | Write]) -> list[evaluation_pb2.EvaluationItem]:
    """Returns the items of writes. A document is the creation of its object."""
    return [item(w) for w in several(writes)]


def item(write: Text | Write) -> evaluation_pb2.EvaluationItem:
    """Returns the item of a write."""
    return write.item() if isinstance(write, Write) else evaluation_pb2.EvaluationItem(object=to_proto(write))


class Source:
    """The items of a stream. `error` is the error that ended the iterator. gRPC replaces it by an error of its own."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def items(self, writes: Iterable[Text | Write]) -> Iterator[evaluation_pb2.EvaluationItem]:
        """Yields the items of writes."""
        try:
            for write in writes:
                yield item(write)
        except Exception as error:
            self.error = error
            raise


def batch_end(elements: Sequence[Message], start: int, most: int, capacity: int) -> int:
    """Returns the end of a batch: at least one element, otherwise at most `most` with `capacity` bytes."""
    end = start
    while end < len(elements):
        capacity -= elements[end].ByteSize()
        if end > start and (end - start >= most or capacity < 0):
            break
        end += 1
    return end


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
    """Returns the metadata of every call. Raises ValueError if a token would cross the network in plain text."""
    if not token:
        return ()
    if isinstance(target, str) and not tls and not on_this_host(target):
        raise ValueError(f"{target}: the token would cross the network in plain text: give tls=True too")
    return (("authorization", f"Bearer {token}"),)


CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # They detect a lost server on an idle connection, such as that of a watch.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)
