package rule

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// Set holds the compiled rules of one schema node, in their order. It is shared by goroutines, and immutable but for what replays keep.
type Set struct {
	self     *closure.Type // of the values
	declared *closure.Type // what expressions were checked against
	rules    []rule
	// bindsOldSelf: a rule refers to oldSelf. Else it is unbound, in message expressions too.
	bindsOldSelf bool
	// failed is why no rule could be compiled, "" if they could.
	failed string
	size   int64

	replays atomic.Pointer[programs] // nil until a rule is replayed, and when the process has no room for them
}

// rule is one compiled rule. Texts are the memory's own.
type rule struct {
	text        string
	message     string // as written, "" for none
	messageExpr string // "" for none, and where it does not compile
	reason      apiextensionsv1.FieldValueErrorReason
	fieldPath   string     // as upstream's errors spell it, "" for none
	steps       value.Path // of fieldPath

	compileError string // "" if it compiles
	index        int    // among the rules of the schema
	blank        bool   // nothing to evaluate
	usesOldSelf  bool
	optional     bool // optionalOldSelf

	clean *closure.Program // nil: the rule is replayed
}

// Compile compiles the rules of the scope in the Stored environment; nil for none. Rules that do not compile are kept: upstream reports them for
// each object.
//
// Upstream: schema/cel/compilation.go, Compile and compileRule.
func (s *Scope) Compile(rules []apiextensionsv1.ValidationRule) *Set {
	set, _ := s.CompileWithin(context.Background(), rules)
	return set
}

// CompileWithin is Compile until the context ends: ok is unset then, and there is no Set.
func (s *Scope) CompileWithin(ctx context.Context, rules []apiextensionsv1.ValidationRule) (set *Set, ok bool) {
	if len(rules) == 0 {
		return nil, true
	}
	key := s.setKey(rules)
	if known := s.memory.sets[string(key)]; known != nil {
		return known, true
	}
	set = &Set{self: s.Type(), declared: s.Declared()}
	if s.Decl == nil {
		set.failed = "failed to convert to declType for CEL validation rules"
	} else {
		set.rules = make([]rule, len(rules))
		for i := range rules {
			if set.rules[i], ok = s.compileStored(ctx, &rules[i], i); !ok {
				return nil, false
			}
			set.bindsOldSelf = set.bindsOldSelf || set.rules[i].usesOldSelf
			set.size += set.rules[i].size()
		}
	}
	set.size += int64(unsafe.Sizeof(*set))
	s.memory.sets[string(key)] = set
	return set, true
}

// compileStored compiles a rule; ok is unset if the context ended before.
func (s *Scope) compileStored(ctx context.Context, written *apiextensionsv1.ValidationRule, index int) (r rule, ok bool) {
	if ctx.Err() != nil {
		return r, false
	}
	mem, env := s.memory, Stored()
	r = rule{index: index, text: mem.text(written.Rule), message: mem.text(written.Message)}
	r.optional = written.OptionalOldSelf != nil && *written.OptionalOldSelf
	if written.Reason != nil {
		r.reason = apiextensionsv1.FieldValueErrorReason(mem.text(string(*written.Reason)))
	}
	c, ok := env.compileRuleWithin(ctx, written.Rule, s, r.optional)
	if !ok {
		return r, false
	}
	if c.Checked != nil {
		r.usesOldSelf = c.UsesOldSelf
	}
	if c.err != nil {
		r.compileError = mem.text(c.err.Error())
		return r, true
	}
	if c.Checked == nil {
		r.blank = true
		return r, true
	}
	if s.Type() == s.Declared() {
		r.clean, _ = closure.Compile(c.Ast.NativeRep(), s.Type(), closure.Options{OptionalOldSelf: r.optional, Functions: env.functions(), Value: ValueOf})
	}
	if written.MessageExpression != "" {
		m, ok := env.compileMessageWithin(ctx, written.MessageExpression, s, r.optional)
		if !ok {
			return r, false
		}
		if m.err != nil {
			return r, true // upstream does not come to the field path then
		}
		r.messageExpr = mem.text(written.MessageExpression)
	}
	if written.FieldPath != "" {
		if path, _, err := schema.Resolve(written.FieldPath, s.Props, true); err == nil {
			r.fieldPath = mem.text(path.String())
			if steps, err := schema.Steps(written.FieldPath, s.Props); err == nil {
				r.steps = steps.Detach()
			}
		}
	}
	return r, true
}

// setKey tells sets of a memory apart: by the type of self, the rules, and what their field paths become.
func (s *Scope) setKey(rules []apiextensionsv1.ValidationRule) []byte {
	k := appendPointer(nil, unsafe.Pointer(s.Type()))
	k = append(appendPointer(k, unsafe.Pointer(s.Declared())), bits(s.Decl == nil))
	k = binary.AppendUvarint(k, uint64(len(rules)))
	for i := range rules {
		r := &rules[i]
		for _, text := range [...]string{r.Rule, r.Message, r.MessageExpression} {
			k = appendText(k, text)
		}
		reason, path := "", ""
		if r.Reason != nil {
			reason = string(*r.Reason)
		}
		if r.FieldPath != "" {
			if p, _, err := schema.Resolve(r.FieldPath, s.Props, true); err == nil {
				path = p.String()
			}
		}
		k = append(appendText(appendText(k, reason), path), bits(r.OptionalOldSelf != nil && *r.OptionalOldSelf))
	}
	return k
}

// Size is the heap that the Set retains, in bytes, without the types and the texts, which sets share (Retained has those), and
// without the programs of replays, which have a bound of the process (replay_kept.go).
func (s *Set) Size() int64 { return s.size }

func (r *rule) size() int64 {
	size := int64(unsafe.Sizeof(*r)) + int64(len(r.steps))*int64(unsafe.Sizeof(value.Segment{}))
	if r.clean != nil {
		size += r.clean.Size()
	}
	return size
}
