"""Tests of documents: no digit is lost, and other values are rejected."""

import tempfile
import unittest
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path
from typing import Any

from crdeval import Document, Write
from crdeval.calls import several
from crdeval.documents import encode, to_proto
from crdeval.registry import manifests

LOSSLESS = '{"a":9007199254740993,"b":1.0,"c":[1E+2,null,true,"ü\\n"],"d":{},"e":[],"f":0.12345678901234567890}'


class DocumentsTest(unittest.TestCase):
    def test_keeps_every_digit(self) -> None:
        parsed = Document(LOSSLESS.encode()).parse()
        self.assertEqual(parsed["a"], 9007199254740993)
        self.assertEqual(str(parsed["b"]), "1.0")
        self.assertEqual(encode(parsed).decode(), LOSSLESS)

    def test_ignores_files_of_other_kinds(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for name, text in {
                "a.json": '{"kind": "CustomResourceDefinition"}',
                "b.json": '{"kind": "Deployment"}',
                "c.json": "{",
                "d.yaml": "kind: Deployment",
                "e.yaml": "kind: CustomResourceDefinition",
            }.items():
                (Path(directory) / name).write_text(text)
            names = [Path(source).name for source, _ in manifests(directory)]
        self.assertEqual(names, ["a.json", "c.json", "e.yaml"])

    def test_encodes_floats(self) -> None:
        value = {"a": 1.0, "b": 1e300, "c": OrderedDict(x=(1, False))}
        self.assertEqual(encode(value), b'{"a":1.0,"b":1e+300,"c":{"x":[1,false]}}')

    def test_sends_texts_unchanged(self) -> None:
        for text in (' {"a": 1.0}', b'\n[1e2]', Document(b'{"a":1}')):
            raw = text.data if isinstance(text, Document) else text.encode() if isinstance(text, str) else text
            self.assertEqual(to_proto(text).json, raw)
        self.assertEqual(to_proto("a: 1.0").yaml, "a: 1.0")
        self.assertEqual(to_proto(b"a: \xff").raw_yaml, b"a: \xff")

    def test_rejects_other_values(self) -> None:
        cyclic: dict[str, Any] = {}
        cyclic["self"] = cyclic
        for value, error, text in (
            ({"a": {"b": [float("nan")]}}, ValueError, "a.b[0]: nan"),
            ({"a": Decimal("Infinity")}, ValueError, "a: Infinity"),
            ({"a": {1: 2}}, TypeError, "a has the key 1"),
            ({"a": b"x"}, TypeError, "a: bytes"),
            (cyclic, ValueError, "too many levels"),
            (7, TypeError, "not int"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text.replace("[", r"\[")):
                to_proto(value)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            Document(b"[NaN]").parse()

    def test_rejects_one_document_instead_of_a_list(self) -> None:
        for one in ("a: b", b"{}", {"a": 1}, Document(b"{}"), Write(object="{}")):
            with self.subTest(repr(one)), self.assertRaisesRegex(TypeError, "give a list"):
                several(one)

    def test_writes_have_one_change(self) -> None:
        for write in (Write(), Write(old="{}"), Write(object="{}", merge_patch="{}")):
            with self.subTest(repr(write)), self.assertRaisesRegex(ValueError, "exactly one"):
                write.item()
        item = Write(old="{}", json_patch=[{"op": "remove", "path": "/a"}], subresource="status").item()
        self.assertEqual(item.patch.patch.json, b'[{"op":"remove","path":"/a"}]')
        self.assertEqual((item.patch.old_object.json, item.patch.subresource), (b"{}", "status"))


if __name__ == "__main__":
    unittest.main()
