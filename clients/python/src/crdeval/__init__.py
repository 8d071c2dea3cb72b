"""Clients of crdeval, which evaluates Kubernetes CRDs and custom resources as an API server does.

    from crdeval import Client

    with Client("localhost:9090") as client:
        client.register(crd)
        for result in client.validate([new]):
            print(result.get().allowed)

AsyncClient is the same for asyncio. The generated stubs are in crdeval.v1.
"""

from crdeval.aio import AsyncClient
from crdeval.calls import RetryPolicy
from crdeval.client import Client
from crdeval.documents import Document, Text, Write
from crdeval.errors import CrdevalError, CrdRejectedError
from crdeval.results import (
    Crd,
    CrdEvent,
    FieldChange,
    Hint,
    Position,
    Registered,
    Registration,
    Rejection,
    Result,
    Rule,
    Transformed,
    Verdict,
    Violation,
    Warning,
)

__all__ = [
    "AsyncClient",
    "Client",
    "Crd",
    "CrdEvent",
    "CrdRejectedError",
    "CrdevalError",
    "Document",
    "FieldChange",
    "Hint",
    "Position",
    "Registered",
    "Registration",
    "Rejection",
    "Result",
    "RetryPolicy",
    "Rule",
    "Text",
    "Transformed",
    "Verdict",
    "Violation",
    "Warning",
    "Write",
]
