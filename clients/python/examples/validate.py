"""Registers a CRD and validates objects against it, over gRPC.

    python validate.py TARGET CRD [--old OLD] OBJECT...

TARGET is localhost:9090 or unix:///path/to/socket; CRD, OLD and OBJECT are YAML or JSON files. With OLD, a
stored object, each OBJECT is an update of it. The exit code is 1 if the CRD or an object would be rejected. It is 2 if
something could not be evaluated.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import grpc

from crdeval.v1 import (
    document_pb2,
    evaluation_pb2,
    evaluation_pb2_grpc,
    registry_pb2,
    registry_pb2_grpc,
)
from crdeval.v1.violation_pb2 import Rejection, Violation

CATALOG = "default"
MAX_MESSAGE_BYTES = 64 << 20  # the default limit of a server; the default of grpc is 4 MiB


def document(path: str) -> document_pb2.Document:
    """Wraps the bytes of the file: JSON if they begin with a brace or a bracket, otherwise YAML."""
    text = Path(path).read_bytes()
    if text.lstrip().startswith((b"{", b"[")):
        return document_pb2.Document(json=text)
    return document_pb2.Document(raw_yaml=text)


def findings(path: str, violations: Sequence[Violation], rejection: Rejection) -> None:
    """Prints the violations, or the rejection if there are no violations, for example for invalid JSON."""
    for v in violations:
        print(f"  {path}:{v.position.line}:{v.position.column}: {v.field}: {v.message}")
    if not violations and rejection.message:
        print(f"  {path}: {rejection.message}")


def register(channel: grpc.Channel, path: str) -> str:
    """Registers the CRD and returns the token that makes later calls see it. Exits if the CRD would be rejected."""
    registry = registry_pb2_grpc.RegistryServiceStub(channel)
    response = registry.RegisterCrd(
        registry_pb2.RegisterCrdRequest(catalog=CATALOG, manifest=document(path)), timeout=30
    )
    if not response.accepted:
        print(f"{path}: rejected")
        findings(path, response.report.violations, response.report.rejection)
        sys.exit(1)
    print(f"{path}: registered {response.crd.name}")
    return response.token


def item(path: str, old: str | None) -> evaluation_pb2.WriteItem:
    """Returns the creation of an object, or its update."""
    if old is None:
        return evaluation_pb2.WriteItem(create=evaluation_pb2.Create(object=document(path)))
    return evaluation_pb2.WriteItem(update=evaluation_pb2.Update(object=document(path), old_object=document(old)))


def validate(channel: grpc.Channel, paths: list[str], old: str | None, token: str) -> int:
    """Validates the objects in one call, prints a line for each object and each violation. Returns the exit code."""
    evaluation = evaluation_pb2_grpc.EvaluationServiceStub(channel)
    response = evaluation.Validate(
        evaluation_pb2.ValidateRequest(
            context=evaluation_pb2.EvaluationContext(catalog=CATALOG, at_least=token),
            items=[item(path, old) for path in paths],
        ),
        timeout=30,
    )
    code = 0
    for path, result in zip(paths, response.results, strict=True):
        if result.WhichOneof("result") == "error":
            print(f"{path}: could not be evaluated: {result.error.message}")
            code = 2
            continue
        verdict = result.verdict
        print(f"{path}: {'allowed' if verdict.allowed else 'rejected'}")
        findings(path, verdict.violations, verdict.rejection)
        for v in verdict.ratcheted:
            print(f"  ratcheted, since it did not change: {v.field}: {v.message}")
        for warning in verdict.warnings:
            print(f"  warning: {warning.text}")
        if not verdict.allowed:
            code = max(code, 1)
    return code


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    target, crd, *objects = sys.argv[1:]
    old = None
    if objects[0] == "--old":
        _, old, *objects = objects
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    with grpc.insecure_channel(target, options=options) as channel:
        return validate(channel, objects, old, register(channel, crd))


if __name__ == "__main__":
    sys.exit(main())
