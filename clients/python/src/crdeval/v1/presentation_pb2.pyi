import datetime

from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import evaluation_pb2 as _evaluation_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RowObject(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROW_OBJECT_UNSPECIFIED: _ClassVar[RowObject]
    ROW_OBJECT_NONE: _ClassVar[RowObject]
    ROW_OBJECT_METADATA: _ClassVar[RowObject]
    ROW_OBJECT_OBJECT: _ClassVar[RowObject]
ROW_OBJECT_UNSPECIFIED: RowObject
ROW_OBJECT_NONE: RowObject
ROW_OBJECT_METADATA: RowObject
ROW_OBJECT_OBJECT: RowObject

class TableText(_message.Message):
    __slots__ = ("wide", "no_headers", "namespaces", "labels", "show_kind", "label_columns")
    WIDE_FIELD_NUMBER: _ClassVar[int]
    NO_HEADERS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SHOW_KIND_FIELD_NUMBER: _ClassVar[int]
    LABEL_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    wide: bool
    no_headers: bool
    namespaces: bool
    labels: bool
    show_kind: bool
    label_columns: str
    def __init__(self, wide: _Optional[bool] = ..., no_headers: _Optional[bool] = ..., namespaces: _Optional[bool] = ..., labels: _Optional[bool] = ..., show_kind: _Optional[bool] = ..., label_columns: _Optional[str] = ...) -> None: ...

class TableRequest(_message.Message):
    __slots__ = ("context", "crd", "version", "revision", "objects", "now", "row_object", "text", "without_columns", "resource_version", "continue_token", "remaining_item_count", "subresource", "decoded")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    ROW_OBJECT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REMAINING_ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    DECODED_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    crd: str
    version: str
    revision: str
    objects: _containers.RepeatedCompositeFieldContainer[_document_pb2.Document]
    now: _timestamp_pb2.Timestamp
    row_object: RowObject
    text: TableText
    without_columns: bool
    resource_version: str
    continue_token: str
    remaining_item_count: int
    subresource: str
    decoded: bool
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., objects: _Optional[_Iterable[_Union[_document_pb2.Document, _Mapping]]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., row_object: _Optional[_Union[RowObject, str]] = ..., text: _Optional[_Union[TableText, _Mapping]] = ..., without_columns: _Optional[bool] = ..., resource_version: _Optional[str] = ..., continue_token: _Optional[str] = ..., remaining_item_count: _Optional[int] = ..., subresource: _Optional[str] = ..., decoded: _Optional[bool] = ...) -> None: ...

class TableResponse(_message.Message):
    __slots__ = ("table", "text", "rejection", "revision")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    table: _document_pb2.Document
    text: str
    rejection: _violation_pb2.Rejection
    revision: str
    def __init__(self, table: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., text: _Optional[str] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., revision: _Optional[str] = ...) -> None: ...

class SelectFieldsRequest(_message.Message):
    __slots__ = ("context", "crd", "version", "revision", "objects", "selector")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    crd: str
    version: str
    revision: str
    objects: _containers.RepeatedCompositeFieldContainer[_document_pb2.Document]
    selector: str
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., objects: _Optional[_Iterable[_Union[_document_pb2.Document, _Mapping]]] = ..., selector: _Optional[str] = ...) -> None: ...

class SelectedFields(_message.Message):
    __slots__ = ("fields", "matches")
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedCompositeFieldContainer[_evaluation_pb2.SelectableField]
    matches: bool
    def __init__(self, fields: _Optional[_Iterable[_Union[_evaluation_pb2.SelectableField, _Mapping]]] = ..., matches: _Optional[bool] = ...) -> None: ...

class SelectFieldsResult(_message.Message):
    __slots__ = ("selected", "error")
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    selected: SelectedFields
    error: _status_pb2.Status
    def __init__(self, selected: _Optional[_Union[SelectedFields, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class SelectFieldsResponse(_message.Message):
    __slots__ = ("results", "selectable", "rejection", "revision")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SELECTABLE_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SelectFieldsResult]
    selectable: _containers.RepeatedScalarFieldContainer[str]
    rejection: _violation_pb2.Rejection
    revision: str
    def __init__(self, results: _Optional[_Iterable[_Union[SelectFieldsResult, _Mapping]]] = ..., selectable: _Optional[_Iterable[str]] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., revision: _Optional[str] = ...) -> None: ...

class GetScaleRequest(_message.Message):
    __slots__ = ("context", "crd", "version", "revision", "object")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    crd: str
    version: str
    revision: str
    object: _document_pb2.Document
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class GetScaleResponse(_message.Message):
    __slots__ = ("scale", "rejection", "revision")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    scale: _document_pb2.Document
    rejection: _violation_pb2.Rejection
    revision: str
    def __init__(self, scale: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., revision: _Optional[str] = ...) -> None: ...

class SetScaleRequest(_message.Message):
    __slots__ = ("context", "crd", "version", "revision", "object", "scale")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    crd: str
    version: str
    revision: str
    object: _document_pb2.Document
    scale: _document_pb2.Document
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., scale: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class SetScaleResponse(_message.Message):
    __slots__ = ("object", "rejection", "revision", "warnings", "violations")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    object: _document_pb2.Document
    rejection: _violation_pb2.Rejection
    revision: str
    warnings: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Warning]
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    def __init__(self, object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., revision: _Optional[str] = ..., warnings: _Optional[_Iterable[_Union[_violation_pb2.Warning, _Mapping]]] = ..., violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ...) -> None: ...

class GetOpenApiRequest(_message.Message):
    __slots__ = ("catalog", "spec", "group", "version", "at_least", "if_none_match", "crd", "revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    IF_NONE_MATCH_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    spec: str
    group: str
    version: str
    at_least: str
    if_none_match: str
    crd: str
    revision: str
    def __init__(self, catalog: _Optional[str] = ..., spec: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., at_least: _Optional[str] = ..., if_none_match: _Optional[str] = ..., crd: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class GetOpenApiResponse(_message.Message):
    __slots__ = ("document", "etag")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    etag: str
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ...) -> None: ...

class DiscoverRequest(_message.Message):
    __slots__ = ("catalog", "group", "version", "aggregated", "at_least", "if_none_match", "crd", "revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AGGREGATED_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    IF_NONE_MATCH_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    group: str
    version: str
    aggregated: bool
    at_least: str
    if_none_match: str
    crd: str
    revision: str
    def __init__(self, catalog: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., aggregated: _Optional[bool] = ..., at_least: _Optional[str] = ..., if_none_match: _Optional[str] = ..., crd: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class DiscoverResponse(_message.Message):
    __slots__ = ("document", "etag")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    etag: str
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ...) -> None: ...

class GetCrdObjectRequest(_message.Message):
    __slots__ = ("catalog", "crd", "at_least", "if_none_match")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    IF_NONE_MATCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    at_least: str
    if_none_match: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., at_least: _Optional[str] = ..., if_none_match: _Optional[str] = ...) -> None: ...

class GetCrdObjectResponse(_message.Message):
    __slots__ = ("document", "etag")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    etag: str
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("catalog", "path", "api_version", "recursive", "max_depth", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    MAX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    path: str
    api_version: str
    recursive: bool
    max_depth: int
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., path: _Optional[str] = ..., api_version: _Optional[str] = ..., recursive: _Optional[bool] = ..., max_depth: _Optional[int] = ..., at_least: _Optional[str] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...
