"""Results of the clients. `message` is the message of the server, with the fields that a class lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from crdeval.documents import Document
from crdeval.errors import CrdevalError
from crdeval.v1 import document_pb2, evaluation_pb2, registry_pb2, report_pb2, violation_pb2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The result for one object. Exactly one of `value` and `error` is set. An error never means that it is valid."""

    value: T | None = None
    error: CrdevalError | None = None

    def get(self) -> T:
        """Returns the value. Raises the error if the server could not evaluate the object."""
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the document: line and column from 1, in code points, and the offset in bytes from 0."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of x-kubernetes-validations: its expression, its index in its list, and its reason."""

    rule: str
    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hint:
    """A suggested correction. `pointer` is the probably intended field, or empty."""

    text: str
    pointer: str
    replacement: Document | None


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001
    """Something about a document that does not reject it. `text` is that of the Warning header of an API server."""

    type: str
    """UnknownField, DuplicateField, Ratcheted, Deprecated, Warning, or Notice for a note of crdeval."""
    text: str
    field: str
    pointer: str
    position: Position | None
    hint: Hint | None


@dataclass(frozen=True, slots=True)
class Violation:
    """One reason for a rejection. `pointer` and `schema_pointer` are JSON pointers (RFC 6901).

    The types of Kubernetes are causes of the Status. The others are SyntaxError, DecodeError, UnknownField, DuplicateField
    and Rejected.
    """

    type: str
    field: str
    message: str
    detail: str
    pointer: str
    schema_pointer: str
    step: str
    """The step that found it: SCHEMA, RULE, METADATA, …"""
    bad_value: Document | None
    """The invalid value. None if Kubernetes leaves it out. A JSON null is a value."""
    rule: Rule | None
    position: Position | None
    hint: Hint | None


@dataclass(frozen=True, slots=True)
class Rejection:
    """What an API server would answer instead of accepting a write. `status` needs the option with_status."""

    code: int
    reason: str
    message: str
    status: Document | None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that was removed from an object or added to it."""

    path: str
    pointer: str
    value: Document
    hint: Hint | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an API server would accept a write, and why not. `validate` returns no objects."""

    allowed: bool
    rejection: Rejection | None
    violations: tuple[Violation, ...]
    """Why the write is rejected. A rejection has at least one."""
    next: tuple[Violation, ...]
    """Violations that remain once unknown and duplicate fields are fixed, with FIELD_VALIDATION_STRICT."""
    ratcheted: tuple[Violation, ...]
    """Violations of values that an update does not change. They do not reject it."""
    warnings: tuple[Warning, ...]
    object: Document | None
    """The object that the API server would return."""
    stored_object: Document | None
    """The object that the API server would store."""
    pruned: tuple[FieldChange, ...]
    defaulted: tuple[FieldChange, ...]
    revision: str
    message: evaluation_pb2.Verdict = field(repr=False)


@dataclass(frozen=True, slots=True)
class Transformed:
    """An object after pruning, defaulting, a read from storage, or a conversion. Or the rejection."""

    object: Document | None
    rejection: Rejection | None
    violations: tuple[Violation, ...]
    """Why there is a rejection."""
    pruned: tuple[FieldChange, ...]
    defaulted: tuple[FieldChange, ...]
    warnings: tuple[Warning, ...]
    changed: bool
    revision: str
    message: evaluation_pb2.TransformedObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class Crd:
    """A registered CRD. `manifest` is None in lists and registrations."""

    name: str
    group: str
    kind: str
    scope: str
    versions: tuple[str, ...]
    storage_version: str
    revision: str
    etag: str
    generation: int
    manifest: Document | None
    message: registry_pb2.Crd = field(repr=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """Whether an API server would accept a CRD, and what a registration did. `outcome` is CREATED, UPDATED, …"""

    accepted: bool
    outcome: str
    violations: tuple[Violation, ...]
    warnings: tuple[Warning, ...]
    rejection: Rejection | None
    crd: Crd | None
    report: report_pb2.CrdReport = field(repr=False)


@dataclass(frozen=True, slots=True)
class Registered:
    """The result of registering one of several CRDs. `crd` is empty if the name could not be read."""

    crd: str
    result: Result[Registration]

    @property
    def accepted(self) -> bool:
        """Whether the CRD is registered now."""
        return self.result.value is not None and self.result.value.accepted


@dataclass(frozen=True, slots=True)
class CrdEvent:
    """An event of a watch. `type` is ADDED, MODIFIED, DELETED or SYNCED, and SYNCED has no CRD.

    `type` is UNSPECIFIED if this version of the client does not know it.
    """

    type: str
    crd: Crd | None
    token: str


def _document(message: document_pb2.Document) -> Document | None:
    """Returns None for a document that is not set, because results without content have no document."""
    return Document(message.json) if message.WhichOneof("content") == "json" else None


def _name(enum: Any, value: int, prefix: str) -> str:
    """Returns the name of a value. UNSPECIFIED stands for values that this version of the client does not know."""
    return str(enum.Name(value)).removeprefix(prefix) if value in enum.values() else "UNSPECIFIED"


def _position(message: violation_pb2.Position) -> Position:
    return Position(message.line, message.column, message.offset)


def _hint(message: violation_pb2.Hint) -> Hint:
    return Hint(message.text, message.pointer, _document(message.replacement))


def _violation(v: violation_pb2.Violation) -> Violation:
    return Violation(
        type=v.type,
        field=v.field,
        message=v.message,
        detail=v.detail,
        pointer=v.pointer,
        schema_pointer=v.schema_pointer,
        step=_name(violation_pb2.PipelineStep, v.step, "PIPELINE_STEP_"),
        bad_value=_document(v.bad_value),
        rule=Rule(v.rule.rule, v.rule.index, v.rule.reason) if v.HasField("rule") else None,
        position=_position(v.position) if v.HasField("position") else None,
        hint=_hint(v.hint) if v.HasField("hint") else None,
    )


def _warning(w: violation_pb2.Warning) -> Warning:
    return Warning(
        type=w.type,
        text=w.text,
        field=w.field,
        pointer=w.pointer,
        position=_position(w.position) if w.HasField("position") else None,
        hint=_hint(w.hint) if w.HasField("hint") else None,
    )


def _change(c: violation_pb2.FieldChange) -> FieldChange:
    return FieldChange(
        path=c.path,
        pointer=c.pointer,
        value=Document(c.value.json),
        hint=_hint(c.hint) if c.HasField("hint") else None,
        position=_position(c.position) if c.HasField("position") else None,
    )


def _rejection(r: violation_pb2.Rejection) -> Rejection:
    return Rejection(r.code, r.reason, r.message, _document(r.status))


def verdict(result: evaluation_pb2.VerdictResult) -> Result[Verdict]:
    """Returns the result of Validate or Admit."""
    if result.WhichOneof("result") != "verdict":
        return Result(error=CrdevalError(result.error))
    v = result.verdict
    new = _document(v.object)
    return Result(
        Verdict(
            allowed=v.allowed,
            rejection=_rejection(v.rejection) if v.HasField("rejection") else None,
            violations=tuple(map(_violation, v.violations)),
            next=tuple(map(_violation, v.next)),
            ratcheted=tuple(map(_violation, v.ratcheted)),
            warnings=tuple(map(_warning, v.warnings)),
            object=new,
            stored_object=_document(v.stored_object) or new,
            pruned=tuple(map(_change, v.changes.pruned)),
            defaulted=tuple(map(_change, v.changes.defaulted)),
            revision=v.revision,
            message=v,
        )
    )


def transformed(result: evaluation_pb2.TransformResult) -> Result[Transformed]:
    """Returns the result of Prune, Default, Read or Convert."""
    if result.WhichOneof("result") != "transformed":
        return Result(error=CrdevalError(result.error))
    t = result.transformed
    return Result(
        Transformed(
            object=_document(t.object),
            rejection=_rejection(t.rejection) if t.HasField("rejection") else None,
            violations=tuple(map(_violation, t.violations)),
            pruned=tuple(map(_change, t.changes.pruned)),
            defaulted=tuple(map(_change, t.changes.defaulted)),
            warnings=tuple(map(_warning, t.warnings)),
            changed=t.changed,
            revision=t.revision,
            message=t,
        )
    )


def crd(c: registry_pb2.Crd) -> Crd:
    """Returns a CRD."""
    return Crd(
        name=c.name,
        group=c.group,
        kind=c.names.kind,
        scope=c.scope,
        versions=tuple(v.name for v in c.versions),
        storage_version=c.storage_version,
        revision=c.revision,
        etag=c.etag,
        generation=c.generation,
        manifest=_document(c.manifest),
        message=c,
    )


def registration(r: registry_pb2.RegisterCrdResponse | registry_pb2.CheckCrdResponse) -> Registration:
    """Returns the result of a registration or of a check."""
    return Registration(
        accepted=r.accepted,
        outcome=_name(registry_pb2.RegistrationOutcome, r.outcome, "REGISTRATION_OUTCOME_"),
        violations=tuple(map(_violation, r.report.violations)),
        warnings=tuple(map(_warning, r.report.warnings)),
        rejection=_rejection(r.report.rejection) if r.report.HasField("rejection") else None,
        crd=crd(r.crd) if r.HasField("crd") else None,
        report=r.report,
    )


def registered(r: registry_pb2.RegisterCrdsResult) -> Registered:
    """Returns the result of one of several registrations."""
    if r.WhichOneof("result") != "registration":
        return Registered(r.crd, Result(error=CrdevalError(r.error)))
    return Registered(r.crd, Result(registration(r.registration)))


def event(e: registry_pb2.WatchCrdsResponse) -> CrdEvent:
    """Returns an event of a watch."""
    kind = _name(registry_pb2.WatchEventType, e.type, "WATCH_EVENT_TYPE_")
    return CrdEvent(kind, crd(e.crd) if e.HasField("crd") else None, e.token)
