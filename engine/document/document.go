// Package document reads and writes the texts of documents: it splits streams, converts YAML to JSON, finds positions,
// and prints values as API servers do.
package document

import "github.com/crdeval/crdeval/engine/internal/tree"

type (
	// Limits bounds documents.
	Limits = tree.Limits
	// LimitError reports that a document exceeds one of the Limits.
	LimitError = tree.LimitError
	// SyntaxError reports that a document cannot be parsed.
	SyntaxError = tree.SyntaxError
	// Position is a location in a text.
	Position = tree.Position
	// Origin is the place of a document in a text.
	Origin = tree.Origin
	// Text is a text with documents.
	Text = tree.Text
	// ManifestText is a manifest that was converted to JSON.
	ManifestText = tree.ManifestText
	// Path is the list of steps from a root to a value.
	Path = tree.Path
	// Segment is one step of a Path.
	Segment = tree.Segment
	// Span is a part of a text.
	Span = tree.Span
	// Doc is a parsed document.
	Doc = tree.Doc
	// Finder finds members by name.
	Finder = tree.Finder
)

// The kinds of values.
const (
	Null   = tree.Null
	True   = tree.True
	False  = tree.False
	Int    = tree.Int
	Float  = tree.Float
	String = tree.String
	Array  = tree.Array
	Object = tree.Object
)

var (
	Acquire               = tree.Acquire
	AppendAny             = tree.AppendAny
	AppendCanonicalString = tree.AppendCanonicalString
	AppendString          = tree.AppendString
	At                    = tree.At
	Name                  = tree.Name
	DocumentMarker        = tree.DocumentMarker
	HasContent            = tree.HasContent
	HasContentIn          = tree.HasContentIn
	IgnoredText           = tree.IgnoredText
	NewText               = tree.NewText
	NewTextAt             = tree.NewTextAt
	PeekTypeMeta          = tree.PeekTypeMeta
	TypeMetaHead          = tree.TypeMetaHead
	MaxTreeSize           = tree.MaxTreeSize
	YAMLToJSON            = tree.YAMLToJSON
	EscapePointer         = tree.EscapePointer
	UnescapePointer       = tree.UnescapePointer
)
