import datetime

from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FieldValidation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIELD_VALIDATION_UNSPECIFIED: _ClassVar[FieldValidation]
    FIELD_VALIDATION_IGNORE: _ClassVar[FieldValidation]
    FIELD_VALIDATION_WARN: _ClassVar[FieldValidation]
    FIELD_VALIDATION_STRICT: _ClassVar[FieldValidation]

class ObjectView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBJECT_VIEW_UNSPECIFIED: _ClassVar[ObjectView]
    OBJECT_VIEW_FULL: _ClassVar[ObjectView]
    OBJECT_VIEW_CHANGED: _ClassVar[ObjectView]
    OBJECT_VIEW_NONE: _ClassVar[ObjectView]

class AdmissionStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADMISSION_STAGE_UNSPECIFIED: _ClassVar[AdmissionStage]
    ADMISSION_STAGE_ALL: _ClassVar[AdmissionStage]
    ADMISSION_STAGE_DECODE: _ClassVar[AdmissionStage]
    ADMISSION_STAGE_FINISH: _ClassVar[AdmissionStage]

class TraceMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRACE_MODE_UNSPECIFIED: _ClassVar[TraceMode]
    TRACE_MODE_NONE: _ClassVar[TraceMode]
    TRACE_MODE_FAILED: _ClassVar[TraceMode]
    TRACE_MODE_ALL: _ClassVar[TraceMode]

class RuleOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_OUTCOME_UNSPECIFIED: _ClassVar[RuleOutcome]
    RULE_OUTCOME_PASSED: _ClassVar[RuleOutcome]
    RULE_OUTCOME_FAILED: _ClassVar[RuleOutcome]
    RULE_OUTCOME_ERROR: _ClassVar[RuleOutcome]
    RULE_OUTCOME_SKIPPED: _ClassVar[RuleOutcome]
    RULE_OUTCOME_RATCHETED: _ClassVar[RuleOutcome]

class PatchType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATCH_TYPE_UNSPECIFIED: _ClassVar[PatchType]
    PATCH_TYPE_MERGE: _ClassVar[PatchType]
    PATCH_TYPE_JSON: _ClassVar[PatchType]
FIELD_VALIDATION_UNSPECIFIED: FieldValidation
FIELD_VALIDATION_IGNORE: FieldValidation
FIELD_VALIDATION_WARN: FieldValidation
FIELD_VALIDATION_STRICT: FieldValidation
OBJECT_VIEW_UNSPECIFIED: ObjectView
OBJECT_VIEW_FULL: ObjectView
OBJECT_VIEW_CHANGED: ObjectView
OBJECT_VIEW_NONE: ObjectView
ADMISSION_STAGE_UNSPECIFIED: AdmissionStage
ADMISSION_STAGE_ALL: AdmissionStage
ADMISSION_STAGE_DECODE: AdmissionStage
ADMISSION_STAGE_FINISH: AdmissionStage
TRACE_MODE_UNSPECIFIED: TraceMode
TRACE_MODE_NONE: TraceMode
TRACE_MODE_FAILED: TraceMode
TRACE_MODE_ALL: TraceMode
RULE_OUTCOME_UNSPECIFIED: RuleOutcome
RULE_OUTCOME_PASSED: RuleOutcome
RULE_OUTCOME_FAILED: RuleOutcome
RULE_OUTCOME_ERROR: RuleOutcome
RULE_OUTCOME_SKIPPED: RuleOutcome
RULE_OUTCOME_RATCHETED: RuleOutcome
PATCH_TYPE_UNSPECIFIED: PatchType
PATCH_TYPE_MERGE: PatchType
PATCH_TYPE_JSON: PatchType

class PresentationOptions(_message.Message):
    __slots__ = ("selectable_fields", "table_row", "scale", "now")
    SELECTABLE_FIELDS_FIELD_NUMBER: _ClassVar[int]
    TABLE_ROW_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    selectable_fields: bool
    table_row: bool
    scale: bool
    now: _timestamp_pb2.Timestamp
    def __init__(self, selectable_fields: _Optional[bool] = ..., table_row: _Optional[bool] = ..., scale: _Optional[bool] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SelectableField(_message.Message):
    __slots__ = ("field", "value")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    field: str
    value: str
    def __init__(self, field: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ObjectPresentation(_message.Message):
    __slots__ = ("selectable_fields", "table_row", "scale")
    SELECTABLE_FIELDS_FIELD_NUMBER: _ClassVar[int]
    TABLE_ROW_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    selectable_fields: _containers.RepeatedCompositeFieldContainer[SelectableField]
    table_row: _document_pb2.Document
    scale: _document_pb2.Document
    def __init__(self, selectable_fields: _Optional[_Iterable[_Union[SelectableField, _Mapping]]] = ..., table_row: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., scale: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class TraceStep(_message.Message):
    __slots__ = ("expression", "offset", "value", "error", "decisive")
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DECISIVE_FIELD_NUMBER: _ClassVar[int]
    expression: str
    offset: int
    value: _document_pb2.Document
    error: str
    decisive: bool
    def __init__(self, expression: _Optional[str] = ..., offset: _Optional[int] = ..., value: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., error: _Optional[str] = ..., decisive: _Optional[bool] = ...) -> None: ...

class RuleTrace(_message.Message):
    __slots__ = ("pointer", "schema_pointer", "rule", "outcome", "skipped", "cost", "message", "steps", "omitted_steps")
    POINTER_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_STEPS_FIELD_NUMBER: _ClassVar[int]
    pointer: str
    schema_pointer: str
    rule: _violation_pb2.RuleRef
    outcome: RuleOutcome
    skipped: str
    cost: int
    message: str
    steps: _containers.RepeatedCompositeFieldContainer[TraceStep]
    omitted_steps: int
    def __init__(self, pointer: _Optional[str] = ..., schema_pointer: _Optional[str] = ..., rule: _Optional[_Union[_violation_pb2.RuleRef, _Mapping]] = ..., outcome: _Optional[_Union[RuleOutcome, str]] = ..., skipped: _Optional[str] = ..., cost: _Optional[int] = ..., message: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[TraceStep, _Mapping]]] = ..., omitted_steps: _Optional[int] = ...) -> None: ...

class Create(_message.Message):
    __slots__ = ("object", "generated_name")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    GENERATED_NAME_FIELD_NUMBER: _ClassVar[int]
    object: _document_pb2.Document
    generated_name: str
    def __init__(self, object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., generated_name: _Optional[str] = ...) -> None: ...

class Update(_message.Message):
    __slots__ = ("object", "old_object", "old_object_decoded", "subresource")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_DECODED_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    object: _document_pb2.Document
    old_object: _document_pb2.Document
    old_object_decoded: bool
    subresource: str
    def __init__(self, object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_object_decoded: _Optional[bool] = ..., subresource: _Optional[str] = ...) -> None: ...

class Patch(_message.Message):
    __slots__ = ("type", "patch", "old_object", "old_object_decoded", "subresource")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_DECODED_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    type: PatchType
    patch: _document_pb2.Document
    old_object: _document_pb2.Document
    old_object_decoded: bool
    subresource: str
    def __init__(self, type: _Optional[_Union[PatchType, str]] = ..., patch: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., old_object_decoded: _Optional[bool] = ..., subresource: _Optional[str] = ...) -> None: ...

class WriteItem(_message.Message):
    __slots__ = ("crd", "version", "revision", "namespace", "name", "create", "update", "patch")
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    crd: str
    version: str
    revision: str
    namespace: str
    name: str
    create: Create
    update: Update
    patch: Patch
    def __init__(self, crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., create: _Optional[_Union[Create, _Mapping]] = ..., update: _Optional[_Union[Update, _Mapping]] = ..., patch: _Optional[_Union[Patch, _Mapping]] = ...) -> None: ...

class ObjectItem(_message.Message):
    __slots__ = ("crd", "version", "revision", "object")
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    crd: str
    version: str
    revision: str
    object: _document_pb2.Document
    def __init__(self, crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class EvaluationContext(_message.Message):
    __slots__ = ("catalog", "crds", "at_least", "options")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRDS_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crds: _containers.RepeatedCompositeFieldContainer[_document_pb2.Document]
    at_least: str
    options: EvaluationOptions
    def __init__(self, catalog: _Optional[str] = ..., crds: _Optional[_Iterable[_Union[_document_pb2.Document, _Mapping]]] = ..., at_least: _Optional[str] = ..., options: _Optional[_Union[EvaluationOptions, _Mapping]] = ...) -> None: ...

class EvaluationOptions(_message.Message):
    __slots__ = ("field_validation", "view", "item_timeout", "complete_metadata", "trace", "with_status")
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    ITEM_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_METADATA_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    WITH_STATUS_FIELD_NUMBER: _ClassVar[int]
    field_validation: FieldValidation
    view: ObjectView
    item_timeout: _duration_pb2.Duration
    complete_metadata: bool
    trace: TraceMode
    with_status: bool
    def __init__(self, field_validation: _Optional[_Union[FieldValidation, str]] = ..., view: _Optional[_Union[ObjectView, str]] = ..., item_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., complete_metadata: _Optional[bool] = ..., trace: _Optional[_Union[TraceMode, str]] = ..., with_status: _Optional[bool] = ...) -> None: ...

class ObjectChanges(_message.Message):
    __slots__ = ("pruned", "defaulted", "omitted")
    PRUNED_FIELD_NUMBER: _ClassVar[int]
    DEFAULTED_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    pruned: _containers.RepeatedCompositeFieldContainer[_violation_pb2.FieldChange]
    defaulted: _containers.RepeatedCompositeFieldContainer[_violation_pb2.FieldChange]
    omitted: int
    def __init__(self, pruned: _Optional[_Iterable[_Union[_violation_pb2.FieldChange, _Mapping]]] = ..., defaulted: _Optional[_Iterable[_Union[_violation_pb2.FieldChange, _Mapping]]] = ..., omitted: _Optional[int] = ...) -> None: ...

class RuleTraces(_message.Message):
    __slots__ = ("traces", "omitted")
    TRACES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    traces: _containers.RepeatedCompositeFieldContainer[RuleTrace]
    omitted: int
    def __init__(self, traces: _Optional[_Iterable[_Union[RuleTrace, _Mapping]]] = ..., omitted: _Optional[int] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("allowed", "rejection", "violations", "warnings", "object", "stored_object", "changes", "ratcheted", "revision", "rule_traces", "deletes", "old_object", "presentation", "unchanged", "next")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    STORED_OBJECT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    RATCHETED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RULE_TRACES_FIELD_NUMBER: _ClassVar[int]
    DELETES_FIELD_NUMBER: _ClassVar[int]
    OLD_OBJECT_FIELD_NUMBER: _ClassVar[int]
    PRESENTATION_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    rejection: _violation_pb2.Rejection
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    warnings: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Warning]
    object: _document_pb2.Document
    stored_object: _document_pb2.Document
    changes: ObjectChanges
    ratcheted: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    revision: str
    rule_traces: RuleTraces
    deletes: bool
    old_object: _document_pb2.Document
    presentation: ObjectPresentation
    unchanged: bool
    next: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    def __init__(self, allowed: _Optional[bool] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., warnings: _Optional[_Iterable[_Union[_violation_pb2.Warning, _Mapping]]] = ..., object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., stored_object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., changes: _Optional[_Union[ObjectChanges, _Mapping]] = ..., ratcheted: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., revision: _Optional[str] = ..., rule_traces: _Optional[_Union[RuleTraces, _Mapping]] = ..., deletes: _Optional[bool] = ..., old_object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., presentation: _Optional[_Union[ObjectPresentation, _Mapping]] = ..., unchanged: _Optional[bool] = ..., next: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ...) -> None: ...

class TransformedObject(_message.Message):
    __slots__ = ("object", "changes", "warnings", "revision", "changed", "rejection", "presentation", "violations")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    PRESENTATION_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    object: _document_pb2.Document
    changes: ObjectChanges
    warnings: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Warning]
    revision: str
    changed: bool
    rejection: _violation_pb2.Rejection
    presentation: ObjectPresentation
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    def __init__(self, object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., changes: _Optional[_Union[ObjectChanges, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[_violation_pb2.Warning, _Mapping]]] = ..., revision: _Optional[str] = ..., changed: _Optional[bool] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., presentation: _Optional[_Union[ObjectPresentation, _Mapping]] = ..., violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ...) -> None: ...

class VerdictResult(_message.Message):
    __slots__ = ("verdict", "error")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    error: _status_pb2.Status
    def __init__(self, verdict: _Optional[_Union[Verdict, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class TransformResult(_message.Message):
    __slots__ = ("transformed", "error")
    TRANSFORMED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    transformed: TransformedObject
    error: _status_pb2.Status
    def __init__(self, transformed: _Optional[_Union[TransformedObject, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ValidateRequest(_message.Message):
    __slots__ = ("context", "items", "as_given")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    AS_GIVEN_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[WriteItem]
    as_given: bool
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[WriteItem, _Mapping]]] = ..., as_given: _Optional[bool] = ...) -> None: ...

class ValidateResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[VerdictResult]
    def __init__(self, results: _Optional[_Iterable[_Union[VerdictResult, _Mapping]]] = ...) -> None: ...

class AdmitRequest(_message.Message):
    __slots__ = ("context", "items", "stage", "include")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[WriteItem]
    stage: AdmissionStage
    include: PresentationOptions
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[WriteItem, _Mapping]]] = ..., stage: _Optional[_Union[AdmissionStage, str]] = ..., include: _Optional[_Union[PresentationOptions, _Mapping]] = ...) -> None: ...

class AdmitResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[VerdictResult]
    def __init__(self, results: _Optional[_Iterable[_Union[VerdictResult, _Mapping]]] = ...) -> None: ...

class AdmitStreamRequest(_message.Message):
    __slots__ = ("context", "items", "stage", "include")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[WriteItem]
    stage: AdmissionStage
    include: PresentationOptions
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[WriteItem, _Mapping]]] = ..., stage: _Optional[_Union[AdmissionStage, str]] = ..., include: _Optional[_Union[PresentationOptions, _Mapping]] = ...) -> None: ...

class AdmitStreamResponse(_message.Message):
    __slots__ = ("first_index", "results")
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    results: _containers.RepeatedCompositeFieldContainer[VerdictResult]
    def __init__(self, first_index: _Optional[int] = ..., results: _Optional[_Iterable[_Union[VerdictResult, _Mapping]]] = ...) -> None: ...

class PruneRequest(_message.Message):
    __slots__ = ("context", "items")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[ObjectItem]
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ObjectItem, _Mapping]]] = ...) -> None: ...

class PruneResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TransformResult]
    def __init__(self, results: _Optional[_Iterable[_Union[TransformResult, _Mapping]]] = ...) -> None: ...

class DefaultRequest(_message.Message):
    __slots__ = ("context", "items", "keep_nulls")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    KEEP_NULLS_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[ObjectItem]
    keep_nulls: bool
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ObjectItem, _Mapping]]] = ..., keep_nulls: _Optional[bool] = ...) -> None: ...

class DefaultResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TransformResult]
    def __init__(self, results: _Optional[_Iterable[_Union[TransformResult, _Mapping]]] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("context", "items", "target_version", "include")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TARGET_VERSION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[ObjectItem]
    target_version: str
    include: PresentationOptions
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ObjectItem, _Mapping]]] = ..., target_version: _Optional[str] = ..., include: _Optional[_Union[PresentationOptions, _Mapping]] = ...) -> None: ...

class ReadResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TransformResult]
    def __init__(self, results: _Optional[_Iterable[_Union[TransformResult, _Mapping]]] = ...) -> None: ...

class ReadStreamRequest(_message.Message):
    __slots__ = ("context", "items", "target_version", "include")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TARGET_VERSION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[ObjectItem]
    target_version: str
    include: PresentationOptions
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ObjectItem, _Mapping]]] = ..., target_version: _Optional[str] = ..., include: _Optional[_Union[PresentationOptions, _Mapping]] = ...) -> None: ...

class ReadStreamResponse(_message.Message):
    __slots__ = ("first_index", "results")
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    results: _containers.RepeatedCompositeFieldContainer[TransformResult]
    def __init__(self, first_index: _Optional[int] = ..., results: _Optional[_Iterable[_Union[TransformResult, _Mapping]]] = ...) -> None: ...

class ConvertRequest(_message.Message):
    __slots__ = ("context", "items", "target_version")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TARGET_VERSION_FIELD_NUMBER: _ClassVar[int]
    context: EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[ObjectItem]
    target_version: str
    def __init__(self, context: _Optional[_Union[EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[ObjectItem, _Mapping]]] = ..., target_version: _Optional[str] = ...) -> None: ...

class ConvertResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TransformResult]
    def __init__(self, results: _Optional[_Iterable[_Union[TransformResult, _Mapping]]] = ...) -> None: ...
