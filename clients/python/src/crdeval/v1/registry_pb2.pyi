import datetime

from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CrdView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CRD_VIEW_UNSPECIFIED: _ClassVar[CrdView]
    CRD_VIEW_BASIC: _ClassVar[CrdView]
    CRD_VIEW_FULL: _ClassVar[CrdView]
CRD_VIEW_UNSPECIFIED: CrdView
CRD_VIEW_BASIC: CrdView
CRD_VIEW_FULL: CrdView

class Catalog(_message.Message):
    __slots__ = ("name", "kubernetes_minor", "etag", "create_time", "crd_count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_MINOR_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CRD_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    kubernetes_minor: int
    etag: str
    create_time: _timestamp_pb2.Timestamp
    crd_count: int
    def __init__(self, name: _Optional[str] = ..., kubernetes_minor: _Optional[int] = ..., etag: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., crd_count: _Optional[int] = ...) -> None: ...

class CrdCondition(_message.Message):
    __slots__ = ("type", "status", "reason", "message")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    type: str
    status: str
    reason: str
    message: str
    def __init__(self, type: _Optional[str] = ..., status: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class CrdVersion(_message.Message):
    __slots__ = ("name", "served", "storage", "deprecated", "deprecation_warning", "has_rules", "subresources")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    DEPRECATED_FIELD_NUMBER: _ClassVar[int]
    DEPRECATION_WARNING_FIELD_NUMBER: _ClassVar[int]
    HAS_RULES_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCES_FIELD_NUMBER: _ClassVar[int]
    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str
    has_rules: bool
    subresources: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., served: _Optional[bool] = ..., storage: _Optional[bool] = ..., deprecated: _Optional[bool] = ..., deprecation_warning: _Optional[str] = ..., has_rules: _Optional[bool] = ..., subresources: _Optional[_Iterable[str]] = ...) -> None: ...

class Crd(_message.Message):
    __slots__ = ("catalog", "name", "revision", "etag", "generation", "create_time", "update_time", "group", "kind", "list_kind", "plural", "singular", "short_names", "categories", "scope", "versions", "storage_version", "stored_versions", "established", "conditions", "manifest")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LIST_KIND_FIELD_NUMBER: _ClassVar[int]
    PLURAL_FIELD_NUMBER: _ClassVar[int]
    SINGULAR_FIELD_NUMBER: _ClassVar[int]
    SHORT_NAMES_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    STORED_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    ESTABLISHED_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    name: str
    revision: str
    etag: str
    generation: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    group: str
    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: _containers.RepeatedScalarFieldContainer[str]
    categories: _containers.RepeatedScalarFieldContainer[str]
    scope: str
    versions: _containers.RepeatedCompositeFieldContainer[CrdVersion]
    storage_version: str
    stored_versions: _containers.RepeatedScalarFieldContainer[str]
    established: bool
    conditions: _containers.RepeatedCompositeFieldContainer[CrdCondition]
    manifest: _document_pb2.Document
    def __init__(self, catalog: _Optional[str] = ..., name: _Optional[str] = ..., revision: _Optional[str] = ..., etag: _Optional[str] = ..., generation: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., group: _Optional[str] = ..., kind: _Optional[str] = ..., list_kind: _Optional[str] = ..., plural: _Optional[str] = ..., singular: _Optional[str] = ..., short_names: _Optional[_Iterable[str]] = ..., categories: _Optional[_Iterable[str]] = ..., scope: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[CrdVersion, _Mapping]]] = ..., storage_version: _Optional[str] = ..., stored_versions: _Optional[_Iterable[str]] = ..., established: _Optional[bool] = ..., conditions: _Optional[_Iterable[_Union[CrdCondition, _Mapping]]] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...

class CostCulprit(_message.Message):
    __slots__ = ("schema_pointer", "keyword", "suggested")
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    KEYWORD_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_FIELD_NUMBER: _ClassVar[int]
    schema_pointer: str
    keyword: str
    suggested: int
    def __init__(self, schema_pointer: _Optional[str] = ..., keyword: _Optional[str] = ..., suggested: _Optional[int] = ...) -> None: ...

class RuleReport(_message.Message):
    __slots__ = ("schema_pointer", "rule", "estimated_cost", "cardinality", "limit", "share_of_limit", "uses_old_self", "culprits", "lowest_minor", "lowest_minor_because", "message_estimated_cost")
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SHARE_OF_LIMIT_FIELD_NUMBER: _ClassVar[int]
    USES_OLD_SELF_FIELD_NUMBER: _ClassVar[int]
    CULPRITS_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    schema_pointer: str
    rule: _violation_pb2.RuleRef
    estimated_cost: int
    cardinality: int
    limit: int
    share_of_limit: float
    uses_old_self: bool
    culprits: _containers.RepeatedCompositeFieldContainer[CostCulprit]
    lowest_minor: int
    lowest_minor_because: str
    message_estimated_cost: int
    def __init__(self, schema_pointer: _Optional[str] = ..., rule: _Optional[_Union[_violation_pb2.RuleRef, _Mapping]] = ..., estimated_cost: _Optional[int] = ..., cardinality: _Optional[int] = ..., limit: _Optional[int] = ..., share_of_limit: _Optional[float] = ..., uses_old_self: _Optional[bool] = ..., culprits: _Optional[_Iterable[_Union[CostCulprit, _Mapping]]] = ..., lowest_minor: _Optional[int] = ..., lowest_minor_because: _Optional[str] = ..., message_estimated_cost: _Optional[int] = ...) -> None: ...

class VersionReport(_message.Message):
    __slots__ = ("version", "lowest_minor", "rules", "estimated_cost", "cost_limit", "lowest_minor_because")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    COST_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    version: CrdVersion
    lowest_minor: int
    rules: _containers.RepeatedCompositeFieldContainer[RuleReport]
    estimated_cost: int
    cost_limit: int
    lowest_minor_because: str
    def __init__(self, version: _Optional[_Union[CrdVersion, _Mapping]] = ..., lowest_minor: _Optional[int] = ..., rules: _Optional[_Iterable[_Union[RuleReport, _Mapping]]] = ..., estimated_cost: _Optional[int] = ..., cost_limit: _Optional[int] = ..., lowest_minor_because: _Optional[str] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("violations", "warnings", "versions", "refusal", "lowest_minor", "lowest_minor_because")
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_FIELD_NUMBER: _ClassVar[int]
    LOWEST_MINOR_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    versions: _containers.RepeatedCompositeFieldContainer[VersionReport]
    refusal: _violation_pb2.Refusal
    lowest_minor: int
    lowest_minor_because: str
    def __init__(self, violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., versions: _Optional[_Iterable[_Union[VersionReport, _Mapping]]] = ..., refusal: _Optional[_Union[_violation_pb2.Refusal, _Mapping]] = ..., lowest_minor: _Optional[int] = ..., lowest_minor_because: _Optional[str] = ...) -> None: ...

class RegisterCrdRequest(_message.Message):
    __slots__ = ("catalog", "manifest", "etag", "create_only")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    manifest: _document_pb2.Document
    etag: str
    create_only: bool
    def __init__(self, catalog: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., etag: _Optional[str] = ..., create_only: _Optional[bool] = ...) -> None: ...

class RegisterCrdResponse(_message.Message):
    __slots__ = ("accepted", "report", "crd", "token")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    report: Report
    crd: Crd
    token: str
    def __init__(self, accepted: _Optional[bool] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class CheckCrdRequest(_message.Message):
    __slots__ = ("catalog", "manifest", "at_least")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    manifest: _document_pb2.Document
    at_least: str
    def __init__(self, catalog: _Optional[str] = ..., manifest: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., at_least: _Optional[str] = ...) -> None: ...

class CheckCrdResponse(_message.Message):
    __slots__ = ("accepted", "report", "crd")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    report: Report
    crd: Crd
    def __init__(self, accepted: _Optional[bool] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., crd: _Optional[_Union[Crd, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("catalog", "crd", "etag")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    CRD_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    crd: str
    etag: str
    def __init__(self, catalog: _Optional[str] = ..., crd: _Optional[str] = ..., etag: _Optional[str] = ...) -> None: ...

class DeleteCrdResponse(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class CreateCatalogRequest(_message.Message):
    __slots__ = ("catalog", "kubernetes_minor")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_MINOR_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    kubernetes_minor: int
    def __init__(self, catalog: _Optional[str] = ..., kubernetes_minor: _Optional[int] = ...) -> None: ...

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
