from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChangeClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_CLASS_UNSPECIFIED: _ClassVar[ChangeClass]
    CHANGE_CLASS_COMPATIBLE: _ClassVar[ChangeClass]
    CHANGE_CLASS_NEEDS_CARE: _ClassVar[ChangeClass]
    CHANGE_CLASS_BREAKING: _ClassVar[ChangeClass]

class ChangeSide(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_SIDE_UNSPECIFIED: _ClassVar[ChangeSide]
    CHANGE_SIDE_STORED_OBJECTS: _ClassVar[ChangeSide]
    CHANGE_SIDE_CLIENTS: _ClassVar[ChangeSide]
    CHANGE_SIDE_BOTH: _ClassVar[ChangeSide]

class ReplayOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLAY_OUTCOME_UNSPECIFIED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_SAME: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_NEWLY_REJECTED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_KEPT_BY_RATCHETING: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_NEWLY_ACCEPTED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_PRUNED_DIFFERENTLY: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_CONVERTED_DIFFERENTLY: _ClassVar[ReplayOutcome]
CHANGE_CLASS_UNSPECIFIED: ChangeClass
CHANGE_CLASS_COMPATIBLE: ChangeClass
CHANGE_CLASS_NEEDS_CARE: ChangeClass
CHANGE_CLASS_BREAKING: ChangeClass
CHANGE_SIDE_UNSPECIFIED: ChangeSide
CHANGE_SIDE_STORED_OBJECTS: ChangeSide
CHANGE_SIDE_CLIENTS: ChangeSide
CHANGE_SIDE_BOTH: ChangeSide
REPLAY_OUTCOME_UNSPECIFIED: ReplayOutcome
REPLAY_OUTCOME_SAME: ReplayOutcome
REPLAY_OUTCOME_NEWLY_REJECTED: ReplayOutcome
REPLAY_OUTCOME_KEPT_BY_RATCHETING: ReplayOutcome
REPLAY_OUTCOME_NEWLY_ACCEPTED: ReplayOutcome
REPLAY_OUTCOME_PRUNED_DIFFERENTLY: ReplayOutcome
REPLAY_OUTCOME_DEFAULTED_DIFFERENTLY: ReplayOutcome
REPLAY_OUTCOME_CONVERTED_DIFFERENTLY: ReplayOutcome

class CrdChange(_message.Message):
    __slots__ = ("change_class", "side", "stored", "writers", "readers", "kind", "version", "schema_pointer", "manifest_pointer", "message", "old_value", "new_value", "old_position", "new_position", "counterexample")
    CHANGE_CLASS_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    WRITERS_FIELD_NUMBER: _ClassVar[int]
    READERS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_POINTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OLD_VALUE_FIELD_NUMBER: _ClassVar[int]
    NEW_VALUE_FIELD_NUMBER: _ClassVar[int]
    OLD_POSITION_FIELD_NUMBER: _ClassVar[int]
    NEW_POSITION_FIELD_NUMBER: _ClassVar[int]
    COUNTEREXAMPLE_FIELD_NUMBER: _ClassVar[int]
    change_class: ChangeClass
    side: ChangeSide
    stored: ChangeClass
    writers: ChangeClass
    readers: ChangeClass
    kind: str
    version: str
    schema_pointer: str
    manifest_pointer: str
    message: str
    old_value: _document_pb2.Document
    new_value: _document_pb2.Document
    old_position: _violation_pb2.Position
    new_position: _violation_pb2.Position
    counterexample: ChangeCounterexample
    def __init__(self, change_class: _Optional[_Union[ChangeClass, str]] = ..., side: _Optional[_Union[ChangeSide, str]] = ..., stored: _Optional[_Union[ChangeClass, str]] = ..., writers: _Optional[_Union[ChangeClass, str]] = ..., readers: _Optional[_Union[ChangeClass, str]] = ..., kind: _Optional[str] = ..., version: _Optional[str] = ..., schema_pointer: _Optional[str] = ..., manifest_pointer: _Optional[str] = ..., message: _Optional[str] = ..., old_value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., new_value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_position: _Optional[_Union[_violation_pb2.Position, _Mapping]] = ..., new_position: _Optional[_Union[_violation_pb2.Position, _Mapping]] = ..., counterexample: _Optional[_Union[ChangeCounterexample, _Mapping]] = ...) -> None: ...

class ChangeCounterexample(_message.Message):
    __slots__ = ("object", "old_object", "rejection", "violations", "tries", "subresource", "ignored_fields", "no_object_reason", "hidden_violations")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    TRIES_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    IGNORED_FIELDS_FIELD_NUMBER: _ClassVar[int]
    NO_OBJECT_REASON_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    object: _document_pb2.Document
    old_object: _document_pb2.Document
    rejection: _violation_pb2.Rejection
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    tries: int
    subresource: str
    ignored_fields: _containers.RepeatedScalarFieldContainer[str]
    no_object_reason: str
    hidden_violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    def __init__(self, object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., tries: _Optional[int] = ..., subresource: _Optional[str] = ..., ignored_fields: _Optional[_Iterable[str]] = ..., no_object_reason: _Optional[str] = ..., hidden_violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ...) -> None: ...

class FieldDifference(_message.Message):
    __slots__ = ("outcome", "version", "path", "pointer", "old_value", "new_value")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    OLD_VALUE_FIELD_NUMBER: _ClassVar[int]
    NEW_VALUE_FIELD_NUMBER: _ClassVar[int]
    outcome: ReplayOutcome
    version: str
    path: str
    pointer: str
    old_value: _document_pb2.Document
    new_value: _document_pb2.Document
    def __init__(self, outcome: _Optional[_Union[ReplayOutcome, str]] = ..., version: _Optional[str] = ..., path: _Optional[str] = ..., pointer: _Optional[str] = ..., old_value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., new_value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class ReplayResult(_message.Message):
    __slots__ = ("outcomes", "old_allowed", "new_allowed", "old_violations", "new_violations", "new_rejection", "differences", "omitted_differences", "error")
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    OLD_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    NEW_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    OLD_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    NEW_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    NEW_REJECTION_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedScalarFieldContainer[ReplayOutcome]
    old_allowed: bool
    new_allowed: bool
    old_violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    new_violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    new_rejection: _violation_pb2.Rejection
    differences: _containers.RepeatedCompositeFieldContainer[FieldDifference]
    omitted_differences: int
    error: _status_pb2.Status
    def __init__(self, outcomes: _Optional[_Iterable[_Union[ReplayOutcome, str]]] = ..., old_allowed: _Optional[bool] = ..., new_allowed: _Optional[bool] = ..., old_violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., new_violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., new_rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., differences: _Optional[_Iterable[_Union[FieldDifference, _Mapping]]] = ..., omitted_differences: _Optional[int] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...
