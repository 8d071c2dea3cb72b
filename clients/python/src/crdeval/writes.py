"""Writes and tables over the generated stubs.

    from crdeval import writes

    results = writes.admit(channel, [writes.patch(stored, merge=b'{"spec": {"replicas": 3}}')])
    print(writes.table(channel, [result.verdict.object.json for result in results]))

For all other calls, use the stubs in crdeval.v1. Texts are JSON or YAML, as bytes.
"""

from collections.abc import Iterable, Sequence

import grpc

from crdeval.registry import Metadata, document, sent, with_results
from crdeval.v1 import document_pb2, evaluation_pb2, evaluation_pb2_grpc, presentation_pb2, presentation_pb2_grpc

ITEMS_AT_ONCE = 1000
"""Items in one call: the default limit of a server."""

BYTES_AT_ONCE = 32 << 20
"""Bytes of items in one call: half of the default limit of a server."""


def create(new: bytes) -> evaluation_pb2.WriteItem:
    """Returns the item for the creation of an object."""
    return evaluation_pb2.WriteItem(create=evaluation_pb2.Create(object=document(new)))


def update(old: bytes, new: bytes, *, subresource: str = "") -> evaluation_pb2.WriteItem:
    """Returns the item for an update of a stored object.

    `subresource` is "", "status" or "scale". With "scale", `new` is an autoscaling/v1 Scale.
    """
    change = evaluation_pb2.Update(object=document(new), old_object=document(old), subresource=subresource)
    return evaluation_pb2.WriteItem(update=change)


def patch(
    old: bytes, *, merge: bytes | None = None, operations: bytes | None = None, subresource: str = ""
) -> evaluation_pb2.WriteItem:
    """Returns the item for a patch of a stored object.

    `merge` is a merge patch (RFC 7386), `operations` is a JSON patch (RFC 6902). Exactly one is required.
    """
    if (merge is None) == (operations is None):
        raise ValueError("give merge or operations")
    change = evaluation_pb2.Patch(
        type=evaluation_pb2.PATCH_TYPE_JSON if merge is None else evaluation_pb2.PATCH_TYPE_MERGE,
        patch=document((operations if merge is None else merge) or b""),
        old_object=document(old),
        subresource=subresource,
    )
    return evaluation_pb2.WriteItem(patch=change)


def admit(
    channel: grpc.Channel,
    items: Iterable[evaluation_pb2.WriteItem],
    *,
    catalog: str = "default",
    options: evaluation_pb2.EvaluationOptions | None = None,
    stage: "evaluation_pb2.AdmissionStage" = evaluation_pb2.ADMISSION_STAGE_UNSPECIFIED,
    include: evaluation_pb2.PresentationOptions | None = None,
    crds: Sequence[document_pb2.Document] = (),
    timeout: float | None = 60,
    metadata: Metadata | None = None,
) -> list[evaluation_pb2.VerdictResult]:
    """Runs each write through the whole write path of an API server. Stores nothing.

    Returns a result for each item, in order. A result is an `error` or a `verdict`. The verdict has the `object` that
    the API server would return and, if it differs, the `stored_object`. The items are sent in as many calls as needed.
    `timeout` applies to each call. If a call fails, its grpc.RpcError has the results of the earlier calls in the
    attribute `results`. Use crdeval.streams for items that do not fit into memory.
    """
    stub = evaluation_pb2_grpc.EvaluationServiceStub(channel)
    results: list[evaluation_pb2.VerdictResult] = []
    batch: list[evaluation_pb2.WriteItem] = []
    size = 0

    def send() -> None:
        request = evaluation_pb2.AdmitRequest(
            context=evaluation_pb2.EvaluationContext(catalog=catalog, options=options, crds=crds),
            items=batch,
            stage=stage,
            include=include,
        )
        try:
            answer = stub.Admit(request, timeout=timeout, metadata=sent(metadata))
        except grpc.RpcError as error:
            raise with_results(error, results=results)
        results.extend(answer.results)
        batch.clear()

    for item in items:
        bytes_of_item = item.ByteSize()
        if batch and (len(batch) == ITEMS_AT_ONCE or size + bytes_of_item > BYTES_AT_ONCE):
            send()
            size = 0
        batch.append(item)
        size += bytes_of_item
    if batch:
        send()
    return results


def stored(result: evaluation_pb2.VerdictResult) -> bytes:
    """Returns the object that would be stored, as JSON. Empty if the write is rejected or could not be evaluated."""
    verdict = result.verdict
    return verdict.stored_object.json if verdict.HasField("stored_object") else verdict.object.json


def table(
    channel: grpc.Channel,
    objects: Sequence[bytes],
    *,
    catalog: str = "default",
    crd: str = "",
    version: str = "",
    text: presentation_pb2.TableText | None = None,
    timeout: float | None = 60,
    metadata: Metadata | None = None,
) -> str:
    """Returns the objects as `kubectl get` prints them. All go in one call. `crd` is required without objects."""
    request = presentation_pb2.TableRequest(
        context=evaluation_pb2.EvaluationContext(catalog=catalog),
        crd=crd,
        version=version,
        objects=[document(o) for o in objects],
        text=text or presentation_pb2.TableText(),
    )
    stub = presentation_pb2_grpc.PresentationServiceStub(channel)
    answer = stub.Table(request, timeout=timeout, metadata=sent(metadata))
    if answer.HasField("rejection"):
        raise ValueError(answer.rejection.message)
    return answer.text
