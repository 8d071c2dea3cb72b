from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import evaluation_pb2 as _evaluation_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BodyItem(_message.Message):
    __slots__ = ("crd", "version", "revision", "namespace", "name", "body", "create", "update")
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    CREATE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    crd: str
    version: str
    revision: str
    namespace: str
    name: str
    body: _document_pb2.Document
    create: _evaluation_pb2.Create
    update: _evaluation_pb2.Update
    def __init__(self, crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., body: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., create: _Optional[_Union[_evaluation_pb2.Create, _Mapping]] = ..., update: _Optional[_Union[_evaluation_pb2.Update, _Mapping]] = ...) -> None: ...

class DecodedItem(_message.Message):
    __slots__ = ("crd", "version", "revision", "namespace", "name", "create", "update")
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    crd: str
    version: str
    revision: str
    namespace: str
    name: str
    create: _evaluation_pb2.Create
    update: _evaluation_pb2.Update
    def __init__(self, crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., create: _Optional[_Union[_evaluation_pb2.Create, _Mapping]] = ..., update: _Optional[_Union[_evaluation_pb2.Update, _Mapping]] = ...) -> None: ...

class DecodedBody(_message.Message):
    __slots__ = ("verdict", "strict_errors", "validate_accepts", "reads_as_written")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    STRICT_ERRORS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    READS_AS_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    verdict: _evaluation_pb2.Verdict
    strict_errors: _containers.RepeatedScalarFieldContainer[str]
    validate_accepts: bool
    reads_as_written: bool
    def __init__(self, verdict: _Optional[_Union[_evaluation_pb2.Verdict, _Mapping]] = ..., strict_errors: _Optional[_Iterable[str]] = ..., validate_accepts: _Optional[bool] = ..., reads_as_written: _Optional[bool] = ...) -> None: ...

class ValidatedObject(_message.Message):
    __slots__ = ("verdict", "reads_as_written")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    READS_AS_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    verdict: _evaluation_pb2.Verdict
    reads_as_written: bool
    def __init__(self, verdict: _Optional[_Union[_evaluation_pb2.Verdict, _Mapping]] = ..., reads_as_written: _Optional[bool] = ...) -> None: ...

class DecodeBodyResult(_message.Message):
    __slots__ = ("decoded", "error")
    DECODED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    decoded: DecodedBody
    error: _status_pb2.Status
    def __init__(self, decoded: _Optional[_Union[DecodedBody, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ValidateDecodedResult(_message.Message):
    __slots__ = ("validated", "error")
    VALIDATED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    validated: ValidatedObject
    error: _status_pb2.Status
    def __init__(self, validated: _Optional[_Union[ValidatedObject, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class DecodeBodyRequest(_message.Message):
    __slots__ = ("context", "items")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[BodyItem]
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[BodyItem, _Mapping]]] = ...) -> None: ...

class DecodeBodyResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[DecodeBodyResult]
    def __init__(self, results: _Optional[_Iterable[_Union[DecodeBodyResult, _Mapping]]] = ...) -> None: ...

class DecodeBodyStreamRequest(_message.Message):
    __slots__ = ("context", "items")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[BodyItem]
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[BodyItem, _Mapping]]] = ...) -> None: ...

class DecodeBodyStreamResponse(_message.Message):
    __slots__ = ("first_index", "results")
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    results: _containers.RepeatedCompositeFieldContainer[DecodeBodyResult]
    def __init__(self, first_index: _Optional[int] = ..., results: _Optional[_Iterable[_Union[DecodeBodyResult, _Mapping]]] = ...) -> None: ...

class ValidateDecodedRequest(_message.Message):
    __slots__ = ("context", "items")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[DecodedItem]
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[DecodedItem, _Mapping]]] = ...) -> None: ...

class ValidateDecodedResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ValidateDecodedResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ValidateDecodedResult, _Mapping]]] = ...) -> None: ...

class ValidateDecodedStreamRequest(_message.Message):
    __slots__ = ("context", "items")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    context: _evaluation_pb2.EvaluationContext
    items: _containers.RepeatedCompositeFieldContainer[DecodedItem]
    def __init__(self, context: _Optional[_Union[_evaluation_pb2.EvaluationContext, _Mapping]] = ..., items: _Optional[_Iterable[_Union[DecodedItem, _Mapping]]] = ...) -> None: ...

class ValidateDecodedStreamResponse(_message.Message):
    __slots__ = ("first_index", "results")
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    results: _containers.RepeatedCompositeFieldContainer[ValidateDecodedResult]
    def __init__(self, first_index: _Optional[int] = ..., results: _Optional[_Iterable[_Union[ValidateDecodedResult, _Mapping]]] = ...) -> None: ...

class GetFieldManagementRequest(_message.Message):
    __slots__ = ("catalog", "crd", "version", "revision", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    version: str
    revision: str
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., version: _Optional[str] = ..., revision: _Optional[str] = ..., at_least: _Optional[str] = ...) -> None: ...

class ResetFields(_message.Message):
    __slots__ = ("subresource", "api_version", "fields")
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    subresource: str
    api_version: str
    fields: _document_pb2.Document
    def __init__(self, subresource: _Optional[str] = ..., api_version: _Optional[str] = ..., fields: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class ReplicasPath(_message.Message):
    __slots__ = ("api_version", "fields")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, api_version: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ...) -> None: ...

class VersionFieldManagement(_message.Message):
    __slots__ = ("api_version", "reset_fields")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELDS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    reset_fields: _containers.RepeatedCompositeFieldContainer[ResetFields]
    def __init__(self, api_version: _Optional[str] = ..., reset_fields: _Optional[_Iterable[_Union[ResetFields, _Mapping]]] = ...) -> None: ...

class GetFieldManagementResponse(_message.Message):
    __slots__ = ("versions", "replicas_paths", "revision")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_PATHS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[VersionFieldManagement]
    replicas_paths: _containers.RepeatedCompositeFieldContainer[ReplicasPath]
    revision: str
    def __init__(self, versions: _Optional[_Iterable[_Union[VersionFieldManagement, _Mapping]]] = ..., replicas_paths: _Optional[_Iterable[_Union[ReplicasPath, _Mapping]]] = ..., revision: _Optional[str] = ...) -> None: ...

class GetOpenApiModelsRequest(_message.Message):
    __slots__ = ("catalog", "crd", "revision", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    revision: str
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., revision: _Optional[str] = ..., at_least: _Optional[str] = ...) -> None: ...

class GetOpenApiModelsResponse(_message.Message):
    __slots__ = ("document", "revision")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    revision: str
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., revision: _Optional[str] = ...) -> None: ...
