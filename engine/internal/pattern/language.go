package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Language is a set of strings: those that match all patterns and have from Least to Most code points.
type Language struct {
	Patterns []string
	Least    int64
	Most     int64 // negative: no bound
}

// Literal returns the pattern of exactly one string.
func Literal(text string) string { return `\A(?:` + quoted(text) + `)\z` }

// Literals returns the pattern of some strings.
func Literals(texts []string) string {
	all := ""
	for i, text := range texts {
		if i > 0 {
			all += "|"
		}
		all += quoted(text)
	}
	return `\A(?:` + all + `)\z`
}

// Any returns a pattern that matches the strings that one of some patterns matches. It ignores invalid patterns.
func Any(patterns []string) string {
	var all []string
	for _, p := range patterns {
		if _, err := syntax.Parse(p, syntax.Perl); err == nil {
			all = append(all, "(?:"+p+")")
		}
	}
	return strings.Join(all, "|")
}

func quoted(text string) string {
	return (&syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(text)}).String()
}

// Except returns a shortest string of l that is not in other, and whether there is one. decided is false if a pattern is
// invalid or if the comparison needs more than work, in visited instructions. A million of them take some 20 ms. The
// comparison subtracts what it needs from work.
func (l Language) Except(other Language, work *int) (text string, found, decided bool) {
	c := languages{l: l, other: other, work: *work}
	defer func() { *work = c.work }()
	for _, source := range slices.Concat(l.Patterns, other.Patterns) {
		prog, err := program(source)
		if err != nil || c.work < 0 {
			return "", false, false
		}
		c.work -= len(prog.Inst)
		c.machines = append(c.machines, newMachine(prog))
	}
	c.split()
	return c.search()
}

// languages is a comparison. The first machines are those of l, the others those of other.
type languages struct {
	l, other Language
	machines []*machine
	classes  []rune // a rune of each class that no machine distinguishes
	work     int
}

// product is a state of all machines after a text. length is the number of its runes, at most the bound.
type product struct {
	states   []int
	length   int64
	previous int  // index of the product before the last rune
	last     rune // of the text
}

// search visits the products in the order of their lengths.
func (c *languages) search() (text string, found, decided bool) {
	bound := max(c.l.Least, c.other.Least)
	if c.other.Most >= 0 {
		bound = max(bound, c.other.Most+1)
	}
	if c.l.Most >= 0 {
		bound = max(bound, c.l.Most+1)
	}
	start := product{states: make([]int, len(c.machines)), previous: -1}
	queue, seen := []product{start}, map[string]bool{}
	for i := 0; i < len(queue); i++ {
		p := &queue[i]
		if c.inside(p, c.l, 0, len(c.l.Patterns)) && !c.inside(p, c.other, len(c.l.Patterns), len(c.machines)) {
			return textOf(queue, i), true, true
		}
		for _, r := range c.classes {
			next := product{states: make([]int, len(c.machines)), length: min(p.length+1, bound), previous: i, last: r}
			dead := c.l.Most >= 0 && next.length > c.l.Most
			for k, m := range c.machines {
				if dead {
					break
				}
				next.states[k] = m.next(queue[i].states[k], r, &c.work)
				dead = k < len(c.l.Patterns) && m.states[next.states[k]].isDead()
			}
			if c.work -= 1 + len(c.machines); c.work < 0 {
				return "", false, false
			}
			if key := next.key(); !dead && !seen[key] {
				seen[key] = true
				queue = append(queue, next)
			}
		}
	}
	return "", false, true
}

// inside reports whether the text of a product is in a language, whose machines are given.
func (c *languages) inside(p *product, l Language, from, to int) bool {
	if p.length < l.Least || l.Most >= 0 && p.length > l.Most {
		return false
	}
	for k := from; k < to; k++ {
		if !c.machines[k].accepts(p.states[k], &c.work) {
			return false
		}
	}
	return true
}

func (p *product) key() string {
	key := binary.AppendVarint(nil, p.length)
	for _, s := range p.states {
		key = binary.AppendVarint(key, int64(s))
	}
	return string(key)
}

func textOf(queue []product, i int) string {
	var runes []rune
	for ; queue[i].previous >= 0; i = queue[i].previous {
		runes = append(runes, queue[i].last)
	}
	slices.Reverse(runes)
	return string(runes)
}

// split fills classes.
func (c *languages) split() {
	points := []rune{0, '\n', '\n' + 1, ' ', '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, 0x7f, 0xd800, 0xe000}
	for _, m := range c.machines {
		for i := range m.prog.Inst {
			in := &m.prog.Inst[i]
			switch {
			case in.Op != syntax.InstRune && in.Op != syntax.InstRune1:
			case len(in.Rune) == 1:
				points = append(points, in.Rune[0], in.Rune[0]+1)
				for f := unicode.SimpleFold(in.Rune[0]); f != in.Rune[0]; f = unicode.SimpleFold(f) {
					points = append(points, f, f+1)
				}
			default:
				for k := 0; k+1 < len(in.Rune); k += 2 {
					points = append(points, in.Rune[k], in.Rune[k+1]+1)
				}
			}
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	known := map[string]int{}
	for _, r := range points {
		if r > unicode.MaxRune || r >= 0xd800 && r < 0xe000 {
			continue
		}
		key := c.behaviour(r)
		if i, ok := known[key]; !ok {
			known[key] = len(c.classes)
			c.classes = append(c.classes, r)
		} else if readable(r) > readable(c.classes[i]) {
			c.classes[i] = r
		}
		if c.work < 0 {
			return
		}
	}
	slices.SortStableFunc(c.classes, func(a, b rune) int { return readable(b) - readable(a) })
}

// behaviour identifies the class of a rune.
func (c *languages) behaviour(r rune) string {
	key := []byte{byte(kindOf(r))}
	for _, m := range c.machines {
		c.work -= len(m.prog.Inst)
		for i := range m.prog.Inst {
			if in := &m.prog.Inst[i]; consumes(in) {
				if in.MatchRune(r) {
					key = append(key, 1)
				} else {
					key = append(key, 0)
				}
			}
		}
	}
	return string(key)
}

// readable ranks runes: texts for people have letters and digits.
func readable(r rune) int {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return 3
	case r >= 'A' && r <= 'Z':
		return 2
	case r >= ' ' && r < 0x7f:
		return 1
	}
	return 0
}

// consumes reports whether the instruction consumes a rune.
func consumes(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// kind is what conditions such as \b and ^ see of a rune.
type kind uint8

const (
	noRune kind = iota
	newline
	wordRune
	otherRune
)

// samples has a rune of each kind. Negative runes are outside of the text.
var samples = [...]rune{noRune: -1, newline: '\n', wordRune: 'a', otherRune: ' '}

func kindOf(r rune) kind {
	switch {
	case r == '\n':
		return newline
	case syntax.IsWordChar(r):
		return wordRune
	}
	return otherRune
}

// machine is a deterministic automaton, whose states are made when they are needed. State 0 is the start.
type machine struct {
	prog     *syntax.Prog
	anchored bool // matches begin at the beginning of the text
	states   []machineState
	known    map[string]int
	steps    map[machineStep]int
	visited  []bool
}

type machineStep struct {
	state int
	r     rune
}

// machineState has the instructions that continue after the last rune, before conditions.
type machineState struct {
	threads []uint32
	last    kind
	matched bool // whatever follows
}

func (s *machineState) isDead() bool { return !s.matched && len(s.threads) == 0 }

func newMachine(prog *syntax.Prog) *machine {
	m := &machine{prog: prog, known: map[string]int{}, steps: map[machineStep]int{},
		anchored: prog.StartCond()&syntax.EmptyBeginText != 0, visited: make([]bool, len(prog.Inst))}
	m.add(machineState{threads: []uint32{uint32(prog.Start)}})
	return m
}

func (m *machine) add(s machineState) int {
	if s.matched {
		s = machineState{matched: true}
	}
	key := []byte{byte(s.last)}
	if s.matched {
		key[0] = 0xff
	}
	for _, pc := range s.threads {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	i, ok := m.known[string(key)]
	if !ok {
		i = len(m.states)
		m.known[string(key)] = i
		m.states = append(m.states, s)
	}
	return i
}

// next returns the state after another rune.
func (m *machine) next(state int, r rune, work *int) int {
	step := machineStep{state, r}
	if to, ok := m.steps[step]; ok {
		return to
	}
	s := &m.states[state]
	to := machineState{matched: s.matched, last: kindOf(r)}
	if !s.matched {
		var active []uint32
		active, to.matched = m.closure(s, r, work)
		for _, pc := range active {
			if in := &m.prog.Inst[pc]; in.MatchRune(r) {
				to.threads = append(to.threads, in.Out)
			}
		}
		if !m.anchored {
			to.threads = append(to.threads, uint32(m.prog.Start))
		}
		slices.Sort(to.threads)
		to.threads = slices.Compact(to.threads)
	}
	i := m.add(to)
	m.steps[step] = i
	return i
}

// accepts reports whether the pattern matches if the text ends.
func (m *machine) accepts(state int, work *int) bool {
	s := &m.states[state]
	if s.matched {
		return true
	}
	_, matched := m.closure(s, -1, work)
	return matched
}

// closure follows the instructions that consume no rune, before the rune r. It returns those that consume one, and
// whether the pattern has matched.
func (m *machine) closure(s *machineState, r rune, work *int) (active []uint32, matched bool) {
	flags := syntax.EmptyOpContext(samples[s.last], r)
	clear(m.visited)
	*work -= 1 + len(m.visited)/64
	stack := slices.Clone(s.threads)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if m.visited[pc] {
			continue
		}
		m.visited[pc] = true
		*work--
		switch in := &m.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				stack = append(stack, in.Out)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstFail:
		default:
			active = append(active, pc)
		}
	}
	return active, matched
}
