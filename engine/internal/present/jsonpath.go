package present

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/internal/value"
)

// path is a JSONPath of a column, parsed by client-go and taken apart into steps that run over a document tree.
//
// Upstream: client-go util/jsonpath.
type path struct {
	// names is all of a path that only names members, like .spec.replicas: nil for any other.
	names []string
	// blocks are the parts of a template, {…} or text between: mostly one.
	blocks [][]step
	// made are the values that are written in the path itself.
	made []literal
	// ranges: there is a word like range or end somewhere, so blocks are not evaluated one by one, and what upstream keeps from one object
	// to the next matters.
	ranges bool
}

type op uint8

// The operations of a step.
const (
	opField     op = iota // .name
	opSlice               // [1], [1:3:2], [*]
	opFilter              // [?(@.a=="b")]
	opWildcard            // .*
	opRecursive           // ..
	opUnion               // [0,1]
	opLiteral             // 1, 1.5, true
	opText                // "text", or what stands between blocks
	opWord                // range, end
)

// step is one operation on a list of values.
type step struct {
	op   op
	name string // of a field, or the word
	item item   // of a literal or a text, or what member is compared with
	// bounds are first, behind last and stride of a slice.
	bounds *[3]bound
	// lists are the operands of a filter, or the members of a union.
	lists      [][]step
	comparison string // exists if there is no right operand
	// member is set for a filter that holds this member of each element against a text: nearly all are of that kind.
	member string
}

// bound is one number of a slice. A derived one was not written: [3] means [3:4].
type bound struct {
	value          int
	known, derived bool
}

// parsePath parses the JSONPath of a column. The error is upstream's.
func parsePath(name, text string) (*path, error) {
	if names := plainNames(text); names != nil {
		return &path{names: names}, nil
	}
	parsed, err := jsonpath.Parse(name, "{"+text+"}")
	if err != nil {
		return nil, err
	}
	p := &path{}
	for _, n := range parsed.Root.Nodes {
		if list, ok := n.(*jsonpath.ListNode); ok {
			p.blocks = append(p.blocks, p.steps(list))
		} else {
			p.blocks = append(p.blocks, []step{p.step(n)})
		}
	}
	return p, nil
}

// plainNames are the names of a path like .spec.replicas, nil if it is another one.
func plainNames(text string) []string {
	if text == "" || text[0] != '.' {
		return nil
	}
	var names []string
	for from, i := 1, 1; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == '.':
			if i == from {
				return nil
			}
			names = append(names, text[from:i])
			from = i + 1
		case text[i] == '_' || text[i] == '-' || text[i] == '/' || '0' <= text[i] && text[i] <= '9' || 'a' <= text[i]|0x20 && text[i]|0x20 <= 'z':
		default:
			return nil
		}
	}
	return names
}

func (p *path) steps(list *jsonpath.ListNode) []step {
	steps := make([]step, len(list.Nodes))
	for i, n := range list.Nodes {
		steps[i] = p.step(n)
	}
	return steps
}

func (p *path) step(n jsonpath.Node) step {
	switch n := n.(type) {
	case *jsonpath.FieldNode:
		return step{op: opField, name: n.Value}
	case *jsonpath.ArrayNode:
		s := step{op: opSlice, bounds: new([3]bound)}
		for i, b := range n.Params {
			s.bounds[i] = bound{b.Value, b.Known, b.Derived}
		}
		return s
	case *jsonpath.FilterNode:
		s := step{op: opFilter, comparison: n.Operator, lists: [][]step{p.steps(n.Left), p.steps(n.Right)}}
		if left, right := s.lists[0], s.lists[1]; n.Operator == "==" && len(left) == 1 && left[0].op == opField && len(right) == 1 && right[0].op == opText {
			s.member, s.item = left[0].name, right[0].item
		}
		return s
	case *jsonpath.WildcardNode:
		return step{op: opWildcard}
	case *jsonpath.RecursiveNode:
		return step{op: opRecursive}
	case *jsonpath.UnionNode:
		s := step{op: opUnion}
		for _, list := range n.Nodes {
			s.lists = append(s.lists, p.steps(list))
		}
		return s
	case *jsonpath.IntNode:
		return p.literal(literal{kind: intScalar, i: int64(n.Value)})
	case *jsonpath.FloatNode:
		return p.literal(literal{kind: floatScalar, f: n.Value})
	case *jsonpath.BoolNode:
		return p.literal(literal{kind: boolScalar, b: n.Value})
	case *jsonpath.TextNode:
		s := p.literal(literal{kind: stringScalar, s: n.Text})
		s.op = opText
		return s
	case *jsonpath.IdentifierNode:
		p.ranges = true
		return step{op: opWord, name: n.Name}
	}
	panic(fmt.Sprintf("a JSONPath has a node of the unknown type %T", n)) // client-go has no other
}

func (p *path) literal(l literal) step {
	p.made = append(p.made, l)
	return step{op: opLiteral, item: item{made: madeLiteral + uint32(len(p.made)-1)}}
}

// item is a value on the way of a path: a node of the tree, or one that was made.
type item struct {
	node uint32
	made uint32 // 0: a node
}

// The values of item.made. A byte b of a string is madeByte+b, a literal i of the path madeLiteral+i.
const (
	madeNothing = 1 // no value at all, not even null: what a null is to the inside of a range
	madeByte    = 2
	madeLiteral = madeByte + 256
)

// literal is a value that can be compared.
type literal struct {
	kind scalarKind
	i    int64
	f    float64
	s    string
	b    bool
}

type scalarKind uint8

// The kinds of scalars as upstream compares them.
const (
	noScalar scalarKind = iota // null, a list, an object
	boolScalar
	intScalar
	uintScalar // a byte of a string
	floatScalar
	stringScalar
)

// scalar is what a value is in a comparison.
func (p *path) scalar(d *value.Doc, it item) literal {
	switch {
	case it.made >= madeLiteral:
		return p.made[it.made-madeLiteral]
	case it.made >= madeByte:
		return literal{kind: uintScalar, i: int64(it.made - madeByte)}
	case it.made == madeNothing:
		return literal{}
	}
	switch d.Nodes[it.node].Kind {
	case value.False, value.True:
		return literal{kind: boolScalar, b: d.Nodes[it.node].Kind == value.True}
	case value.Int:
		return literal{kind: intScalar, i: d.Int(it.node)}
	case value.Float:
		return literal{kind: floatScalar, f: d.Float(it.node)}
	case value.String:
		return literal{kind: stringScalar, s: d.Str(it.node)}
	}
	return literal{}
}
