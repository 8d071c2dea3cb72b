"""The client for asyncio."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import grpc
import grpc.aio

from crdeval import registry, results, streams
from crdeval.calls import CHANNEL_OPTIONS, Call, Calls, RetryPolicy, Source, Steps, item, metadata, several
from crdeval.documents import Text, Write
from crdeval.errors import CrdevalError
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
Writes = AsyncIterable["Text | Write"] | Iterable["Text | Write"]


class AsyncClient:
    """Client for asyncio. Its arguments and methods are those of crdeval.Client."""

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
        self._calls = Calls(catalog, timeout, retries)
        self._owned = isinstance(target, str)
        if not isinstance(target, str):
            self.channel = target
        elif tls:
            credentials = grpc.ssl_channel_credentials() if tls is True else tls
            self.channel = grpc.aio.secure_channel(target, credentials, options=CHANNEL_OPTIONS)
        else:
            self.channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
        self._stubs: dict[str, Any] = {
            "Evaluation": evaluation_pb2_grpc.EvaluationServiceStub(self.channel),
            "Registry": registry_pb2_grpc.RegistryServiceStub(self.channel),
            "Server": server_pb2_grpc.ServerServiceStub(self.channel),
        }

    async def validate(
        self,
        objects: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """See Client.validate."""
        return await self._run(self._calls.validate(objects, timeout, options=options, crds=crds))

    async def admit(
        self,
        writes: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """See Client.admit."""
        return await self._run(self._calls.admit(writes, timeout, options=options, crds=crds))

    async def prune(
        self, objects: Iterable[Text | Write], *, crds: Sequence[Text] = (), timeout: float | None = None
    ) -> list[Result[Transformed]]:
        """See Client.prune."""
        kind = evaluation_pb2.PruneRequest
        return await self._run(self._calls.transform("Prune", kind, objects, timeout, crds=crds))

    async def default(
        self, objects: Iterable[Text | Write], *, crds: Sequence[Text] = (), timeout: float | None = None
    ) -> list[Result[Transformed]]:
        """See Client.default."""
        kind = evaluation_pb2.DefaultRequest
        return await self._run(self._calls.transform("Default", kind, objects, timeout, crds=crds))

    async def read(
        self,
        objects: Iterable[Text | Write],
        *,
        version: str = "",
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """See Client.read."""
        kind = evaluation_pb2.ReadRequest
        return await self._run(self._calls.transform("Read", kind, objects, timeout, target_version=version, crds=crds))

    async def convert(
        self,
        version: str,
        objects: Iterable[Text | Write],
        *,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """See Client.convert."""
        return await self._run(self._calls.convert(version, objects, timeout, crds=crds))

    async def admit_stream(
        self,
        writes: Writes,
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> AsyncIterator[Result[Verdict]]:
        """See Client.admit_stream. Writes can come from an asynchronous iterator."""
        first = evaluation_pb2.AdmitStreamRequest(
            catalog=self._calls.catalog, options=options, at_least=self._calls.token
        )
        source = Source()
        requests = _requests(first, writes, at_once, source)
        call = self._stubs["Evaluation"].AdmitStream(requests, timeout=timeout, metadata=self._metadata)
        async for message in _messages(call, source):
            for result in message.results:
                yield results.verdict(result)

    async def read_stream(
        self,
        objects: Writes,
        *,
        version: str = "",
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> AsyncIterator[Result[Transformed]]:
        """See Client.read_stream. Objects can come from an asynchronous iterator."""
        first = evaluation_pb2.ReadStreamRequest(
            catalog=self._calls.catalog, target_version=version, at_least=self._calls.token
        )
        source = Source()
        requests = _requests(first, objects, at_once, source)
        call = self._stubs["Evaluation"].ReadStream(requests, timeout=timeout, metadata=self._metadata)
        async for message in _messages(call, source):
            for result in message.results:
                yield results.transformed(result)

    async def register(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """See Client.register."""
        return await self._run(self._calls.register(manifest, timeout))

    async def register_all(self, manifests: Iterable[Text], *, timeout: float | None = None) -> list[Registered]:
        """See Client.register_all."""
        return await self._run(self._calls.register_all(manifests, timeout))

    async def check(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """See Client.check."""
        return await self._run(self._calls.check(manifest, timeout))

    async def get_crd(self, crd: str, *, timeout: float | None = None) -> Crd:
        """See Client.get_crd."""
        return await self._run(self._calls.get_crd(crd, timeout))

    async def list_crds(self, *, timeout: float | None = None) -> list[Crd]:
        """See Client.list_crds."""
        return await self._run(self._calls.list_crds(timeout))

    async def delete_crd(self, crd: str, *, timeout: float | None = None) -> None:
        """See Client.delete_crd."""
        await self._run(self._calls.delete_crd(crd, timeout))

    async def watch(self, *, from_token: str = "") -> AsyncIterator[CrdEvent]:
        """See Client.watch."""
        state = registry.WatchState(from_token)
        while True:
            request = registry_pb2.WatchCrdsRequest(catalog=self._calls.catalog, from_token=state.begin())
            call = self._stubs["Registry"].WatchCrds(request, metadata=self._metadata)
            delay = 0.0
            try:
                async for message in _messages(call, Source()):
                    for e in state.news(message):
                        yield results.event(e)
            except CrdevalError as error:
                if not state.resumes(error.code, error.reason):
                    raise
                delay = error.retry_delay or 0.0
            await asyncio.sleep(max(state.pause * (1 + random.random()) / 2, delay))

    async def limits(self, *, timeout: float | None = None) -> server_pb2.ServerLimits:
        """See Client.limits."""
        return await self._run(self._calls.limits(self._calls.end(timeout)))

    @property
    def token(self) -> str:
        """The token of the latest write. Set it to make later calls see the write of another client."""
        return self._calls.token

    @token.setter
    def token(self, value: str) -> None:
        self._calls.token = value

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

    async def _run(self, steps: Steps[R]) -> R:
        try:
            step = next(steps)
            while True:
                if not isinstance(step, Call):
                    await asyncio.sleep(step.seconds)
                    step = next(steps)
                    continue
                method = getattr(self._stubs[step.service], step.method)
                try:
                    response = await method(step.request, timeout=step.timeout, metadata=self._metadata)
                except grpc.RpcError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as stop:
            value: R = stop.value
            return value


async def _messages(call: Any, source: Source) -> AsyncIterator[Any]:
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


async def _requests(first: Any, writes: Writes, at_once: int, source: Source) -> AsyncIterator[Any]:
    """Yields the first message of a stream, and messages with at most `at_once` items."""
    try:
        async for message in _batches(first, writes, at_once):
            yield message
    except Exception as error:
        source.error = error
        raise


async def _batches(first: Any, writes: Writes, at_once: int) -> AsyncIterator[Any]:
    streams.check_at_once(at_once)
    yield first
    some: list[evaluation_pb2.EvaluationItem] = []
    size = 0
    async for write in _asynchronous(writes):
        some.append(item(write))
        size += some[-1].ByteSize()
        if len(some) == at_once or size >= streams.BYTES_AT_ONCE:
            yield type(first)(items=some)
            some, size = [], 0
    if some:
        yield type(first)(items=some)


async def _asynchronous(writes: Writes) -> AsyncIterator[Text | Write]:
    if isinstance(writes, AsyncIterable):
        async for write in writes:
            yield write
    else:
        for write in several(writes):
            yield write
