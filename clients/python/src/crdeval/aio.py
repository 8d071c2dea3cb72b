"""The client for asyncio. crdeval.client is generated from this file: run `python generate.py` after a change."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar

import grpc.aio
from google.protobuf.message import Message
from google.rpc import status_pb2

from crdeval import aio_transport as transport
from crdeval import registry, results, streams
from crdeval.calls import (
    PAGE_SIZE,
    RetryPolicy,
    Source,
    batch_end,
    metadata,
    object_item,
    positive,
    remaining,
    several,
    write_item,
)
from crdeval.documents import Text, Write, to_proto
from crdeval.errors import CrdevalError, CrdRejectedError
from crdeval.results import Crd, CrdEvent, Registered, Registration, Result, Transformed, Verdict
from crdeval.v1 import (
    evaluation_pb2,
    evaluation_pb2_grpc,
    registry_pb2,
    registry_pb2_grpc,
    server_pb2,
    server_pb2_grpc,
)

R = TypeVar("R")


class AsyncClient:
    """Calls a crdeval service for one catalog, with asyncio.

    `target` is "localhost:9090" or "unix:///run/crdeval/grpc.sock", or a channel, which stays open. `token` is a bearer
    token. `tls` is True, or credentials of gRPC. `timeout` bounds each method in seconds, including all requests and
    retries. It does not apply to streams and watches. `timeout` of a method replaces it.

    Methods with many objects send as many requests as the limits of the server need. Result i belongs to object i. If a
    request fails, they raise a CrdevalError with the results of the earlier requests.
    """

    def __init__(
        self,
        target: str | grpc.aio.Channel,
        *,
        catalog: str = "default",
        token: str = "",
        tls: bool | grpc.ChannelCredentials = False,
        timeout: float = 60,
        retries: RetryPolicy = RetryPolicy(),
    ):
        self._metadata = metadata(target, token, tls)
        self._catalog, self._timeout, self._retries = catalog, positive(timeout), retries
        self._limits: server_pb2.ServerLimits | None = None
        self.token = ""
        """The token of the latest write. Set it to make later calls see the write of another client."""
        self._owned = isinstance(target, str)
        self.channel = transport.connect(target, tls) if isinstance(target, str) else target
        # The stubs have types for blocking channels only.
        self._evaluation: Any = evaluation_pb2_grpc.EvaluationServiceStub(self.channel)
        self._registry: Any = registry_pb2_grpc.RegistryServiceStub(self.channel)
        self._server: Any = server_pb2_grpc.ServerServiceStub(self.channel)

    async def validate(
        self,
        objects: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """Returns for each object or write whether an API server would accept it. `crds` are inline CRDs."""
        head = evaluation_pb2.ValidateRequest(context=self._context(crds, options))
        return await self._verdicts(self._evaluation.Validate, head, objects, timeout)

    async def admit(
        self,
        writes: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """Runs each write through the whole write path of an API server. Nothing is stored."""
        head = evaluation_pb2.AdmitRequest(context=self._context(crds, options))
        return await self._verdicts(self._evaluation.Admit, head, writes, timeout)

    async def prune(
        self,
        objects: Iterable[Text],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Removes the unknown fields of each object, and does nothing else."""
        head = evaluation_pb2.PruneRequest(context=self._context(crds, options))
        return await self._transformed(self._evaluation.Prune, head, objects, timeout)

    async def default(
        self,
        objects: Iterable[Text],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Adds the defaults to each object, and does nothing else."""
        head = evaluation_pb2.DefaultRequest(context=self._context(crds, options))
        return await self._transformed(self._evaluation.Default, head, objects, timeout)

    async def read(
        self,
        objects: Iterable[Text],
        *,
        version: str = "",
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Returns each stored object as an API server reads it, at `version` or at its own version."""
        head = evaluation_pb2.ReadRequest(context=self._context(crds, options), target_version=version)
        return await self._transformed(self._evaluation.Read, head, objects, timeout)

    async def convert(
        self,
        version: str,
        objects: Iterable[Text],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Converts each object to a version of its CRD."""
        if not version:
            raise ValueError("the version to convert to is missing")
        head = evaluation_pb2.ConvertRequest(context=self._context(crds, options), target_version=version)
        return await self._transformed(self._evaluation.Convert, head, objects, timeout)

    async def admit_stream(
        self,
        writes: transport.Writes,
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> AsyncIterator[Result[Verdict]]:
        """Admits any number of writes in bounded memory. Results come in the order of the writes.

        Writes can also come from an asynchronous iterator.
        A message has `at_once` writes. Use 1 if writes arrive slowly and each needs an immediate result.
        """
        first = evaluation_pb2.AdmitStreamRequest(context=self._context(crds, options))
        async for result in self._stream(self._evaluation.AdmitStream, first, writes, at_once, timeout):
            yield results.verdict(result)

    async def read_stream(
        self,
        objects: transport.Writes,
        *,
        version: str = "",
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> AsyncIterator[Result[Transformed]]:
        """Reads any number of stored objects, as `admit_stream` admits writes."""
        first = evaluation_pb2.ReadStreamRequest(context=self._context(crds, options), target_version=version)
        async for result in self._stream(self._evaluation.ReadStream, first, objects, at_once, timeout):
            yield results.transformed(result)

    async def register(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """Registers a CRD. Later calls of this client see it. Raises CrdRejectedError if it would be rejected."""
        request = registry_pb2.RegisterCrdRequest(catalog=self._catalog, manifest=to_proto(manifest))
        registration = results.registration(await self._call(self._registry.RegisterCrd, request, self._end(timeout)))
        if not registration.accepted:
            raise CrdRejectedError(registration)
        return registration

    async def register_all(self, manifests: Iterable[Text], *, timeout: float | None = None) -> list[Registered]:
        """Registers CRDs one after the other. A CRD that fails does not affect the others. Check `accepted`."""
        entries = [registry_pb2.RegisterCrdsEntry(manifest=to_proto(m)) for m in several(manifests)]
        head = registry_pb2.RegisterCrdsRequest(catalog=self._catalog)
        call = self._registry.RegisterCrds
        return await self._batches(call, head, entries, results.registered, "registered", timeout)

    async def check(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """Returns the result that a registration would have, and registers nothing."""
        request = registry_pb2.CheckCrdRequest(
            catalog=self._catalog, manifest=to_proto(manifest), at_least=self.token
        )
        return results.registration(await self._call(self._registry.CheckCrd, request, self._end(timeout)))

    async def get_crd(self, crd: str, *, timeout: float | None = None) -> Crd:
        """Returns a registered CRD with its manifest."""
        request = registry_pb2.GetCrdRequest(catalog=self._catalog, crd=crd, at_least=self.token)
        response = await self._call(self._registry.GetCrd, request, self._end(timeout))
        return results.crd(response.crd)

    async def list_crds(self, *, timeout: float | None = None) -> list[Crd]:
        """Returns the CRDs of the catalog without manifests, sorted by name."""
        end, page, all_crds = self._end(timeout), "", list[Crd]()
        while True:
            request = registry_pb2.ListCrdsRequest(
                catalog=self._catalog, page_size=PAGE_SIZE, page_token=page, at_least=self.token
            )
            response = await self._call(self._registry.ListCrds, request, end)
            all_crds += map(results.crd, response.crds)
            page = response.next_page_token
            if not page:
                return all_crds

    async def delete_crd(self, crd: str, *, timeout: float | None = None) -> None:
        """Deletes a CRD by its name."""
        request = registry_pb2.DeleteCrdRequest(catalog=self._catalog, crd=crd)
        await self._call(self._registry.DeleteCrd, request, self._end(timeout))

    async def watch(self, *, from_token: str = "") -> AsyncIterator[CrdEvent]:
        """Yields each CRD as ADDED, SYNCED, and then each change. Resumes if the connection is lost."""
        state = registry.WatchState(from_token)
        while True:
            request = registry_pb2.WatchCrdsRequest(catalog=self._catalog, from_token=state.begin())
            call = self._registry.WatchCrds(request, metadata=self._metadata)
            delay = 0.0
            try:
                async for message in transport.messages(call, Source()):
                    for e in state.news(message):
                        yield results.event(e)
            except CrdevalError as error:
                if not state.resumes(error.code, error.reason):
                    raise
                delay = error.retry_delay or 0.0
            await transport.sleep(max(state.pause * (1 + random.random()) / 2, delay))

    async def limits(self, *, timeout: float | None = None) -> server_pb2.ServerLimits:
        """Returns the limits of the server. Requests them once."""
        return await self._limits_by(self._end(timeout))

    async def close(self) -> None:
        """Closes the channel, unless it was given to the client. Calls in progress fail."""
        if self._owned:
            await self.channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _end(self, timeout: float | None) -> float:
        """Returns the time at which a method must end."""
        return time.monotonic() + positive(self._timeout if timeout is None else timeout)

    def _context(
        self, crds: Iterable[Text], options: evaluation_pb2.EvaluationOptions | None
    ) -> evaluation_pb2.EvaluationContext:
        """Returns the context of an evaluation request."""
        return evaluation_pb2.EvaluationContext(
            catalog=self._catalog, crds=map(to_proto, several(crds)), at_least=self.token, options=options
        )

    async def _call(self, method: Any, request: Message, end: float) -> Any:
        """Makes a unary call, repeats it while the server is overloaded, and keeps the token of a write."""
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await method(request, timeout=remaining(end), metadata=self._metadata)
            except grpc.RpcError as e:
                error = CrdevalError.of(e)
                pause = self._retries.pause(attempt, error)
                if not error.overloaded or attempt >= self._retries.max_attempts or remaining(end) <= pause:
                    raise error from e
                await transport.sleep(pause)
                continue
            self.token = getattr(response, "token", "") or self.token
            return response

    async def _limits_by(self, end: float) -> server_pb2.ServerLimits:
        if self._limits is None:
            info = await self._call(self._server.GetServerInfo, server_pb2.GetServerInfoRequest(), end)
            limits: server_pb2.ServerLimits = info.limits
            self._limits = limits
        return self._limits

    async def _verdicts(
        self, method: Any, head: Message, writes: Iterable[Text | Write], timeout: float | None
    ) -> list[Result[Verdict]]:
        return await self._batches(method, head, list(map(write_item, several(writes))), results.verdict, "verdicts", timeout)

    async def _transformed(
        self, method: Any, head: Message, objects: Iterable[Text], timeout: float | None
    ) -> list[Result[Transformed]]:
        return await self._batches(method, head, list(map(object_item, several(objects))), results.transformed, "transformed", timeout)

    async def _batches(
        self,
        method: Any,
        head: Message,
        elements: Sequence[Message],
        convert: Callable[[Any], R],
        kind: Literal["verdicts", "transformed", "registered"],
        timeout: float | None,
    ) -> list[R]:
        """Sends elements in as many requests as needed, one after the other. Returns a result for each.

        `kind` is the attribute of a CrdevalError for the results of earlier requests.
        """
        end, field = self._end(timeout), "entries" if kind == "registered" else "items"
        done: list[R] = []
        try:
            while len(done) < len(elements):
                start, stop = len(done), 1
                if len(elements) > 1:
                    stop = batch_end(elements, start, await self._limits_by(end), head)
                part = type(head)(**{field: elements[start:stop]})
                part.MergeFrom(head)
                response = await self._call(method, part, end)
                if len(response.results) != stop - start:
                    text = f"the server sent {len(response.results)} results for {stop - start} objects"
                    raise CrdevalError(status_pb2.Status(code=grpc.StatusCode.INTERNAL.value[0], message=text))
                done += map(convert, response.results)
        except CrdevalError as error:
            setattr(error, kind, done)
            raise
        return done

    async def _stream(
        self, method: Any, first: Message, writes: transport.Writes, at_once: int, timeout: float | None
    ) -> AsyncIterator[Any]:
        """Yields the results of a stream."""
        source = Source()
        timeout = None if timeout is None else remaining(self._end(timeout))
        call = method(_requests(first, writes, at_once, source), timeout=timeout, metadata=self._metadata)
        async for message in transport.messages(call, source):
            for result in message.results:
                yield result


async def _requests(first: Message, writes: transport.Writes, at_once: int, source: Source) -> AsyncIterator[Message]:
    """Yields the first message of a stream, and messages with at most `at_once` items."""
    try:
        streams.check_at_once(at_once)
        yield first
        some: list[Message] = []
        item = write_item if isinstance(first, evaluation_pb2.AdmitStreamRequest) else object_item
        size = 0
        async for write in transport.each(writes):
            some.append(item(write))
            size += some[-1].ByteSize()
            if len(some) == at_once or size >= streams.BYTES_AT_ONCE:
                yield type(first)(items=some)
                some, size = [], 0
        if some:
            yield type(first)(items=some)
    except Exception as error:
        source.error = error
        raise
