package hint

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

func isEnum(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeNotSupported && v.Step == violation.Schema
}

// enum says which value of an enum is nearest to the one given.
func (f *Finder) enum(v *violation.Violation, at value.Position) *Hint {
	bad, ok := f.spelling(v, at)
	if !ok {
		return nil
	}
	allowed := f.allowed(v)
	names := make([]string, len(allowed))
	for i := range allowed {
		names[i] = allowed[i].text
	}
	name, how := f.nearest(bad, names, nil)
	if how == far {
		return f.like(bad, v.BadValue, allowed)
	}
	for _, a := range allowed {
		if a.text != name {
			continue
		}
		switch _, isText := v.BadValue.(string); {
		case bad == name && isText:
			return &Hint{Text: "did you mean " + string(a.json) + ", without quotes?", Replacement: a.json}
		case bad == name:
			return &Hint{Text: "did you mean " + string(a.json) + ", in quotes?", Replacement: a.json}
		}
		return &Hint{Text: "did you mean " + string(a.json) + "?", Replacement: a.json}
	}
	return nil
}

// like is the value of an enum that means the same as one whose letters are others: the nearest number, off for no. Nil if there is none.
func (f *Finder) like(bad string, value any, allowed []option) *Hint {
	var best *option
	least := math.Inf(1)
	for i := range allowed {
		a := &allowed[i]
		if a.isText() {
			if means := truth(bad); means != "" && means == truth(a.text) {
				return &Hint{Text: "did you mean " + string(a.json) + "?", Replacement: a.json}
			}
			continue
		}
		given, isNumber := number(value)
		n, err := strconv.ParseFloat(a.text, 64)
		if off := math.Abs(n - given); isNumber && err == nil && off < least {
			best, least = a, off
		}
	}
	if best == nil {
		return nil
	}
	return &Hint{Text: "the nearest value is " + best.text, Replacement: best.json}
}

// number is the number that a bad value is.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// spelling is how the document writes a value that is no list and no object.
func (f *Finder) spelling(v *violation.Violation, at value.Position) (string, bool) {
	if text, ok := v.BadValue.(string); ok {
		return text, true
	}
	node := uint32(0)
	if at != (value.Position{}) {
		node = f.at(v.Path)
	}
	if node == 0 {
		return "", false
	}
	return f.scalar(node, at)
}

// option is one value of an enum.
type option struct {
	text string // a string's content, or the JSON of anything else
	json []byte
}

func (o *option) isText() bool { return o.json[0] == '"' }

// allowed are the values of the enum that a finding is about: the schema's, or, where that is in a junctor, those that the finding itself lists.
func (f *Finder) allowed(v *violation.Violation) (list []option) {
	if p := f.to(v.Path); p.node != nil && p.node.Valid != nil && p.node.Valid.Enum != nil {
		for _, one := range p.node.Valid.Enum.Values {
			if f.work++; f.work >= maxWork {
				return nil
			}
			switch text := one.(type) {
			case string:
				if f.work += len(text) / 8; len(text) <= longestShown {
					list = append(list, option{text: text, json: value.AppendAny(nil, one)})
				}
			case bool, int64, float64:
				printed := value.AppendAny(nil, one)
				list = append(list, option{text: string(printed), json: printed})
			}
		}
		return list
	}
	if _, isText := v.BadValue.(string); !isText {
		return nil
	}
	rest, ok := strings.CutPrefix(v.Detail, "supported values: ")
	for ok && f.work < maxWork {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			break
		}
		f.work += 1 + len(quoted)/8
		text, _ := strconv.Unquote(quoted) // it is quoted
		replacement, _ := json.Marshal(text)
		list = append(list, option{text: text, json: replacement})
		rest, ok = strings.CutPrefix(rest[len(quoted):], ", ")
	}
	return list
}
