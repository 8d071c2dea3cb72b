from crdeval.v1 import document_pb2 as _document_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PipelineStep(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PIPELINE_STEP_UNSPECIFIED: _ClassVar[PipelineStep]
    PIPELINE_STEP_DECODE: _ClassVar[PipelineStep]
    PIPELINE_STEP_REQUEST: _ClassVar[PipelineStep]
    PIPELINE_STEP_TYPE_META: _ClassVar[PipelineStep]
    PIPELINE_STEP_METADATA: _ClassVar[PipelineStep]
    PIPELINE_STEP_SCHEMA: _ClassVar[PipelineStep]
    PIPELINE_STEP_SCALE: _ClassVar[PipelineStep]
    PIPELINE_STEP_EMBEDDED: _ClassVar[PipelineStep]
    PIPELINE_STEP_LIST: _ClassVar[PipelineStep]
    PIPELINE_STEP_RULE: _ClassVar[PipelineStep]
    PIPELINE_STEP_CONVERT: _ClassVar[PipelineStep]
    PIPELINE_STEP_CRD: _ClassVar[PipelineStep]
    PIPELINE_STEP_RULES_SKIPPED: _ClassVar[PipelineStep]
PIPELINE_STEP_UNSPECIFIED: PipelineStep
PIPELINE_STEP_DECODE: PipelineStep
PIPELINE_STEP_REQUEST: PipelineStep
PIPELINE_STEP_TYPE_META: PipelineStep
PIPELINE_STEP_METADATA: PipelineStep
PIPELINE_STEP_SCHEMA: PipelineStep
PIPELINE_STEP_SCALE: PipelineStep
PIPELINE_STEP_EMBEDDED: PipelineStep
PIPELINE_STEP_LIST: PipelineStep
PIPELINE_STEP_RULE: PipelineStep
PIPELINE_STEP_CONVERT: PipelineStep
PIPELINE_STEP_CRD: PipelineStep
PIPELINE_STEP_RULES_SKIPPED: PipelineStep

class Position(_message.Message):
    __slots__ = ("line", "column", "offset")
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    line: int
    column: int
    offset: int
    def __init__(self, line: _Optional[int] = ..., column: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class RuleRef(_message.Message):
    __slots__ = ("rule", "index", "reason")
    RULE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rule: str
    index: int
    reason: str
    def __init__(self, rule: _Optional[str] = ..., index: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Violation(_message.Message):
    __slots__ = ("type", "field", "message", "detail", "bad_value", "pointer", "rule", "schema_pointer", "position", "step", "hint")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    BAD_VALUE_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    type: str
    field: str
    message: str
    detail: str
    bad_value: _document_pb2.Document
    pointer: str
    rule: RuleRef
    schema_pointer: str
    position: Position
    step: PipelineStep
    hint: Hint
    def __init__(self, type: _Optional[str] = ..., field: _Optional[str] = ..., message: _Optional[str] = ..., detail: _Optional[str] = ..., bad_value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., pointer: _Optional[str] = ..., rule: _Optional[_Union[RuleRef, _Mapping]] = ..., schema_pointer: _Optional[str] = ..., position: _Optional[_Union[Position, _Mapping]] = ..., step: _Optional[_Union[PipelineStep, str]] = ..., hint: _Optional[_Union[Hint, _Mapping]] = ...) -> None: ...

class ViolationList(_message.Message):
    __slots__ = ("violations",)
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    violations: _containers.RepeatedCompositeFieldContainer[Violation]
    def __init__(self, violations: _Optional[_Iterable[_Union[Violation, _Mapping]]] = ...) -> None: ...

class Warning(_message.Message):
    __slots__ = ("type", "text", "field", "pointer", "position", "hint")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    type: str
    text: str
    field: str
    pointer: str
    position: Position
    hint: Hint
    def __init__(self, type: _Optional[str] = ..., text: _Optional[str] = ..., field: _Optional[str] = ..., pointer: _Optional[str] = ..., position: _Optional[_Union[Position, _Mapping]] = ..., hint: _Optional[_Union[Hint, _Mapping]] = ...) -> None: ...

class Hint(_message.Message):
    __slots__ = ("text", "pointer", "replacement")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    text: str
    pointer: str
    replacement: _document_pb2.Document
    def __init__(self, text: _Optional[str] = ..., pointer: _Optional[str] = ..., replacement: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class FieldChange(_message.Message):
    __slots__ = ("path", "pointer", "value", "hint", "position")
    PATH_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    path: str
    pointer: str
    value: _document_pb2.Document
    hint: Hint
    position: Position
    def __init__(self, path: _Optional[str] = ..., pointer: _Optional[str] = ..., value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., hint: _Optional[_Union[Hint, _Mapping]] = ..., position: _Optional[_Union[Position, _Mapping]] = ...) -> None: ...

class Rejection(_message.Message):
    __slots__ = ("code", "reason", "message", "status", "cause")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    status: _document_pb2.Document
    cause: str
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., status: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., cause: _Optional[str] = ...) -> None: ...
