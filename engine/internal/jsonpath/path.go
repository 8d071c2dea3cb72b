// Package jsonpath evaluates the JSONPaths of printer columns over a document tree. Results match client-go's
// util/jsonpath, which also parses the paths.
package jsonpath

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/value"
)

// Path is a compiled JSONPath of a column.
type Path struct {
	// Names holds the names of a path that only consists of members, like .spec.replicas. It is nil for any other path.
	Names []string
	// blocks holds the parts of the template: {…} or text in between. Most paths have one.
	blocks [][]step
	// made holds the literals of the path.
	made []Scalar
	// Ranges is set if the path has a word such as range or end. Its evaluation then depends on a RangeState.
	Ranges bool
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
	opText                // "text", or text between blocks
	opWord                // range, end
)

// step is one operation on a list of values.
type step struct {
	op   op
	name string // of a field or word
	item Value  // of a literal or text, or the right operand for member
	// bounds holds start, end and stride of a slice.
	bounds *[3]bound
	// lists holds the operands of a filter or the members of a union.
	lists      [][]step
	comparison string // "exists" if there is no right operand
	// member is set for a filter that compares this member of each element with a text, the most common form.
	member string
}

// bound is one number of a slice. A derived bound is implied: [3] means [3:4].
type bound struct {
	value          int
	known, derived bool
}

// Parse parses the JSONPath of a column. The error is upstream's.
func Parse(name, text string) (*Path, error) {
	if names := PlainNames(text); names != nil {
		return &Path{Names: names}, nil
	}
	parsed, err := jsonpath.Parse(name, "{"+text+"}")
	if err != nil {
		return nil, err
	}
	p := &Path{}
	for _, n := range parsed.Root.Nodes {
		if list, ok := n.(*jsonpath.ListNode); ok {
			p.blocks = append(p.blocks, p.steps(list))
		} else {
			p.blocks = append(p.blocks, []step{p.step(n)})
		}
	}
	return p, nil
}

// PlainNames returns the names of a path like .spec.replicas, or nil for any other path.
func PlainNames(text string) []string {
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

func (p *Path) steps(list *jsonpath.ListNode) []step {
	steps := make([]step, len(list.Nodes))
	for i, n := range list.Nodes {
		steps[i] = p.step(n)
	}
	return steps
}

func (p *Path) step(n jsonpath.Node) step {
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
		return p.literal(Scalar{Kind: Int, Int: int64(n.Value)})
	case *jsonpath.FloatNode:
		return p.literal(Scalar{Kind: Float, Float: n.Value})
	case *jsonpath.BoolNode:
		return p.literal(Scalar{Kind: Bool, Bool: n.Value})
	case *jsonpath.TextNode:
		s := p.literal(Scalar{Kind: String, Text: n.Text})
		s.op = opText
		return s
	case *jsonpath.IdentifierNode:
		p.Ranges = true
		return step{op: opWord, name: n.Name}
	}
	panic(fmt.Sprintf("a JSONPath has a node of the unknown type %T", n)) // unreachable: client-go has no other type
}

func (p *Path) literal(l Scalar) step {
	p.made = append(p.made, l)
	return step{op: opLiteral, item: Value{made: madeLiteral + uint32(len(p.made)-1)}}
}

// Value is an intermediate or final value of a path: a node of the tree, or a value made by the path.
type Value struct {
	Node uint32
	made uint32 // 0 for a node
}

// Values of Value.made. A byte b of a string is madeByte+b, and literal i of the path is madeLiteral+i.
const (
	madeNothing = 1 // an invalid reflect.Value: null becomes this inside a range
	madeByte    = 2
	madeLiteral = madeByte + 256
)

// Scalar is a value that can be compared.
type Scalar struct {
	Kind  Kind
	Int   int64
	Float float64
	Text  string
	Bool  bool
}

// Kind is the kind of a Scalar.
type Kind uint8

// The kinds of scalars that upstream's comparisons distinguish.
const (
	NoScalar Kind = iota // null, a list, an object
	Bool
	Int
	Uint // a byte of a string
	Float
	String
)

// scalar returns the comparable form of a value.
func (p *Path) scalar(d *value.Doc, it Value) Scalar {
	switch {
	case it.made >= madeLiteral:
		return p.made[it.made-madeLiteral]
	case it.made >= madeByte:
		return Scalar{Kind: Uint, Int: int64(it.made - madeByte)}
	case it.made == madeNothing:
		return Scalar{}
	}
	switch d.Nodes[it.Node].Kind {
	case value.False, value.True:
		return Scalar{Kind: Bool, Bool: d.Nodes[it.Node].Kind == value.True}
	case value.Int:
		return Scalar{Kind: Int, Int: d.Int(it.Node)}
	case value.Float:
		return Scalar{Kind: Float, Float: d.Float(it.Node)}
	case value.String:
		return Scalar{Kind: String, Text: d.Str(it.Node)}
	}
	return Scalar{}
}

// IsNode reports whether a value is a node of the tree.
func (v Value) IsNode() bool { return v.made == 0 }
