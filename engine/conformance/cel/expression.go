package cel

import "strings"

// expression is generated text with its structure, so that it can be shrunk: fixed pieces with operands between them.
// There is one piece more than operands.
type expression struct {
	pieces   []string
	operands []*expression
	// closed: the text binds tighter than any operator, so that it needs no parentheses as an operand.
	closed bool
}

// text makes an expression without operands.
func text(s string) *expression { return &expression{pieces: []string{s}, closed: true} }

// joined makes an expression of a pattern, in which each $ stands for an operand.
func joined(closed bool, pattern string, operands ...*expression) *expression {
	return &expression{pieces: strings.Split(pattern, "$"), operands: operands, closed: closed}
}

// call makes f(a, b).
func call(name string, arguments ...*expression) *expression {
	return &expression{pieces: around(name+"(", len(arguments), ")"), operands: arguments, closed: true}
}

// method makes target.f(a, b).
func method(target *expression, name string, arguments ...*expression) *expression {
	e := &expression{pieces: around("."+name+"(", len(arguments), ")"), closed: true}
	e.pieces = append([]string{""}, e.pieces...)
	e.operands = append([]*expression{target.tight()}, arguments...)
	return e
}

// around are the pieces of a list of n operands.
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

// infix makes (a op b).
func infix(a *expression, op string, b *expression) *expression {
	return joined(false, "$ "+op+" $", a.tight(), b.tight())
}

// tight puts parentheses around what needs them as an operand.
func (e *expression) tight() *expression {
	if e.closed {
		return e
	}
	return joined(true, "($)", e)
}

// String is the expression's text.
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

// size is the number of nodes.
func (e *expression) size() int {
	n := 1
	for _, o := range e.operands {
		n += o.size()
	}
	return n
}
