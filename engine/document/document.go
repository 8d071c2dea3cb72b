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
// Sizes are in bytes. API servers have no bounds for aliases, defaults and violations.
type Limits = tree.Limits

// LimitError reports that a document exceeds one of the Limits. Its Name is stable across releases: max_document_bytes.
// Maximum is the limit, and Actual the measured value, in Units. With AtLeast, Actual is a lower bound.
type LimitError = tree.LimitError

// SyntaxError reports that a document cannot be parsed. Its text is upstream's. Position returns where, and Sentence
// says why in one sentence without the prefixes of libraries.
type SyntaxError = tree.SyntaxError

// Position is a position in a text: Line and Column from 1, columns in code points, and the Offset in bytes from 0. The
// zero Position is that of a value that is not in the text, such as a default.
type Position = tree.Position

// Span is the part [Begin, End) of a text. Both are offsets in bytes.
type Span = tree.Span

// Range is where a value is in a Text: the Span of its Key, which is empty without a key, and that of its Value.
// Collection, Flow and Shared say how it is written: as an object or a list, in brackets, and through an alias or a merge
// key.
type Range = tree.Range

// Text is a text with documents: a file, or the body of a request. Bytes returns it in UTF-8, Position the position of
// a byte, and At the Origin of the document that begins at a byte. It is safe for concurrent use.
type Text = tree.Text

// Origin is where a document is in a Text, see Text.At and YAML.At. It computes nothing until a position is needed. It is
// safe for concurrent use.
type Origin = tree.Origin

// NewText returns a Text. UTF-16 is converted to UTF-8. begin is the position of the text if it is a part of a longer one
// and begins at the beginning of a line; otherwise, it is zero. The caller must not modify the text.
func NewText(text []byte, begin Position) *Text { return tree.NewText(text, begin) }
