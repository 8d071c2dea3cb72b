"""Texts of objects, manifests and patches, without loss of digits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, Union

from crdeval.v1 import document_pb2, evaluation_pb2


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON text of a result. It can be sent again."""

    data: bytes

    @property
    def text(self) -> str:
        """The text as str."""
        return self.data.decode()

    def parse(self) -> Any:
        """Parses the text without loss: integers become int, other numbers Decimal. So 1.0 stays 1.0.

        `Client` accepts the parsed value again.
        """
        return json.loads(self.data, parse_float=Decimal, parse_constant=_reject_constant)

    def __str__(self) -> str:
        return self.text


Text = Union[str, bytes, Document, Mapping[str, Any]]
"""A document to send. A str or bytes is JSON or YAML and is sent unchanged. A mapping is sent as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write of an object, as a client sends it to an API server.

    `old` is the stored object. Without it, the write creates `object`. `merge_patch` (RFC 7386) or `json_patch` (RFC
    6902) replaces `object`. `subresource` is "", "status" or "scale". The other fields are those of the URL.
    """

    object: Text | None = None
    old: Text | None = None
    merge_patch: Text | None = None
    json_patch: Text | list[Any] | None = None
    subresource: str = ""
    crd: str = ""
    version: str = ""
    namespace: str = ""
    name: str = ""

    def item(self) -> evaluation_pb2.WriteItem:
        """Returns the message that is sent."""
        if (self.object, self.merge_patch, self.json_patch).count(None) != 2:
            raise ValueError("a write needs exactly one of object, merge_patch and json_patch")
        item = evaluation_pb2.WriteItem(crd=self.crd, version=self.version, namespace=self.namespace, name=self.name)
        old = None if self.old is None else to_proto(self.old)
        if self.merge_patch is not None or self.json_patch is not None:
            merge = self.merge_patch is not None
            patch = self.merge_patch if self.merge_patch is not None else self.json_patch
            item.patch.CopyFrom(
                evaluation_pb2.Patch(
                    type=evaluation_pb2.PATCH_TYPE_MERGE if merge else evaluation_pb2.PATCH_TYPE_JSON,
                    patch=to_proto(patch or ""),
                    old_object=old,
                    subresource=self.subresource,
                )
            )
        elif old is not None or self.subresource:
            item.update.CopyFrom(
                evaluation_pb2.Update(
                    object=to_proto(self.object or ""), old_object=old, subresource=self.subresource
                )
            )
        else:
            item.create.object.CopyFrom(to_proto(self.object or ""))
        return item


def to_proto(value: Text | list[Any]) -> document_pb2.Document:
    """Returns the message of a document: JSON if its first character is a brace or a bracket, otherwise YAML."""
    if isinstance(value, str):
        if value.lstrip(" \t\r\n").startswith(("{", "[")):
            return document_pb2.Document(json=value.encode())
        return document_pb2.Document(yaml=value)
    if isinstance(value, Document):
        text = value.data
    elif isinstance(value, bytes):
        text = value
    else:
        text = encode(value)
    if text.lstrip(b" \t\r\n").startswith((b"{", b"[")):
        return document_pb2.Document(json=text)
    return document_pb2.Document(raw_yaml=text)


def encode(value: Any) -> bytes:
    """Returns the JSON of a mapping or a list. Integers and Decimal keep all digits.

    Raises TypeError for a value without a JSON form, and ValueError for NaN, infinity and too many levels.
    """
    if not isinstance(value, (Mapping, list)):
        raise TypeError(f"a document is str, bytes, Document or a mapping, not {type(value).__name__}")
    parts: list[str] = []
    try:
        _encode(value, parts, "")
    except RecursionError:
        raise ValueError("the document has too many levels, or contains itself: send it as str or bytes") from None
    return "".join(parts).encode()


def _encode(value: Any, parts: list[str], path: str) -> None:
    if value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, str):
        parts.append(json.dumps(str(value), ensure_ascii=False))
    elif isinstance(value, int):
        parts.append(int.__repr__(value))
    elif isinstance(value, (float, Decimal)):
        if not math.isfinite(value):
            raise ValueError(f"{path}: {value} is not a JSON number")
        parts.append(float.__repr__(value) if isinstance(value, float) else str(value))
    elif isinstance(value, Mapping):
        before = "{"
        for key, element in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{path or 'the document'} has the key {key!r}, which is not a str")
            parts.append(f"{before}{json.dumps(str(key), ensure_ascii=False)}:")
            _encode(element, parts, f"{path}.{key}" if path else key)
            before = ","
        parts.append("{}" if before == "{" else "}")
    elif isinstance(value, (list, tuple)):
        before = "["
        for i, element in enumerate(value):
            parts.append(before)
            _encode(element, parts, f"{path}[{i}]")
            before = ","
        parts.append("[]" if before == "[" else "]")
    else:
        raise TypeError(f"{path}: {type(value).__name__} has no JSON form")


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
