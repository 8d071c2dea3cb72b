import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ServerLimits(_message.Message):
    __slots__ = ("max_batch_items", "max_message_bytes", "max_document_bytes", "max_document_depth", "max_alias_factor", "max_alias_bytes", "default_page_size", "max_page_size", "max_inline_crds", "max_error_details", "max_error_bytes", "max_violations", "max_violation_bytes", "max_yaml_nodes", "max_traces", "max_trace_steps", "max_trace_value_bytes", "max_register_crds", "max_watches_per_caller", "max_stored_versions", "max_stream_items", "max_streams_per_caller", "max_streams", "max_watches", "max_item_time")
    MAX_BATCH_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DOCUMENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DOCUMENT_DEPTH_FIELD_NUMBER: _ClassVar[int]
    MAX_ALIAS_FACTOR_FIELD_NUMBER: _ClassVar[int]
    MAX_ALIAS_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_INLINE_CRDS_FIELD_NUMBER: _ClassVar[int]
    MAX_ERROR_DETAILS_FIELD_NUMBER: _ClassVar[int]
    MAX_ERROR_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_VIOLATION_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_YAML_NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_TRACES_FIELD_NUMBER: _ClassVar[int]
    MAX_TRACE_STEPS_FIELD_NUMBER: _ClassVar[int]
    MAX_TRACE_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_REGISTER_CRDS_FIELD_NUMBER: _ClassVar[int]
    MAX_WATCHES_PER_CALLER_FIELD_NUMBER: _ClassVar[int]
    MAX_STORED_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_STREAM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_STREAMS_PER_CALLER_FIELD_NUMBER: _ClassVar[int]
    MAX_STREAMS_FIELD_NUMBER: _ClassVar[int]
    MAX_WATCHES_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEM_TIME_FIELD_NUMBER: _ClassVar[int]
    max_batch_items: int
    max_message_bytes: int
    max_document_bytes: int
    max_document_depth: int
    max_alias_factor: int
    max_alias_bytes: int
    default_page_size: int
    max_page_size: int
    max_inline_crds: int
    max_error_details: int
    max_error_bytes: int
    max_violations: int
    max_violation_bytes: int
    max_yaml_nodes: int
    max_traces: int
    max_trace_steps: int
    max_trace_value_bytes: int
    max_register_crds: int
    max_watches_per_caller: int
    max_stored_versions: int
    max_stream_items: int
    max_streams_per_caller: int
    max_streams: int
    max_watches: int
    max_item_time: _duration_pb2.Duration
    def __init__(self, max_batch_items: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_document_bytes: _Optional[int] = ..., max_document_depth: _Optional[int] = ..., max_alias_factor: _Optional[int] = ..., max_alias_bytes: _Optional[int] = ..., default_page_size: _Optional[int] = ..., max_page_size: _Optional[int] = ..., max_inline_crds: _Optional[int] = ..., max_error_details: _Optional[int] = ..., max_error_bytes: _Optional[int] = ..., max_violations: _Optional[int] = ..., max_violation_bytes: _Optional[int] = ..., max_yaml_nodes: _Optional[int] = ..., max_traces: _Optional[int] = ..., max_trace_steps: _Optional[int] = ..., max_trace_value_bytes: _Optional[int] = ..., max_register_crds: _Optional[int] = ..., max_watches_per_caller: _Optional[int] = ..., max_stored_versions: _Optional[int] = ..., max_stream_items: _Optional[int] = ..., max_streams_per_caller: _Optional[int] = ..., max_streams: _Optional[int] = ..., max_watches: _Optional[int] = ..., max_item_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "commit", "kubernetes", "supported_kubernetes", "limits")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_KUBERNETES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    version: str
    commit: str
    kubernetes: str
    supported_kubernetes: _containers.RepeatedScalarFieldContainer[str]
    limits: ServerLimits
    def __init__(self, version: _Optional[str] = ..., commit: _Optional[str] = ..., kubernetes: _Optional[str] = ..., supported_kubernetes: _Optional[_Iterable[str]] = ..., limits: _Optional[_Union[ServerLimits, _Mapping]] = ...) -> None: ...
