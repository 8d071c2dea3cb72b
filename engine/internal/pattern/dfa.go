package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// dfa matches a regular expression in ASCII text with one table look-up a byte. Package regexp takes some ten times
// that. It is built from the same program (regexp/syntax) by subset construction. Package regexp matches
// other text, and expressions with other assertions than ^ and $ of the text or with too many states.
type dfa struct {
	class [utf8.RuneSelf]uint8 // bytes that no instruction distinguishes
	width int                  // number of classes
	next  []uint16             // state*width+class to state
	atEnd []bool               // whether a text that ends in this state matches
}

// The first three states of a dfa.
const (
	dfaAccept uint16 = iota // the text matches
	dfaReject               // the text cannot match
	dfaStart
)

// Bounds of the table and of the work to build it. The patterns of real CRDs need some tens of states.
const (
	maxDFAStates = 512
	maxDFAWork   = 1 << 18
)

// match runs the table over s. ok is false if s is not ASCII or stop fired.
func (a *dfa) match(s string, stop *interrupt.Signal) (matched, ok bool) {
	state := dfaStart
	for len(s) > longText {
		if state, ok = a.run(state, s[:longText]); !ok || stop.Stopped() {
			return false, false
		}
		s = s[longText:]
	}
	if state, ok = a.run(state, s); !ok {
		return false, false
	}
	return a.atEnd[state], true
}

func (a *dfa) run(state uint16, s string) (uint16, bool) {
	next, width := a.next, a.width
	for i := 0; i < len(s) && state > dfaReject; i++ {
		b := s[i]
		if b >= utf8.RuneSelf {
			return 0, false
		}
		state = next[int(state)*width+int(a.class[b])]
	}
	return state, true
}

func (a *dfa) size() int64 { return int64(len(a.next)*2 + len(a.atEnd) + 256) }

// newDFA builds the table, or returns nil.
func newDFA(prog *syntax.Prog) *dfa {
	for i := range prog.Inst {
		in := &prog.Inst[i]
		if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil
		}
	}
	b := dfaBuilder{prog: prog, dfa: &dfa{}, states: map[string]uint16{}, on: make([]bool, len(prog.Inst))}
	if !b.classes() {
		return nil
	}
	if b.build(); b.work > maxDFAWork {
		return nil
	}
	return b.dfa
}

type dfaBuilder struct {
	prog    *syntax.Prog
	dfa     *dfa
	samples []rune            // a byte of each class
	states  map[string]uint16 // by their instructions
	sets    [][]uint32        // instructions of each state, sorted, including pending assertions
	on      []bool            // scratch of closure
	set     []uint32
	key     []byte
	work    int // number of visited instructions
}

// maxDFACompared bounds how often classes compares two instructions: some milliseconds.
const maxDFACompared = 1 << 20

// classes groups bytes that every instruction treats alike. It returns false if there are too many different
// instructions.
func (b *dfaBuilder) classes() bool {
	compared := 0
	names := map[string]uint8{}
	sign := make([]byte, 0, len(b.prog.Inst))
	var distinct []*syntax.Inst
	for i := range b.prog.Inst {
		in := &b.prog.Inst[i]
		same := func(d *syntax.Inst) bool { return d.Op == in.Op && d.Arg == in.Arg && slices.Equal(d.Rune, in.Rune) }
		if consumes(in) && !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, in)
		}
		if compared += len(distinct); compared > maxDFACompared {
			return false
		}
	}
	b.work += utf8.RuneSelf * len(distinct)
	for c := range rune(utf8.RuneSelf) {
		sign = sign[:0]
		for i, in := range distinct {
			if in.MatchRune(c) {
				sign = append(sign, byte(i), byte(i>>8))
			}
		}
		class, ok := names[string(sign)]
		if !ok {
			class = uint8(len(names))
			names[string(sign)] = class
			b.samples = append(b.samples, c)
		}
		b.dfa.class[c] = class
	}
	b.dfa.width = len(b.samples)
	return true
}

func (b *dfaBuilder) build() {
	a := b.dfa
	b.sets = make([][]uint32, dfaStart, 16)
	a.atEnd = append(a.atEnd, true, false)
	b.begin()
	matched := b.closure(uint32(b.prog.Start), syntax.EmptyBeginText)
	if matched {
		b.set = b.set[:0]
	}
	b.sets = append(b.sets, slices.Clone(b.set))
	a.atEnd = append(a.atEnd, matched || b.ends(b.sets[dfaStart], syntax.EmptyBeginText|syntax.EmptyEndText))
	a.next = make([]uint16, int(dfaStart)*a.width)
	for c := range a.width {
		a.next[int(dfaReject)*a.width+c] = dfaReject
	}
	for s := int(dfaStart); s < len(b.sets); s++ {
		for _, sample := range b.samples {
			to := dfaAccept
			if s != int(dfaStart) || !matched {
				to = b.step(b.sets[s], sample)
			}
			a.next = append(a.next, to)
		}
		if len(b.sets) > maxDFAStates || b.work > maxDFAWork {
			b.work = maxDFAWork + 1
			return
		}
	}
	a.next, a.atEnd = slices.Clone(a.next), slices.Clone(a.atEnd)
}

// step returns the state after one more byte.
func (b *dfaBuilder) step(set []uint32, c rune) uint16 {
	b.begin()
	for _, pc := range set {
		if in := &b.prog.Inst[pc]; consumes(in) && in.MatchRune(c) && b.closure(in.Out, 0) {
			return dfaAccept
		}
	}
	b.work += len(set) + 1
	if b.closure(uint32(b.prog.Start), 0) { // a match may start here
		return dfaAccept
	}
	slices.Sort(b.set)
	b.key = b.key[:0]
	hasNext := false
	for _, pc := range b.set {
		b.key = append(b.key, byte(pc), byte(pc>>8), byte(pc>>16))
		hasNext = hasNext || b.prog.Inst[pc].Op != syntax.InstEmptyWidth
	}
	if s, ok := b.states[string(b.key)]; ok {
		return s
	}
	ends := b.ends(b.set, syntax.EmptyEndText)
	s := dfaReject
	if hasNext || ends {
		s = uint16(len(b.sets))
		b.sets = append(b.sets, slices.Clone(b.set))
		b.dfa.atEnd = append(b.dfa.atEnd, ends)
	}
	b.states[string(b.key)] = s
	return s
}

// begin empties the set that closure fills.
func (b *dfaBuilder) begin() {
	clear(b.on)
	b.work += len(b.on) / 16
	b.set = b.set[:0]
}

// closure adds what is reachable from pc without reading, if the assertions of holds hold. It reports a match.
func (b *dfaBuilder) closure(pc uint32, holds syntax.EmptyOp) (matched bool) {
	if b.on[pc] {
		return false
	}
	b.on[pc] = true
	b.work++
	switch in := &b.prog.Inst[pc]; in.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		return b.closure(in.Out, holds) || b.closure(in.Arg, holds)
	case syntax.InstCapture, syntax.InstNop:
		return b.closure(in.Out, holds)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(in.Arg)&^holds == 0 {
			return b.closure(in.Out, holds)
		}
		if syntax.EmptyOp(in.Arg)&syntax.EmptyBeginText == 0 || holds&syntax.EmptyBeginText != 0 {
			b.set = append(b.set, pc) // it may hold at the end of the text
		}
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		b.set = append(b.set, pc)
	}
	return false
}

// ends reports whether a set matches at the end of the text.
func (b *dfaBuilder) ends(set []uint32, holds syntax.EmptyOp) bool {
	saved := slices.Clone(set)
	defer func() { b.set = saved }()
	clear(b.on)
	for _, pc := range saved {
		if b.prog.Inst[pc].Op == syntax.InstEmptyWidth {
			if b.closure(pc, holds) {
				return true
			}
		}
	}
	return false
}
