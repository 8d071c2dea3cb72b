package rules

// TraceMode selects the rules that a verdict traces.
type TraceMode uint8

// The values of TraceMode.
const (
	TraceNone   TraceMode = iota
	TraceFailed           // rules with the outcome Failed, Errored or Ratcheted
	TraceAll              // all rules; such an evaluation always takes the slower exact path
)

// Outcome is the outcome of a rule for one value.
type Outcome uint8

// The outcomes of rules.
const (
	Passed    Outcome = iota + 1 // true
	Failed                       // false
	Errored                      // an error of the expression, or a cost beyond a limit
	Skipped                      // not evaluated
	Ratcheted                    // false or an error, and ratcheted
)

// Trace describes the evaluation of a rule at one value. For a trace the rule is evaluated once more, which changes
// neither the verdict nor the cost.
type Trace struct {
	// Pointer is the JSON pointer of self in the object, SchemaPointer that of the rule in the version's schema.
	Pointer, SchemaPointer string
	Rule                   *Ref
	Outcome                Outcome
	// Skipped says why the rule was skipped.
	Skipped string
	// Cost is the cost of the rule in CEL cost units, without its messageExpression.
	Cost int64
	// Message is the message of the violation, if any.
	Message string
	// Steps are the values of the sub-expressions in the order of evaluation; in a macro, one for each iteration. If
	// there are more than MaxSteps, only the first and the last ones are listed. They are empty for rules that
	// were skipped or do not compile, and if the object's traces became very large.
	Steps []Step
	// OmittedSteps is the number of steps that are not listed.
	OmittedSteps int
}

// Step is the value of one sub-expression at one time.
type Step struct {
	// Expression is its text, macros as they were written. Offset is its position in the rule in code points.
	Expression string
	Offset     int
	// Value is its value as JSON; values that JSON does not have are strings. It is nil for an error, and for a value that
	// is longer than MaxValueBytes.
	Value []byte
	// Error is CEL's error, or "".
	Error string
	// Decisive marks a step that determined the value of the rule, such as the operand of && that is false.
	Decisive bool
}

// Bounds of traces. What exceeds them is counted.
const (
	MaxTraces     = 1000    // traces of one object
	MaxSteps      = 1000    // steps of one rule at one value
	MaxValueBytes = 1 << 10 // bytes of the JSON of one value, and of one text
)
