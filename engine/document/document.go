// Package document reads and writes the texts of documents in JSON and YAML, as API servers and their clients do.
//
//   - Positions: a Text is a file or the body of a request. It has the Position of each byte, and the Origin of each
//     document in it. A document with an Origin has its positions in the Text.
//   - YAML: ReadYAML converts a document to JSON with the values that an API server reads, and finds the positions of
//     these values.
//   - JSON: Read parses a text into Values. Its memory is used again, so parsing allocates nothing.
//   - Output: AppendString, AppendCanonicalString and AppendValue write the bytes that encoding/json writes.
//   - JSON pointers: EscapePointer and SplitPointer. JSONPatch compares two objects.
//   - Limits bound all of this. Errors are a *LimitError or a *SyntaxError.
//
// The package knows neither schemas nor kinds. Package workspace splits a text into manifests, as kubectl does, and
// package engine evaluates an engine.Document.
package document

import "github.com/crdeval/crdeval/engine/internal/tree"

// Limits bound the documents that are read, and what schemas and violations add to them. A field of 0 or less has
// its default.
//
//   - MaxBytes: the size of a document, by default 3 MiB.
//   - MaxDepth: the nesting of arrays and objects, by default and at most 10,000.
//   - MaxAliasFactor: how much larger a YAML document gets by its aliases, by default 10 times. It does not apply to
//     expansions within MaxAliasBytes, by default 3 MiB.
//   - MaxDefaultBytes: the JSON that defaults add to a document, by default 8 MiB.
//   - MaxViolations and MaxViolationBytes: the violations of a document and their texts, by default 10,000 and 8 MiB.
//
// WithDefaults() Limits returns the Limits that apply. Sizes are in bytes. API servers have no bounds for aliases,
// defaults and violations.
type Limits = tree.Limits

// LimitError reports that a document exceeds one of the Limits. Its fields are:
//
//   - Name string: an identifier that is stable across releases, max_document_bytes. docs/quirks.md lists all.
//   - Limit, Unit string: the limited quantity, such as document size, and its unit: bytes, levels, violations.
//   - Maximum, Actual int64: the limit and the measured value, which is a lower bound if AtLeast bool is set.
//   - Advice string: what the caller can do about it.
type LimitError = tree.LimitError

// SyntaxError reports that a document cannot be parsed. Error and the field Text are upstream's text. Position()
// returns where, the zero Position if that is not known, and Sentence() says why in one sentence without the prefixes
// of libraries. Line, Column, Offset (-1 if unknown) and Cause are what Position and Unwrap return; Located() reports
// whether they refer to the Text of the document's Origin.
type SyntaxError = tree.SyntaxError

// Position is a position in a text: Line and Column from 1, columns in code points, and the Offset in bytes from 0. The
// zero Position is that of a value that is not in the text, such as a default.
type Position = tree.Position

// Span is the part [Begin, End) of a text. Both are ints, offsets in bytes.
type Span = tree.Span

// Range is where a value is in a Text: the Span of its Key, which is empty without a key, and that of its Value. The
// bools Collection, Flow and Shared say how it is written: as an object or a list, in brackets, and through an alias or
// a merge key.
type Range = tree.Range

// Text is a text with documents: a file, or the body of a request. NewText returns one. It is safe for concurrent use.
// Its methods are:
//
//   - Bytes() []byte: the text in UTF-8.
//   - Position(offset int) Position: the position of a byte. Index(Position) int returns the offset again.
//   - At(offset int) *Origin: the Origin of the document that begins at a byte.
type Text = tree.Text

// Origin is where a document is in a Text: the field Origin of an engine.Document. Text.At and YAML.At return one. It
// computes nothing until a position is needed, and is safe for concurrent use. Text() *Text returns the Text, and
// Begin() int the offset of the document in it. The other methods serve package engine: Converted, Follow, Locate,
// Ranges.
type Origin = tree.Origin

// NewText returns a Text. UTF-16 is converted to UTF-8. begin is the position of the text if it is a part of a longer one
// and begins at the beginning of a line; otherwise, it is zero. The caller must not modify the text.
func NewText(text []byte, begin Position) *Text { return tree.NewText(text, begin) }
