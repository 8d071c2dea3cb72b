package cel

import "strings"

// expression is generated text with its structure, so that it can be shrunk: operands between fixed pieces. There is
// one piece more than operands.
type expression struct {
	pieces   []string
	operands []*expression
	// closed means that the text binds tighter than any operator: as an operand it needs no parentheses.
	closed bool
}

// text returns an expression without operands.
func text(s string) *expression { return &expression{pieces: []string{s}, closed: true} }

// joined returns an expression from a pattern. Each $ stands for an operand.
func joined(closed bool, pattern string, operands ...*expression) *expression {
	return &expression{pieces: strings.Split(pattern, "$"), operands: operands, closed: closed}
}

// call returns f(a, b).
func call(name string, arguments ...*expression) *expression {
	return &expression{pieces: around(name+"(", len(arguments), ")"), operands: arguments, closed: true}
}

// method returns target.f(a, b).
func method(target *expression, name string, arguments ...*expression) *expression {
	e := &expression{pieces: around("."+name+"(", len(arguments), ")"), closed: true}
	e.pieces = append([]string{""}, e.pieces...)
	e.operands = append([]*expression{target.tight()}, arguments...)
	return e
}

// around returns the pieces of a list of n operands.
func around(open string, n int, shut string) []string {
	if n == 0 {
		return []string{open + shut}
	}
	pieces := []string{open}
	for range n - 1 {
		pieces = append(pieces, ", ")
	}
	return append(pieces, shut)
}

// infix returns (a op b).
func infix(a *expression, op string, b *expression) *expression {
	return joined(false, "$ "+op+" $", a.tight(), b.tight())
}

// tight adds parentheses to an operand that needs them.
func (e *expression) tight() *expression {
	if e.closed {
		return e
	}
	return joined(true, "($)", e)
}

// String returns the text of the expression.
func (e *expression) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e *expression) write(b *strings.Builder) {
	for i, p := range e.pieces {
		b.WriteString(p)
		if i < len(e.operands) {
			e.operands[i].write(b)
		}
	}
}

// size returns the number of nodes.
func (e *expression) size() int {
	n := 1
	for _, o := range e.operands {
		n += o.size()
	}
	return n
}
