package hint

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

func isWrongType(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeTypeInvalid && v.Step == violation.Schema
}

// longestShown is the length up to which a value is repeated in a hint.
const longestShown = 256

// wrongType says what was meant by a value of a wrong type.
func (f *Finder) wrongType(v *violation.Violation, at value.Position) *Hint {
	if at == (value.Position{}) {
		return nil
	}
	node := f.at(v.Path)
	if node == 0 {
		return nil
	}
	p := f.to(v.Path)
	wants := p.wants()
	if wants == nil {
		wants = wantedBy(v.Detail)
	}
	switch f.doc.Nodes[node].Kind {
	case value.Array:
		return f.unwrapped(node, wants)
	case value.Object:
		if slices.Contains(wants, "array") && slices.Contains(p.item().wants(), "object") {
			return f.wrapped(f.doc.AppendJSON(nil, node), "a list is wanted: did you mean a list of this one object?")
		}
		return nil
	case value.Null:
		return nil
	}
	if meant, text := f.converted(node, at, wants); meant != nil {
		return &Hint{Text: text, Replacement: meant}
	}
	if slices.Contains(wants, "array") {
		return f.listed(node, at, p.item().wants())
	}
	return nil
}

// wantedBy reads the types off a finding: "must be of type integer,string: "boolean"".
func wantedBy(detail string) []string {
	_, rest, ok := strings.Cut(detail, "must be of type ")
	if !ok {
		return nil
	}
	types, _, _ := strings.Cut(rest, ":")
	return strings.Split(types, ",")
}

// fits reports whether a value of a kind is of one of the types; any will do where there are none.
func fits(kind value.Kind, wants []string) bool {
	if len(wants) == 0 {
		return true
	}
	name := kind.String()
	return slices.Contains(wants, name) || kind == value.Int && slices.Contains(wants, "number")
}

// converted makes of a scalar one of another type, and the words for it; nil if nothing suggests itself.
func (f *Finder) converted(node uint32, at value.Position, wants []string) (meant []byte, text string) {
	written, ok := f.scalar(node, at)
	if !ok || len(written) > longestShown {
		return nil, ""
	}
	wanted := func(kind string) bool { return slices.Contains(wants, kind) }
	switch kind := f.doc.Nodes[node].Kind; {
	case kind == value.String:
		bare := strings.TrimSpace(written)
		switch {
		case wanted("integer") && isInteger(bare), wanted("number") && isNumber(bare):
			return []byte(bare), "did you mean the number " + bare + ", without quotes?"
		case wanted("boolean") && truth(bare) != "":
			return []byte(truth(bare)), "did you mean " + truth(bare) + ", without quotes?"
		}
	case wanted("string"):
		meant = strconv.AppendQuote(nil, written)
		text = "did you mean " + string(meant) + ", in quotes?"
		if kind == value.True || kind == value.False {
			if spelt := kindName(kind); written != spelt {
				text = "YAML takes " + written + " for " + spelt + ": " + text
			}
		}
		return meant, text
	case wanted("boolean") && written == "0":
		return []byte("false"), "did you mean false?"
	case wanted("boolean") && written == "1":
		return []byte("true"), "did you mean true?"
	}
	return nil, ""
}

func kindName(k value.Kind) string {
	if k == value.True {
		return "true"
	}
	return "false"
}

// truth is what a word means that stands for true or false, "" for others.
func truth(word string) string {
	switch strings.ToLower(word) {
	case "true", "yes", "on", "y", "1":
		return "true"
	case "false", "no", "off", "n", "0":
		return "false"
	}
	return ""
}

// isInteger reports whether a text is an integer as JSON writes one, within int64.
func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && isNumber(s)
}

// isNumber reports whether a text is a number as JSON writes one, and not beyond all of them.
func isNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return false
	}
	if strings.Trim(digits, "0123456789.eE+-") != "" || strings.HasSuffix(digits, ".") || strings.Contains(digits, ".e") || strings.Contains(digits, ".E") {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// listed makes a list of one scalar.
func (f *Finder) listed(node uint32, at value.Position, items []string) *Hint {
	const text = "a list is wanted: did you mean "
	kind := f.doc.Nodes[node].Kind
	if fits(kind, items) {
		return f.wrapped(f.doc.AppendJSON(nil, node), text)
	}
	if meant, _ := f.converted(node, at, items); meant != nil {
		return f.wrapped(meant, text)
	}
	return nil
}

// wrapped is a hint that a list of one value is meant. A text that ends in a question mark needs no value.
func (f *Finder) wrapped(one []byte, text string) *Hint {
	if len(one) > longestShown {
		return nil
	}
	list := append(append([]byte{'['}, one...), ']')
	if !strings.HasSuffix(text, "?") {
		text += string(list) + "?"
	}
	return &Hint{Text: text, Replacement: list}
}

// unwrapped is a hint that the one element of a list is meant.
func (f *Finder) unwrapped(list uint32, wants []string) *Hint {
	d := f.doc
	if len(wants) == 0 || d.Len(list) != 1 || !fits(d.Nodes[d.Nodes[list].First].Kind, wants) {
		return nil
	}
	one := d.AppendJSON(nil, d.Nodes[list].First)
	if len(one) > longestShown {
		return nil
	}
	return &Hint{Text: "no list is wanted: did you mean its one element, " + string(one) + "?", Replacement: one}
}
