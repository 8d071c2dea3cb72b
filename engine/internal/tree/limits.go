package tree

import (
	"fmt"
	"math"
)

// Limits bounds documents, the size of their defaults and their violations. A field of 0 or less means its default.
type Limits struct {
	// MaxBytes bounds the size of a document in bytes. The default is 3 MiB, the body limit of an API server.
	MaxBytes int
	// MaxDepth bounds the nesting of arrays and objects. The default and maximum is 10,000, the limit of upstream's
	// decoder.
	MaxDepth int
	// MaxAliasFactor bounds the size of a YAML document with expanded aliases, as a multiple of its size as written.
	// The default is 10. It does not apply to expansions within MaxAliasBytes.
	MaxAliasFactor int
	// MaxAliasBytes is the size in bytes to which aliases may always expand. The default is 3 MiB.
	MaxAliasBytes int
	// MaxDefaultBytes bounds the bytes of JSON that schema defaults may add to one document. The default is 8 MiB. API
	// servers have no such bound. The engine applies it; this package only defines it.
	MaxDefaultBytes int
	// MaxViolations bounds the violations of one document, by default 10,000. MaxViolationBytes bounds the size of
	// their texts in bytes, by default 8 MiB. Exceeding either is an error, never a partial result. Both also bound the
	// list of pruned and defaulted fields, but there the further fields are only counted. API servers have no such
	// bounds. The engine applies them; this package only defines them.
	MaxViolations, MaxViolationBytes int
}

// defaultLimits holds the default of each limit.
var defaultLimits = Limits{MaxBytes: 3 << 20, MaxDepth: upstreamDepth, MaxAliasFactor: 10, MaxAliasBytes: 3 << 20,
	MaxDefaultBytes: 8 << 20, MaxViolations: 10_000, MaxViolationBytes: 8 << 20}

// upstreamDepth is maxNestingDepth of sigs.k8s.io/json.
const upstreamDepth = 10000

// maxSource is the largest text that 32-bit offsets can address. It leaves capacity for unescaped strings: one invalid
// byte becomes the three bytes of U+FFFD.
const maxSource = math.MaxUint32 / 4

// WithDefaults returns the limits with a default for each limit that is not set, within what this package supports.
func (l Limits) WithDefaults() Limits {
	or := func(limit *int, otherwise, maximum int) {
		if *limit <= 0 {
			*limit = otherwise
		}
		*limit = min(*limit, maximum)
	}
	or(&l.MaxBytes, defaultLimits.MaxBytes, maxSource)
	or(&l.MaxDepth, defaultLimits.MaxDepth, upstreamDepth)
	or(&l.MaxAliasFactor, defaultLimits.MaxAliasFactor, math.MaxInt)
	or(&l.MaxAliasBytes, defaultLimits.MaxAliasBytes, math.MaxInt)
	or(&l.MaxDefaultBytes, defaultLimits.MaxDefaultBytes, maxSource)
	or(&l.MaxViolations, defaultLimits.MaxViolations, maxSource)
	or(&l.MaxViolationBytes, defaultLimits.MaxViolationBytes, maxSource)
	return l
}

// LimitError reports that a document exceeds one of the Limits.
type LimitError struct {
	// Name identifies the limit in snake case and is stable across releases: max_document_bytes, max_violations.
	// docs/quirks.md lists all names.
	Name string
	// Limit describes the limited quantity: "document size", "nesting depth", "alias expansion".
	Limit   string
	Unit    string // "bytes", "levels", "path steps", "violations"
	Maximum int64
	// Actual is the measured value, or a lower bound if AtLeast is set.
	Actual  int64
	AtLeast bool
	Advice  string // what the caller can do about it
}

// Error returns the limit, the measured value and the advice.
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

// SyntaxError reports that a document cannot be parsed.
type SyntaxError struct {
	// Offset is the byte at which parsing failed, or -1 if the decoder does not report it.
	Offset int
	// Line and Column are the position of that byte, from 1, with columns in code points. 0 means unknown.
	Line, Column int
	// Text is upstream's error text.
	Text string
	// Cause is upstream's error, if there is one.
	Cause error

	located bool // the position is one in a Text, see Origin
}

// Error returns upstream's text unchanged, because API servers put it into their responses.
func (e *SyntaxError) Error() string { return e.Text }

// Located reports whether the position is one in the Text of the document's Origin.
func (e *SyntaxError) Located() bool { return e.located }

// Unwrap returns Cause.
func (e *SyntaxError) Unwrap() error { return e.Cause }
