package rule

import (
	"context"
	"encoding/binary"
	"iter"
	"sync/atomic"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Set holds the compiled rules of one schema node in their order. It is immutable and shared by goroutines.
type Set struct {
	self     *closure.Type // of the values
	declared *closure.Type // of the checked expressions
	rules    []rule
	// bindsOldSelf: a rule refers to oldSelf. Otherwise it is unbound in message expressions, too.
	bindsOldSelf bool
	// failure is why no rule could be compiled, "" if they could.
	failure string
	size    int64
	reads   string // closure.Reads.Code of the rules
	id      uint32
}

// rule is one compiled rule. Its texts are copies.
type rule struct {
	closure     *closure.Program // nil: cel-go evaluates the rule
	index       int32            // among the rules of the schema
	blank       bool             // nothing to evaluate
	usesOldSelf bool
	optional    bool // optionalOldSelf

	text    string
	message string // as written
	*details
}

// details are the parts that few rules have. Rules without them share noDetails.
type details struct {
	messageExpr string // "" if it does not compile
	reason      apiextensionsv1.FieldValueErrorReason
	fieldPath   string    // as upstream's errors spell it
	steps       tree.Path // of fieldPath

	compileError string // "" if it compiles
}

var noDetails details

// own returns the rule's own details, to change them.
func (r *rule) own() *details {
	if r.details == &noDetails {
		r.details = new(details)
	}
	return r.details
}

// lastSet is the last Set.id.
var lastSet atomic.Uint32

// Compile compiles the rules of a schema node in the Stored environment. It returns nil without rules. Rules that do
// not compile are kept: upstream reports them for each object. The error is that of the context.
//
// Upstream: schema/cel/compilation.go, Compile and compileRule.
func Compile(ctx context.Context, s *celcheck.Scope, rules []apiextensionsv1.ValidationRule) (*Set, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	key := string(setKey(s, rules))
	sets := s.Shared.Sets
	if known, ok := sets[key].(*Set); ok {
		return known, nil
	}
	set := &Set{self: s.Type(), declared: s.Declared(), size: int64(unsafe.Sizeof(Set{}))}
	if s.Decl == nil {
		set.failure = "failed to convert to declType for CEL validation rules"
	} else {
		set.rules = make([]rule, len(rules))
		reads := &closure.Reads{}
		for i := range rules {
			set.rules[i] = compileRule(ctx, s, &rules[i], i, reads)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			set.bindsOldSelf = set.bindsOldSelf || set.rules[i].usesOldSelf
			set.size += set.rules[i].size()
		}
		set.reads, set.id = reads.Code(), lastSet.Add(1)
		set.size += int64(len(set.reads))
	}
	sets[key] = set
	return set, nil
}

func compileRule(
	ctx context.Context, s *celcheck.Scope, source *apiextensionsv1.ValidationRule, index int, reads *closure.Reads,
) rule {
	sh, env := s.Shared, celenv.Stored()
	r := rule{index: int32(index), text: sh.Text(source.Rule), message: sh.Text(source.Message), details: &noDetails}
	r.optional = source.OptionalOldSelf != nil && *source.OptionalOldSelf
	if source.Reason != nil {
		r.own().reason = apiextensionsv1.FieldValueErrorReason(sh.Text(string(*source.Reason)))
	}
	checked, err := s.CompileRule(ctx, env, source.Rule, r.optional)
	if checked != nil {
		r.usesOldSelf = checked.UsesOldSelf
	}
	if err != nil {
		r.own().compileError = sh.Text(err.Error())
		return r
	}
	if checked == nil {
		r.blank = true
		return r
	}
	if s.Type() == s.Declared() {
		r.closure, _ = closure.Compile(checked.Ast.NativeRep(), s.Type(), closure.Options{
			OptionalOldSelf: r.optional, Functions: env.Functions(), Value: celcheck.ValueOf, Reads: reads,
		})
	}
	if source.MessageExpression != "" {
		if _, err := s.CompileMessage(ctx, env, source.MessageExpression, r.optional); err != nil {
			return r // upstream does not resolve the field path then
		}
		r.own().messageExpr = sh.Text(source.MessageExpression)
	}
	if source.FieldPath != "" {
		if path, _, err := schema.Resolve(source.FieldPath, s.Props, true); err == nil {
			r.own().fieldPath, r.steps = sh.Text(path.Bracketed()), path.Detach()
		}
	}
	return r
}

// setKey identifies a Set within a Shared, by the type of self, the rules and their resolved field paths.
func setKey(s *celcheck.Scope, rules []apiextensionsv1.ValidationRule) celcheck.Key {
	k := celcheck.Key(nil).Type(s.Type()).Type(s.Declared()).Flags(s.Decl == nil)
	k = binary.AppendUvarint(k, uint64(len(rules)))
	for i := range rules {
		r := &rules[i]
		reason, path := "", ""
		if r.Reason != nil {
			reason = string(*r.Reason)
		}
		if r.FieldPath != "" {
			if p, _, err := schema.Resolve(r.FieldPath, s.Props, true); err == nil {
				path = p.Bracketed()
			}
		}
		k = k.Text(r.Rule, r.Message, r.MessageExpression, reason, path)
		k = k.Flags(r.OptionalOldSelf != nil && *r.OptionalOldSelf)
	}
	return k
}

func (r *rule) size() int64 {
	size := int64(unsafe.Sizeof(*r)) + int64(len(r.steps))*int64(unsafe.Sizeof(tree.Segment{}))
	if r.details != &noDetails {
		size += int64(unsafe.Sizeof(*r.details))
	}
	if r.closure != nil {
		size += r.closure.Size()
	}
	return size
}

// Retain adds the heap of some sets, without the cached programs of the fallback.
func Retain(r *closure.Retention, sets iter.Seq[*Set]) {
	for set := range sets {
		r.Size += set.size
		r.Type(set.self)
		r.Type(set.declared)
		for i := range set.rules {
			c := &set.rules[i]
			r.Text(c.text, c.message, c.messageExpr, string(c.reason), c.fieldPath, c.compileError)
		}
	}
}
