package value

import (
	"fmt"
	"math"
)

// Limits bounds documents: what is read, what defaults make of it, and what is found wrong with it. A field that is
// zero means its default.
type Limits struct {
	// MaxBytes is the largest size of a document in bytes; by default 3 MiB, what an API server takes as a body.
	MaxBytes int
	// MaxDepth is how deep arrays and objects may nest; by default 10,000, which is also the most: upstream's decoder
	// goes no deeper and says so in its own words.
	MaxDepth int
	// MaxAliasFactor is how many times larger than written a YAML document may be once its aliases are expanded, by
	// default 10; a document that stays within MaxAliasBytes may exceed it.
	MaxAliasFactor int
	// MaxAliasBytes is the size in bytes that a YAML document may always expand to, whatever its own size; by default 3
	// MiB.
	MaxAliasBytes int
	// MaxDefaultBytes is how many bytes of JSON the defaults of a schema may add to one document, by default 8 MiB.
	// Without it a list of a million empty objects becomes a million copies of a default. API servers have no such
	// bound; what exceeds the default one several times is more than their storage takes. This package does not fill in
	// defaults: it only states the bound.
	MaxDefaultBytes int
	// MaxViolations is how many violations one document may have, by default 10,000, and MaxViolationBytes how many
	// bytes their texts may take, by default 8 MiB: field, message, the place. More violations are an error, never a
	// partial answer. API servers have no such bounds, but take minutes for as many. This package finds nothing: it
	// only states the bounds.
	MaxViolations, MaxViolationBytes int
}

// DefaultLimits are the limits that hold where the caller sets none.
var DefaultLimits = Limits{MaxBytes: 3 << 20, MaxDepth: upstreamDepth, MaxAliasFactor: 10, MaxAliasBytes: 3 << 20, MaxDefaultBytes: 8 << 20,
	MaxViolations: 10_000, MaxViolationBytes: 8 << 20}

// upstreamDepth is maxNestingDepth of sigs.k8s.io/json.
const upstreamDepth = 10000

// maxSource is the largest text that offsets of 32 bits can address, with room for its unescaped strings: an invalid
// byte becomes the three bytes of U+FFFD.
const maxSource = math.MaxUint32 / 4

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultLimits.MaxBytes
	}
	if l.MaxBytes > maxSource {
		l.MaxBytes = maxSource
	}
	if l.MaxDepth <= 0 || l.MaxDepth > upstreamDepth {
		l.MaxDepth = upstreamDepth
	}
	if l.MaxAliasFactor <= 0 {
		l.MaxAliasFactor = DefaultLimits.MaxAliasFactor
	}
	if l.MaxAliasBytes <= 0 {
		l.MaxAliasBytes = DefaultLimits.MaxAliasBytes
	}
	l.MaxDefaultBytes = l.DefaultBytes()
	l.MaxViolations, l.MaxViolationBytes = l.Violations()
	return l
}

// Violations returns MaxViolations and MaxViolationBytes, or their defaults.
func (l Limits) Violations() (count, bytes int) {
	count, bytes = l.MaxViolations, l.MaxViolationBytes
	if count <= 0 {
		count = DefaultLimits.MaxViolations
	}
	if bytes <= 0 {
		bytes = DefaultLimits.MaxViolationBytes
	}
	return min(count, maxSource), min(bytes, maxSource)
}

// DefaultBytes is MaxDefaultBytes, or its default.
func (l Limits) DefaultBytes() int {
	if l.MaxDefaultBytes <= 0 {
		return DefaultLimits.MaxDefaultBytes
	}
	return min(l.MaxDefaultBytes, maxSource)
}

// LimitError says that a document exceeds one of the Limits.
type LimitError struct {
	// Name is the limit's own in snake case, stable across releases: max_document_bytes, max_violations, …
	// docs/quirks.md has all of them.
	Name    string
	Limit   string // what is limited: "document size", "nesting depth", "alias expansion", "expansion by defaults", "list of violations", …
	Unit    string // "bytes", "levels", "path steps", "violations"
	Maximum int64
	// Actual is what the document has; a lower bound if AtLeast is set, because reading stopped there.
	Actual  int64
	AtLeast bool
	Advice  string // what the caller can do
}

// Error names the limit, the document's figure and the way out.
func (e *LimitError) Error() string {
	atLeast := ""
	if e.AtLeast {
		atLeast = "at least "
	}
	return fmt.Sprintf("%s of %s%d %s exceeds the limit of %d %s: %s", e.Limit, atLeast, e.Actual, e.Unit, e.Maximum, e.Unit, e.Advice)
}

func tooLarge(actual, maximum int) error {
	return &LimitError{Name: "max_document_bytes", Limit: "document size", Unit: "bytes", Maximum: int64(maximum), Actual: int64(actual),
		Advice: "send a smaller document or raise the size limit"}
}

func tooDeep(maximum int) error {
	return &LimitError{Name: "max_document_depth", Limit: "nesting depth", Unit: "levels", Maximum: int64(maximum), Actual: int64(maximum) + 1, AtLeast: true,
		Advice: "flatten the document or raise the depth limit"}
}

// SyntaxError says that a document cannot be read. Its text is that of upstream's decoder.
type SyntaxError struct {
	// Offset is the byte at which reading failed, -1 where the decoder does not tell.
	Offset int
	// Line and Column of that byte count from 1, columns in code points; 0 means unknown.
	Line, Column int
	// Text is upstream's own error text.
	Text string
	// Cause is upstream's error if it was one.
	Cause error
}

// Error is upstream's text, unchanged, since API servers put it into their answers; Line and Column are for the
// reader's tools.
func (e *SyntaxError) Error() string { return e.Text }

// Unwrap returns upstream's error.
func (e *SyntaxError) Unwrap() error { return e.Cause }
