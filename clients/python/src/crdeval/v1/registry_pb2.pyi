import datetime

from crdeval.v1 import conversion_pb2 as _conversion_pb2
from crdeval.v1 import diff_pb2 as _diff_pb2
from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import evaluation_pb2 as _evaluation_pb2
from crdeval.v1 import report_pb2 as _report_pb2
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

class RegistrationOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REGISTRATION_OUTCOME_UNSPECIFIED: _ClassVar[RegistrationOutcome]
    REGISTRATION_OUTCOME_CREATED: _ClassVar[RegistrationOutcome]
    REGISTRATION_OUTCOME_UPDATED: _ClassVar[RegistrationOutcome]
    REGISTRATION_OUTCOME_UNCHANGED: _ClassVar[RegistrationOutcome]
    REGISTRATION_OUTCOME_REJECTED: _ClassVar[RegistrationOutcome]

class CrdView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CRD_VIEW_UNSPECIFIED: _ClassVar[CrdView]
    CRD_VIEW_BASIC: _ClassVar[CrdView]
    CRD_VIEW_FULL: _ClassVar[CrdView]

class WatchEventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WATCH_EVENT_TYPE_UNSPECIFIED: _ClassVar[WatchEventType]
    WATCH_EVENT_TYPE_ADDED: _ClassVar[WatchEventType]
    WATCH_EVENT_TYPE_MODIFIED: _ClassVar[WatchEventType]
    WATCH_EVENT_TYPE_DELETED: _ClassVar[WatchEventType]
    WATCH_EVENT_TYPE_SYNCED: _ClassVar[WatchEventType]
REGISTRATION_OUTCOME_UNSPECIFIED: RegistrationOutcome
REGISTRATION_OUTCOME_CREATED: RegistrationOutcome
REGISTRATION_OUTCOME_UPDATED: RegistrationOutcome
REGISTRATION_OUTCOME_UNCHANGED: RegistrationOutcome
REGISTRATION_OUTCOME_REJECTED: RegistrationOutcome
CRD_VIEW_UNSPECIFIED: CrdView
CRD_VIEW_BASIC: CrdView
CRD_VIEW_FULL: CrdView
WATCH_EVENT_TYPE_UNSPECIFIED: WatchEventType
WATCH_EVENT_TYPE_ADDED: WatchEventType
WATCH_EVENT_TYPE_MODIFIED: WatchEventType
WATCH_EVENT_TYPE_DELETED: WatchEventType
WATCH_EVENT_TYPE_SYNCED: WatchEventType

class Catalog(_message.Message):
    __slots__ = ("name", "kubernetes", "etag", "create_time", "crd_count", "usage", "quota")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CRD_COUNT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    name: str
    kubernetes: str
    etag: str
    create_time: _timestamp_pb2.Timestamp
    crd_count: int
    usage: CatalogUsage
    quota: CatalogQuota
    def __init__(self, name: _Optional[str] = ..., kubernetes: _Optional[str] = ..., etag: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., crd_count: _Optional[int] = ..., usage: _Optional[_Union[CatalogUsage, _Mapping]] = ..., quota: _Optional[_Union[CatalogQuota, _Mapping]] = ...) -> None: ...

class CatalogUsage(_message.Message):
    __slots__ = ("revisions", "bytes", "watches")
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    revisions: int
    bytes: int
    watches: int
    def __init__(self, revisions: _Optional[int] = ..., bytes: _Optional[int] = ..., watches: _Optional[int] = ...) -> None: ...

class CatalogQuota(_message.Message):
    __slots__ = ("crds", "revisions", "bytes", "watches")
    CRDS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    crds: int
    revisions: int
    bytes: int
    watches: int
    def __init__(self, crds: _Optional[int] = ..., revisions: _Optional[int] = ..., bytes: _Optional[int] = ..., watches: _Optional[int] = ...) -> None: ...

class CrdCondition(_message.Message):
    __slots__ = ("type", "status", "reason", "message", "last_transition_time", "observed_generation")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LAST_TRANSITION_TIME_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    type: str
    status: str
    reason: str
    message: str
    last_transition_time: _timestamp_pb2.Timestamp
    observed_generation: int
    def __init__(self, type: _Optional[str] = ..., status: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., last_transition_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observed_generation: _Optional[int] = ...) -> None: ...

class CrdNames(_message.Message):
    __slots__ = ("plural", "singular", "short_names", "kind", "list_kind", "categories")
    PLURAL_FIELD_NUMBER: _ClassVar[int]
    SINGULAR_FIELD_NUMBER: _ClassVar[int]
    SHORT_NAMES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LIST_KIND_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    plural: str
    singular: str
    short_names: _containers.RepeatedScalarFieldContainer[str]
    kind: str
    list_kind: str
    categories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, plural: _Optional[str] = ..., singular: _Optional[str] = ..., short_names: _Optional[_Iterable[str]] = ..., kind: _Optional[str] = ..., list_kind: _Optional[str] = ..., categories: _Optional[_Iterable[str]] = ...) -> None: ...

class Crd(_message.Message):
    __slots__ = ("catalog", "name", "revision", "etag", "generation", "create_time", "update_time", "group", "names", "scope", "versions", "storage_version", "manifest", "status", "conversion", "as_stored", "not_older_than")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CONVERSION_FIELD_NUMBER: _ClassVar[int]
    AS_STORED_FIELD_NUMBER: _ClassVar[int]
    NOT_OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    name: str
    revision: str
    etag: str
    generation: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    group: str
    names: CrdNames
    scope: str
    versions: _containers.RepeatedCompositeFieldContainer[_report_pb2.CrdVersion]
    storage_version: str
    manifest: _document_pb2.Document
    status: CrdStatus
    conversion: _document_pb2.Document
    as_stored: bool
    not_older_than: int
    def __init__(self, catalog: _Optional[str] = ..., name: _Optional[str] = ..., revision: _Optional[str] = ..., etag: _Optional[str] = ..., generation: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., group: _Optional[str] = ..., names: _Optional[_Union[CrdNames, _Mapping]] = ..., scope: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[_report_pb2.CrdVersion, _Mapping]]] = ..., storage_version: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., status: _Optional[_Union[CrdStatus, _Mapping]] = ..., conversion: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., as_stored: _Optional[bool] = ..., not_older_than: _Optional[int] = ...) -> None: ...

class CrdStatus(_message.Message):
    __slots__ = ("established", "conditions", "stored_versions", "accepted_names", "observed_generation", "json")
    ESTABLISHED_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    STORED_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_NAMES_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    established: bool
    conditions: _containers.RepeatedCompositeFieldContainer[CrdCondition]
    stored_versions: _containers.RepeatedScalarFieldContainer[str]
    accepted_names: CrdNames
    observed_generation: int
    json: _document_pb2.Document
    def __init__(self, established: _Optional[bool] = ..., conditions: _Optional[_Iterable[_Union[CrdCondition, _Mapping]]] = ..., stored_versions: _Optional[_Iterable[str]] = ..., accepted_names: _Optional[_Union[CrdNames, _Mapping]] = ..., observed_generation: _Optional[int] = ..., json: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class RegisterCrdRequest(_message.Message):
    __slots__ = ("catalog", "manifest", "etag", "create_only", "conversion", "as_stored", "not_older_than", "with_status", "field_validation")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONVERSION_FIELD_NUMBER: _ClassVar[int]
    AS_STORED_FIELD_NUMBER: _ClassVar[int]
    NOT_OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    WITH_STATUS_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    manifest: _document_pb2.Document
    etag: str
    create_only: bool
    conversion: _document_pb2.Document
    as_stored: bool
    not_older_than: int
    with_status: bool
    field_validation: _evaluation_pb2.FieldValidation
    def __init__(self, catalog: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ..., create_only: _Optional[bool] = ..., conversion: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., as_stored: _Optional[bool] = ..., not_older_than: _Optional[int] = ..., with_status: _Optional[bool] = ..., field_validation: _Optional[_Union[_evaluation_pb2.FieldValidation, str]] = ...) -> None: ...

class RegisterCrdResponse(_message.Message):
    __slots__ = ("accepted", "report", "crd", "token", "outcome")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    report: _report_pb2.CrdReport
    crd: Crd
    token: str
    outcome: RegistrationOutcome
    def __init__(self, accepted: _Optional[bool] = ..., report: _Optional[_Union[_report_pb2.CrdReport, _Mapping]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ..., token: _Optional[str] = ..., outcome: _Optional[_Union[RegistrationOutcome, str]] = ...) -> None: ...

class RegisterCrdsEntry(_message.Message):
    __slots__ = ("manifest", "etag", "create_only", "conversion", "as_stored", "not_older_than", "field_validation")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONVERSION_FIELD_NUMBER: _ClassVar[int]
    AS_STORED_FIELD_NUMBER: _ClassVar[int]
    NOT_OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    manifest: _document_pb2.Document
    etag: str
    create_only: bool
    conversion: _document_pb2.Document
    as_stored: bool
    not_older_than: int
    field_validation: _evaluation_pb2.FieldValidation
    def __init__(self, manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ..., create_only: _Optional[bool] = ..., conversion: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., as_stored: _Optional[bool] = ..., not_older_than: _Optional[int] = ..., field_validation: _Optional[_Union[_evaluation_pb2.FieldValidation, str]] = ...) -> None: ...

class RegisterCrdsRequest(_message.Message):
    __slots__ = ("catalog", "entries")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    entries: _containers.RepeatedCompositeFieldContainer[RegisterCrdsEntry]
    def __init__(self, catalog: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[RegisterCrdsEntry, _Mapping]]] = ...) -> None: ...

class RegisterCrdsResult(_message.Message):
    __slots__ = ("crd", "registration", "error")
    CRD_FIELD_NUMBER: _ClassVar[int]
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    crd: str
    registration: RegisterCrdResponse
    error: _status_pb2.Status
    def __init__(self, crd: _Optional[str] = ..., registration: _Optional[_Union[RegisterCrdResponse, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class RegisterCrdsResponse(_message.Message):
    __slots__ = ("results", "token")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RegisterCrdsResult]
    token: str
    def __init__(self, results: _Optional[_Iterable[_Union[RegisterCrdsResult, _Mapping]]] = ..., token: _Optional[str] = ...) -> None: ...

class CheckCrdRequest(_message.Message):
    __slots__ = ("catalog", "manifest", "at_least", "with_status", "field_validation")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    WITH_STATUS_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    manifest: _document_pb2.Document
    at_least: str
    with_status: bool
    field_validation: _evaluation_pb2.FieldValidation
    def __init__(self, catalog: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., at_least: _Optional[str] = ..., with_status: _Optional[bool] = ..., field_validation: _Optional[_Union[_evaluation_pb2.FieldValidation, str]] = ...) -> None: ...

class CheckCrdResponse(_message.Message):
    __slots__ = ("accepted", "report", "crd", "outcome")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    report: _report_pb2.CrdReport
    crd: Crd
    outcome: RegistrationOutcome
    def __init__(self, accepted: _Optional[bool] = ..., report: _Optional[_Union[_report_pb2.CrdReport, _Mapping]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ..., outcome: _Optional[_Union[RegistrationOutcome, str]] = ...) -> None: ...

class GetCrdRequest(_message.Message):
    __slots__ = ("catalog", "crd", "revision", "view", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    revision: str
    view: CrdView
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., revision: _Optional[str] = ..., view: _Optional[_Union[CrdView, str]] = ..., at_least: _Optional[str] = ...) -> None: ...

class GetCrdResponse(_message.Message):
    __slots__ = ("crd",)
    CRD_FIELD_NUMBER: _ClassVar[int]
    crd: Crd
    def __init__(self, crd: _Optional[_Union[Crd, _Mapping]] = ...) -> None: ...

class ListCrdsRequest(_message.Message):
    __slots__ = ("catalog", "page_size", "page_token", "view", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    page_size: int
    page_token: str
    view: CrdView
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., view: _Optional[_Union[CrdView, str]] = ..., at_least: _Optional[str] = ...) -> None: ...

class ListCrdsResponse(_message.Message):
    __slots__ = ("crds", "next_page_token", "token")
    CRDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    crds: _containers.RepeatedCompositeFieldContainer[Crd]
    next_page_token: str
    token: str
    def __init__(self, crds: _Optional[_Iterable[_Union[Crd, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class DeleteCrdRequest(_message.Message):
    __slots__ = ("catalog", "crd", "etag", "not_older_than")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    NOT_OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    etag: str
    not_older_than: int
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., etag: _Optional[str] = ..., not_older_than: _Optional[int] = ...) -> None: ...

class DeleteCrdResponse(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class SetStoredVersionsRequest(_message.Message):
    __slots__ = ("catalog", "crd", "stored_versions", "etag")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    STORED_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    stored_versions: _containers.RepeatedScalarFieldContainer[str]
    etag: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., stored_versions: _Optional[_Iterable[str]] = ..., etag: _Optional[str] = ...) -> None: ...

class SetStoredVersionsResponse(_message.Message):
    __slots__ = ("crd", "token")
    CRD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    crd: Crd
    token: str
    def __init__(self, crd: _Optional[_Union[Crd, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class SetConversionRequest(_message.Message):
    __slots__ = ("catalog", "crd", "rules", "etag", "validate_only")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    rules: _document_pb2.Document
    etag: str
    validate_only: bool
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., rules: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ..., validate_only: _Optional[bool] = ...) -> None: ...

class SetConversionResponse(_message.Message):
    __slots__ = ("accepted", "report", "crd", "token", "outcome")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    report: _conversion_pb2.ConversionReport
    crd: Crd
    token: str
    outcome: RegistrationOutcome
    def __init__(self, accepted: _Optional[bool] = ..., report: _Optional[_Union[_conversion_pb2.ConversionReport, _Mapping]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ..., token: _Optional[str] = ..., outcome: _Optional[_Union[RegistrationOutcome, str]] = ...) -> None: ...

class WatchCrdsRequest(_message.Message):
    __slots__ = ("catalog", "from_token", "view")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    FROM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    from_token: str
    view: CrdView
    def __init__(self, catalog: _Optional[str] = ..., from_token: _Optional[str] = ..., view: _Optional[_Union[CrdView, str]] = ...) -> None: ...

class WatchCrdsResponse(_message.Message):
    __slots__ = ("type", "crd", "token")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    type: WatchEventType
    crd: Crd
    token: str
    def __init__(self, type: _Optional[_Union[WatchEventType, str]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class DiffCrdRequest(_message.Message):
    __slots__ = ("catalog", "manifest", "base", "crd", "revision", "objects", "at_least", "counterexample_tries")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    COUNTEREXAMPLE_TRIES_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    manifest: _document_pb2.Document
    base: _document_pb2.Document
    crd: str
    revision: str
    objects: _containers.RepeatedCompositeFieldContainer[_document_pb2.Document]
    at_least: str
    counterexample_tries: int
    def __init__(self, catalog: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., base: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., crd: _Optional[str] = ..., revision: _Optional[str] = ..., objects: _Optional[_Iterable[_Union[_document_pb2.Document, _Mapping]]] = ..., at_least: _Optional[str] = ..., counterexample_tries: _Optional[int] = ...) -> None: ...

class DiffCrdResponse(_message.Message):
    __slots__ = ("change_class", "changes", "omitted_changes", "accepted", "report", "identical", "replay_results", "base", "search_incomplete")
    CHANGE_CLASS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_CHANGES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    IDENTICAL_FIELD_NUMBER: _ClassVar[int]
    REPLAY_RESULTS_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_INCOMPLETE_FIELD_NUMBER: _ClassVar[int]
    change_class: _diff_pb2.ChangeClass
    changes: _containers.RepeatedCompositeFieldContainer[_diff_pb2.CrdChange]
    omitted_changes: int
    accepted: bool
    report: _report_pb2.CrdReport
    identical: bool
    replay_results: _containers.RepeatedCompositeFieldContainer[_diff_pb2.ReplayResult]
    base: Crd
    search_incomplete: bool
    def __init__(self, change_class: _Optional[_Union[_diff_pb2.ChangeClass, str]] = ..., changes: _Optional[_Iterable[_Union[_diff_pb2.CrdChange, _Mapping]]] = ..., omitted_changes: _Optional[int] = ..., accepted: _Optional[bool] = ..., report: _Optional[_Union[_report_pb2.CrdReport, _Mapping]] = ..., identical: _Optional[bool] = ..., replay_results: _Optional[_Iterable[_Union[_diff_pb2.ReplayResult, _Mapping]]] = ..., base: _Optional[_Union[Crd, _Mapping]] = ..., search_incomplete: _Optional[bool] = ...) -> None: ...

class CreateCatalogRequest(_message.Message):
    __slots__ = ("catalog", "kubernetes")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    kubernetes: str
    def __init__(self, catalog: _Optional[str] = ..., kubernetes: _Optional[str] = ...) -> None: ...

class CreateCatalogResponse(_message.Message):
    __slots__ = ("catalog", "token")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    catalog: Catalog
    token: str
    def __init__(self, catalog: _Optional[_Union[Catalog, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class GetCatalogRequest(_message.Message):
    __slots__ = ("catalog", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., at_least: _Optional[str] = ...) -> None: ...

class GetCatalogResponse(_message.Message):
    __slots__ = ("catalog",)
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    catalog: Catalog
    def __init__(self, catalog: _Optional[_Union[Catalog, _Mapping]] = ...) -> None: ...

class ListCatalogsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "at_least")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    at_least: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., at_least: _Optional[str] = ...) -> None: ...

class ListCatalogsResponse(_message.Message):
    __slots__ = ("catalogs", "next_page_token", "token")
    CATALOGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    catalogs: _containers.RepeatedCompositeFieldContainer[Catalog]
    next_page_token: str
    token: str
    def __init__(self, catalogs: _Optional[_Iterable[_Union[Catalog, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class DeleteCatalogRequest(_message.Message):
    __slots__ = ("catalog", "force", "etag")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    force: bool
    etag: str
    def __init__(self, catalog: _Optional[str] = ..., force: _Optional[bool] = ..., etag: _Optional[str] = ...) -> None: ...

class DeleteCatalogResponse(_message.Message):
    __slots__ = ("token", "deleted_crds")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DELETED_CRDS_FIELD_NUMBER: _ClassVar[int]
    token: str
    deleted_crds: int
    def __init__(self, token: _Optional[str] = ..., deleted_crds: _Optional[int] = ...) -> None: ...
