from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Document(_message.Message):
    __slots__ = ("json", "yaml", "raw_yaml")
    JSON_FIELD_NUMBER: _ClassVar[int]
    YAML_FIELD_NUMBER: _ClassVar[int]
    RAW_YAML_FIELD_NUMBER: _ClassVar[int]
    json: bytes
    yaml: str
    raw_yaml: bytes
    def __init__(self, json: _Optional[bytes] = ..., yaml: _Optional[str] = ..., raw_yaml: _Optional[bytes] = ...) -> None: ...
