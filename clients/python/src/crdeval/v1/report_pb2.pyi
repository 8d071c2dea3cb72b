from crdeval.v1 import conversion_pb2 as _conversion_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("schema_pointer", "rule", "estimated_cost", "cardinality", "cost_limit", "share_of_limit", "uses_old_self", "culprits", "lowest_kubernetes", "lowest_kubernetes_reason", "message_estimated_cost")
    SCHEMA_POINTER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    COST_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SHARE_OF_LIMIT_FIELD_NUMBER: _ClassVar[int]
    USES_OLD_SELF_FIELD_NUMBER: _ClassVar[int]
    CULPRITS_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    schema_pointer: str
    rule: _violation_pb2.RuleRef
    estimated_cost: int
    cardinality: int
    cost_limit: int
    share_of_limit: float
    uses_old_self: bool
    culprits: _containers.RepeatedCompositeFieldContainer[CostCulprit]
    lowest_kubernetes: str
    lowest_kubernetes_reason: str
    message_estimated_cost: int
    def __init__(self, schema_pointer: _Optional[str] = ..., rule: _Optional[_Union[_violation_pb2.RuleRef, _Mapping]] = ..., estimated_cost: _Optional[int] = ..., cardinality: _Optional[int] = ..., cost_limit: _Optional[int] = ..., share_of_limit: _Optional[float] = ..., uses_old_self: _Optional[bool] = ..., culprits: _Optional[_Iterable[_Union[CostCulprit, _Mapping]]] = ..., lowest_kubernetes: _Optional[str] = ..., lowest_kubernetes_reason: _Optional[str] = ..., message_estimated_cost: _Optional[int] = ...) -> None: ...

class VersionReport(_message.Message):
    __slots__ = ("version", "lowest_kubernetes", "lowest_kubernetes_reason", "rules", "estimated_cost", "cost_limit")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_REASON_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    COST_LIMIT_FIELD_NUMBER: _ClassVar[int]
    version: CrdVersion
    lowest_kubernetes: str
    lowest_kubernetes_reason: str
    rules: _containers.RepeatedCompositeFieldContainer[RuleReport]
    estimated_cost: int
    cost_limit: int
    def __init__(self, version: _Optional[_Union[CrdVersion, _Mapping]] = ..., lowest_kubernetes: _Optional[str] = ..., lowest_kubernetes_reason: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[RuleReport, _Mapping]]] = ..., estimated_cost: _Optional[int] = ..., cost_limit: _Optional[int] = ...) -> None: ...

class CrdReport(_message.Message):
    __slots__ = ("violations", "warnings", "versions", "rejection", "lowest_kubernetes", "lowest_kubernetes_reason", "update", "conversion", "kubernetes_warnings")
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    LOWEST_KUBERNETES_REASON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    CONVERSION_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_WARNINGS_FIELD_NUMBER: _ClassVar[int]
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    warnings: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Warning]
    versions: _containers.RepeatedCompositeFieldContainer[VersionReport]
    rejection: _violation_pb2.Rejection
    lowest_kubernetes: str
    lowest_kubernetes_reason: str
    update: bool
    conversion: _conversion_pb2.ConversionReport
    kubernetes_warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., warnings: _Optional[_Iterable[_Union[_violation_pb2.Warning, _Mapping]]] = ..., versions: _Optional[_Iterable[_Union[VersionReport, _Mapping]]] = ..., rejection: _Optional[_Union[_violation_pb2.Rejection, _Mapping]] = ..., lowest_kubernetes: _Optional[str] = ..., lowest_kubernetes_reason: _Optional[str] = ..., update: _Optional[bool] = ..., conversion: _Optional[_Union[_conversion_pb2.ConversionReport, _Mapping]] = ..., kubernetes_warnings: _Optional[_Iterable[str]] = ...) -> None: ...
