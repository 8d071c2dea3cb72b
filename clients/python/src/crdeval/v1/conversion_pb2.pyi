from crdeval.v1 import document_pb2 as _document_pb2
from crdeval.v1 import violation_pb2 as _violation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConversionClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONVERSION_CLASS_UNSPECIFIED: _ClassVar[ConversionClass]
    CONVERSION_CLASS_ISO: _ClassVar[ConversionClass]
    CONVERSION_CLASS_LENS: _ClassVar[ConversionClass]
    CONVERSION_CLASS_TESTED: _ClassVar[ConversionClass]
CONVERSION_CLASS_UNSPECIFIED: ConversionClass
CONVERSION_CLASS_ISO: ConversionClass
CONVERSION_CLASS_LENS: ConversionClass
CONVERSION_CLASS_TESTED: ConversionClass

class ConversionReport(_message.Message):
    __slots__ = ("accepted", "violations", "hub", "rules", "laws", "coverage")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    HUB_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    LAWS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    violations: _containers.RepeatedCompositeFieldContainer[_violation_pb2.Violation]
    hub: str
    rules: _containers.RepeatedCompositeFieldContainer[ConversionRule]
    laws: _containers.RepeatedCompositeFieldContainer[ConversionLaw]
    coverage: _containers.RepeatedCompositeFieldContainer[ConversionCoverage]
    def __init__(self, accepted: _Optional[bool] = ..., violations: _Optional[_Iterable[_Union[_violation_pb2.Violation, _Mapping]]] = ..., hub: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[ConversionRule, _Mapping]]] = ..., laws: _Optional[_Iterable[_Union[ConversionLaw, _Mapping]]] = ..., coverage: _Optional[_Iterable[_Union[ConversionCoverage, _Mapping]]] = ...) -> None: ...

class ConversionCoverage(_message.Message):
    __slots__ = ("from_version", "to_version", "carried", "read", "stashed", "dropped")
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    TO_VERSION_FIELD_NUMBER: _ClassVar[int]
    CARRIED_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    STASHED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    from_version: str
    to_version: str
    carried: int
    read: int
    stashed: int
    dropped: int
    def __init__(self, from_version: _Optional[str] = ..., to_version: _Optional[str] = ..., carried: _Optional[int] = ..., read: _Optional[int] = ..., stashed: _Optional[int] = ..., dropped: _Optional[int] = ...) -> None: ...

class ConversionRule(_message.Message):
    __slots__ = ("between", "index", "kind", "text", "change_class", "preconditions")
    BETWEEN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_CLASS_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    between: _containers.RepeatedScalarFieldContainer[str]
    index: int
    kind: str
    text: str
    change_class: ConversionClass
    preconditions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, between: _Optional[_Iterable[str]] = ..., index: _Optional[int] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., change_class: _Optional[_Union[ConversionClass, str]] = ..., preconditions: _Optional[_Iterable[str]] = ...) -> None: ...

class ConversionLaw(_message.Message):
    __slots__ = ("law", "from_version", "to_version", "objects", "counterexample", "excepted", "failures")
    LAW_FIELD_NUMBER: _ClassVar[int]
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    TO_VERSION_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    COUNTEREXAMPLE_FIELD_NUMBER: _ClassVar[int]
    EXCEPTED_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    law: str
    from_version: str
    to_version: str
    objects: int
    counterexample: ConversionCounterexample
    excepted: bool
    failures: ConversionFailures
    def __init__(self, law: _Optional[str] = ..., from_version: _Optional[str] = ..., to_version: _Optional[str] = ..., objects: _Optional[int] = ..., counterexample: _Optional[_Union[ConversionCounterexample, _Mapping]] = ..., excepted: _Optional[bool] = ..., failures: _Optional[_Union[ConversionFailures, _Mapping]] = ...) -> None: ...

class ConversionFailures(_message.Message):
    __slots__ = ("generated", "unconverted", "example")
    GENERATED_FIELD_NUMBER: _ClassVar[int]
    UNCONVERTED_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    generated: int
    unconverted: int
    example: str
    def __init__(self, generated: _Optional[int] = ..., unconverted: _Optional[int] = ..., example: _Optional[str] = ...) -> None: ...

class ConversionCounterexample(_message.Message):
    __slots__ = ("text", "object", "converted", "back")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    CONVERTED_FIELD_NUMBER: _ClassVar[int]
    BACK_FIELD_NUMBER: _ClassVar[int]
    text: str
    object: _document_pb2.Document
    converted: _document_pb2.Document
    back: _document_pb2.Document
    def __init__(self, text: _Optional[str] = ..., object: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., converted: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., back: _Optional[_Union[_document_pb2.Document, _Mapping]] = ...) -> None: ...
