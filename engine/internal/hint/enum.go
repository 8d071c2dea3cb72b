package hint

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
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
	texts, values := f.allowed(v)
	text, how := f.nearest(bad, texts, nil, nil)
	if how == far {
		return f.like(bad, v.BadValue, texts, values)
	}
	meant := value.AppendAny(nil, values[slices.Index(texts, text)])
	switch _, isText := v.BadValue.(string); {
	case bad == text && isText:
		return &Hint{Text: "did you mean " + string(meant) + ", without quotes?", Replacement: meant}
	case bad == text:
		return &Hint{Text: "did you mean " + string(meant) + ", in quotes?", Replacement: meant}
	}
	return &Hint{Text: "did you mean " + string(meant) + "?", Replacement: meant}
}

// like is the value of an enum that means the same as one whose letters are others: the nearest number, off for no. Nil if there is none.
func (f *Finder) like(bad string, given any, texts []string, values []any) *Hint {
	means := truth(bad)
	size, isNumber := number(given)
	best, least := -1, math.Inf(1)
	for i, text := range texts {
		if f.work++; f.work >= maxWork {
			return nil
		}
		if _, isText := values[i].(string); isText {
			if means != "" && means == truth(text) {
				meant := value.AppendAny(nil, text)
				return &Hint{Text: "did you mean " + string(meant) + "?", Replacement: meant}
			}
			continue
		}
		if n, ok := number(values[i]); ok && isNumber && math.Abs(n-size) < least {
			best, least = i, math.Abs(n-size)
		}
	}
	if best < 0 {
		return nil
	}
	return &Hint{Text: "the nearest value is " + texts[best], Replacement: []byte(texts[best])}
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

// allowed are the values of the enum that a finding is about, and how they are written, strings without quotes: the schema's, or, where that is in a junctor, those
// that the finding itself lists. Lists, objects and texts that are too long to be repeated are left out.
func (f *Finder) allowed(v *violation.Violation) (texts []string, values []any) {
	add := func(text string, one any) {
		texts, values = append(texts, text), append(values, one)
	}
	if p := f.to(v.Path); p.node != nil && p.node.Valid != nil && p.node.Valid.Enum != nil {
		for _, one := range p.node.Valid.Enum.Values {
			if f.work += 4; f.work >= maxWork {
				return nil, nil
			}
			switch text := one.(type) {
			case string:
				if len(text) <= longestShown {
					add(text, one)
				}
			case bool, int64, float64:
				f.work += 16
				add(string(value.AppendAny(nil, one)), one)
			}
		}
		return texts, values
	}
	if _, isText := v.BadValue.(string); !isText {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(v.Detail, "supported values: ")
	for ok && f.work < maxWork {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			break
		}
		f.work += 16 + len(quoted)/4
		text, _ := strconv.Unquote(quoted) // it is quoted
		add(text, text)
		rest, ok = strings.CutPrefix(rest[len(quoted):], ", ")
	}
	return texts, values
}
