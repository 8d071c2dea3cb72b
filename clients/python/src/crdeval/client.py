"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

import grpc

from crdeval import registry, results, streams
from crdeval.calls import CHANNEL_OPTIONS, Call, Calls, RetryPolicy, Source, Steps, metadata, several
from crdeval.documents import Text, Write
from crdeval.errors import CrdevalError
from crdeval.results import Crd, CrdEvent, Registered, Registration, Result, Transformed, Verdict
from crdeval.v1 import evaluation_pb2, evaluation_pb2_grpc, registry_pb2_grpc, server_pb2, server_pb2_grpc

R = TypeVar("R")


class Client:
    """Calls a crdeval service for one catalog. It is safe for concurrent use.

    `target` is "localhost:9090" or "unix:///run/crdeval/grpc.sock", or a channel, which stays open. `token` is a bearer
    token. `tls` is True, or credentials of gRPC. `timeout` bounds each method in seconds, including all requests and
    retries. It does not apply to streams and watches. `timeout` of a method replaces it.

    Methods with many objects send as many requests as the limits of the server need. Result i belongs to object i. If a
    request fails, they raise a CrdevalError, and return no results of earlier requests.
    """

    def __init__(
        self,
        target: str | grpc.Channel,
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
            self.channel = grpc.secure_channel(target, credentials, options=CHANNEL_OPTIONS)
        else:
            self.channel = grpc.insecure_channel(target, options=CHANNEL_OPTIONS)
        self._stubs: dict[str, Any] = {
            "Evaluation": evaluation_pb2_grpc.EvaluationServiceStub(self.channel),
            "Registry": registry_pb2_grpc.RegistryServiceStub(self.channel),
            "Server": server_pb2_grpc.ServerServiceStub(self.channel),
        }

    def validate(
        self,
        objects: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """Returns for each object or write whether an API server would accept it. `crds` are inline CRDs."""
        return self._run(self._calls.validate(objects, timeout, options=options, crds=crds))

    def admit(
        self,
        writes: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Verdict]]:
        """Runs each write through the whole write path of an API server. Nothing is stored."""
        return self._run(self._calls.admit(writes, timeout, options=options, crds=crds))

    def prune(
        self, objects: Iterable[Text | Write], *, crds: Sequence[Text] = (), timeout: float | None = None
    ) -> list[Result[Transformed]]:
        """Removes the unknown fields of each object, and does nothing else."""
        return self._run(self._calls.transform("Prune", evaluation_pb2.PruneRequest, objects, timeout, crds=crds))

    def default(
        self, objects: Iterable[Text | Write], *, crds: Sequence[Text] = (), timeout: float | None = None
    ) -> list[Result[Transformed]]:
        """Adds the defaults to each object, and does nothing else."""
        return self._run(self._calls.transform("Default", evaluation_pb2.DefaultRequest, objects, timeout, crds=crds))

    def read(
        self,
        objects: Iterable[Text | Write],
        *,
        version: str = "",
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Returns each stored object as an API server reads it, at `version` or at its own version."""
        kind = evaluation_pb2.ReadRequest
        return self._run(self._calls.transform("Read", kind, objects, timeout, target_version=version, crds=crds))

    def convert(
        self,
        version: str,
        objects: Iterable[Text | Write],
        *,
        crds: Sequence[Text] = (),
        timeout: float | None = None,
    ) -> list[Result[Transformed]]:
        """Converts each object to a version of its CRD."""
        return self._run(self._calls.convert(version, objects, timeout, crds=crds))

    def admit_stream(
        self,
        writes: Iterable[Text | Write],
        *,
        options: evaluation_pb2.EvaluationOptions | None = None,
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> Iterator[Result[Verdict]]:
        """Admits any number of writes in bounded memory. Results come in the order of the writes.

        A message has `at_once` writes. Use 1 if writes arrive slowly and each needs an immediate result.
        """
        source = Source()
        call = streams.admit(
            self.channel,
            source.items(several(writes)),
            catalog=self._calls.catalog,
            options=options,
            at_once=at_once,
            timeout=timeout,
            metadata=self._metadata,
            at_least=self._calls.token,
        )
        return map(results.verdict, _errors(call, source))

    def read_stream(
        self,
        objects: Iterable[Text | Write],
        *,
        version: str = "",
        at_once: int = streams.ITEMS_AT_ONCE,
        timeout: float | None = None,
    ) -> Iterator[Result[Transformed]]:
        """Reads any number of stored objects, as `admit_stream` admits writes."""
        source = Source()
        call = streams.read(
            self.channel,
            source.items(several(objects)),
            catalog=self._calls.catalog,
            target_version=version,
            at_once=at_once,
            timeout=timeout,
            metadata=self._metadata,
            at_least=self._calls.token,
        )
        return map(results.transformed, _errors(call, source))

    def register(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """Registers a CRD. Later calls of this client see it. Raises CrdRejectedError if it would be rejected."""
        return self._run(self._calls.register(manifest, timeout))

    def register_all(self, manifests: Iterable[Text], *, timeout: float | None = None) -> list[Registered]:
        """Registers CRDs one after the other. A CRD that fails does not affect the others. Check `accepted`."""
        return self._run(self._calls.register_all(manifests, timeout))

    def check(self, manifest: Text, *, timeout: float | None = None) -> Registration:
        """Returns the result that a registration would have, and registers nothing."""
        return self._run(self._calls.check(manifest, timeout))

    def get_crd(self, crd: str, *, timeout: float | None = None) -> Crd:
        """Returns a registered CRD with its manifest."""
        return self._run(self._calls.get_crd(crd, timeout))

    def list_crds(self, *, timeout: float | None = None) -> list[Crd]:
        """Returns the CRDs of the catalog without manifests, sorted by name."""
        return self._run(self._calls.list_crds(timeout))

    def delete_crd(self, crd: str, *, timeout: float | None = None) -> None:
        """Deletes a CRD by its name."""
        self._run(self._calls.delete_crd(crd, timeout))

    def watch(self, *, from_token: str = "") -> Iterator[CrdEvent]:
        """Yields each CRD as ADDED, SYNCED, and then each change. Resumes if the connection is lost."""
        events = registry.watch(
            self.channel, catalog=self._calls.catalog, from_token=from_token, metadata=self._metadata
        )
        return map(results.event, _errors(events, Source()))

    def limits(self, *, timeout: float | None = None) -> server_pb2.ServerLimits:
        """Returns the limits of the server. Requests them once."""
        return self._run(self._calls.limits(self._calls.end(timeout)))

    @property
    def token(self) -> str:
        """The token of the latest write. Set it to make later calls see the write of another client."""
        return self._calls.token

    @token.setter
    def token(self, value: str) -> None:
        self._calls.token = value

    def close(self) -> None:
        """Closes the channel, unless it was given to the client. Calls in progress fail."""
        if self._owned:
            self.channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, steps: Steps[R]) -> R:
        try:
            step = next(steps)
            while True:
                if not isinstance(step, Call):
                    time.sleep(step.seconds)
                    step = next(steps)
                    continue
                method = getattr(self._stubs[step.service], step.method)
                try:
                    response = method(step.request, timeout=step.timeout, metadata=self._metadata)
                except grpc.RpcError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as stop:
            value: R = stop.value
            return value


def _errors(values: Iterator[R], source: Source) -> Iterator[R]:
    """Yields the values. Raises the error of the source, or a CrdevalError for an error of gRPC."""
    try:
        yield from values
    except grpc.RpcError as error:
        if source.error is not None:
            raise source.error from None
        raise CrdevalError.of(error) from error
