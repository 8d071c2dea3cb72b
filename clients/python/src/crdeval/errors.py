"""Errors of calls and of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

if TYPE_CHECKING:
    from crdeval.results import Registered, Registration, Result, Transformed, Verdict

DOMAIN = "crdeval.dev"

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_Detail = TypeVar("_Detail", bound=Message)


class CrdevalError(Exception):
    """A call failed, or an item of a call could not be evaluated. It never means that an object is valid or invalid.

    Programs should read `reason` and `metadata`, not the text. If a later request of a method with many objects fails,
    `verdicts`, `transformed` or `registered` has the results of the earlier requests: result i belongs to object i.
    """

    verdicts: Sequence[Result[Verdict]] = ()
    transformed: Sequence[Result[Transformed]] = ()
    registered: Sequence[Registered] = ()

    def __init__(self, status: status_pb2.Status):
        self.status = status
        super().__init__(f"{self.reason or self.code.name}: {status.message}")

    @classmethod
    def of(cls, error: grpc.RpcError) -> CrdevalError:
        """Returns the error of a call."""
        status = details_of(error)
        if status is not None:
            return cls(status)
        return cls(status_pb2.Status(code=error.code().value[0], message=error.details() or ""))

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC code."""
        return _CODES.get(self.status.code, grpc.StatusCode.UNKNOWN)

    @property
    def reason(self) -> str:
        """A name of crdeval.v1.ErrorReason without its prefix. Empty if the error is not from crdeval."""
        return str(self._info().reason)

    @property
    def metadata(self) -> dict[str, str]:
        """The values that belong to the reason, such as `crd` or `limit`."""
        return dict(self._info().metadata)

    @property
    def retry_delay(self) -> float | None:
        """The seconds before which the call must not be retried. None if the server gives no delay."""
        info = self.detail(error_details_pb2.RetryInfo)
        return None if info is None else info.retry_delay.ToTimedelta().total_seconds()

    @property
    def field_violations(self) -> list[error_details_pb2.BadRequest.FieldViolation]:
        """The invalid fields of the request that the server names."""
        found = self.detail(error_details_pb2.BadRequest)
        return [] if found is None else list(found.field_violations)

    def detail(self, kind: type[_Detail]) -> _Detail | None:
        """Returns the first detail of a type, for example a crdeval.v1.CrdReport with CRD_REJECTED."""
        for packed in self.status.details:
            found = kind()
            if packed.Is(found.DESCRIPTOR) and packed.Unpack(found):
                return found
        return None

    @property
    def overloaded(self) -> bool:
        """Whether the call had no effect because the server has no free capacity."""
        return self.code == grpc.StatusCode.UNAVAILABLE and self.reason == "OVERLOADED"

    def _info(self) -> error_details_pb2.ErrorInfo:
        info = self.detail(error_details_pb2.ErrorInfo)
        return info if info is not None and info.domain == DOMAIN else error_details_pb2.ErrorInfo()


def details_of(error: Any) -> status_pb2.Status | None:
    """Returns the status with details that a server sends with an error of gRPC. None without one."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value)
    return None


class CrdRejectedError(Exception):
    """A CRD was not registered because an API server would reject it. `registration` has the violations."""

    def __init__(self, registration: Registration):
        self.registration = registration
        lines = ["an API server would reject the CustomResourceDefinition"]
        lines += [f"{v.field}: {v.message}" for v in registration.violations]
        if len(lines) == 1 and registration.rejection is not None:
            lines.append(registration.rejection.message)
        super().__init__("\n  ".join(lines))
