"""AdmitStream and ReadStream over the generated stubs: any number of objects in bounded memory.

    from crdeval import streams

    for result in streams.admit(channel, items):
        ...

Results come in the order of the items. A thread of gRPC reads `items`, and stops reading while the caller does not read
results. An item that could not be evaluated has a result with `error` and does not end the stream. An error that ends
the stream is raised as grpc.RpcError after the results of the earlier items.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import grpc

from crdeval.registry import Metadata, sent
from crdeval.v1 import document_pb2, evaluation_pb2, evaluation_pb2_grpc

ITEMS_AT_ONCE = 100
"""Items in one message: the limit of the server."""

BYTES_AT_ONCE = 1 << 20
"""Bytes of items in one message. A single item may have more."""

I = TypeVar("I", evaluation_pb2.WriteItem, evaluation_pb2.ObjectItem)


def admit(
    channel: grpc.Channel,
    items: Iterable[evaluation_pb2.WriteItem],
    *,
    catalog: str = "default",
    options: evaluation_pb2.EvaluationOptions | None = None,
    stage: "evaluation_pb2.AdmissionStage" = evaluation_pb2.ADMISSION_STAGE_UNSPECIFIED,
    include: evaluation_pb2.PresentationOptions | None = None,
    crds: Sequence[document_pb2.Document] = (),
    at_once: int = ITEMS_AT_ONCE,
    timeout: float | None = None,
    metadata: Metadata | None = None,
    at_least: str = "",
) -> Iterator[evaluation_pb2.VerdictResult]:
    """Yields the verdict of each write.

    A message has `at_once` items. Use 1 if items arrive slowly and each needs an immediate result.
    """
    check_at_once(at_once)
    first = evaluation_pb2.AdmitStreamRequest(
        context=evaluation_pb2.EvaluationContext(catalog=catalog, options=options, crds=crds, at_least=at_least),
        stage=stage,
        include=include,
    )
    messages = (evaluation_pb2.AdmitStreamRequest(items=some) for some in _messages(items, at_once))
    call = evaluation_pb2_grpc.EvaluationServiceStub(channel).AdmitStream(
        chain([first], messages), timeout=timeout, metadata=sent(metadata)
    )
    return _results(call)


def read(
    channel: grpc.Channel,
    items: Iterable[evaluation_pb2.ObjectItem],
    *,
    catalog: str = "default",
    target_version: str = "",
    options: evaluation_pb2.EvaluationOptions | None = None,
    include: evaluation_pb2.PresentationOptions | None = None,
    crds: Sequence[document_pb2.Document] = (),
    at_once: int = ITEMS_AT_ONCE,
    timeout: float | None = None,
    metadata: Metadata | None = None,
    at_least: str = "",
) -> Iterator[evaluation_pb2.TransformResult]:
    """Yields each object as an API server reads it from storage, at target_version or at its own version."""
    check_at_once(at_once)
    first = evaluation_pb2.ReadStreamRequest(
        context=evaluation_pb2.EvaluationContext(catalog=catalog, options=options, crds=crds, at_least=at_least),
        target_version=target_version,
        include=include,
    )
    messages = (evaluation_pb2.ReadStreamRequest(items=some) for some in _messages(items, at_once))
    call = evaluation_pb2_grpc.EvaluationServiceStub(channel).ReadStream(
        chain([first], messages), timeout=timeout, metadata=sent(metadata)
    )
    return _results(call)


def check_at_once(at_once: int) -> None:
    """Raises ValueError if a message cannot have so many items."""
    if not 1 <= at_once <= ITEMS_AT_ONCE:
        raise ValueError(f"at_once is {at_once}: it is 1 to {ITEMS_AT_ONCE}")


def _messages(items: Iterable[I], at_once: int) -> Iterator[list[I]]:
    some: list[I] = []
    size = 0
    for item in items:
        some.append(item)
        size += item.ByteSize()
        if len(some) == at_once or size >= BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _results(call: Any) -> Iterator[Any]:
    try:
        for message in call:
            yield from message.results
    finally:
        call.cancel()  # no effect on a call that has ended
