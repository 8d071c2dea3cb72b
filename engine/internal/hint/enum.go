package hint

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

func isEnum(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeNotSupported && v.Step == violation.Schema
}

// enum suggests the value of an enum that is nearest to the one sent.
func (f *Finder) enum(v *violation.Violation, at value.Position) *Hint {
	bad, isText := v.BadValue.(string)
	if !isText {
		node := uint32(0)
		if at != (value.Position{}) {
			node = f.at(v.Path)
		}
		if node == 0 {
			return nil
		}
		var ok bool
		if bad, ok = f.scalar(node, at); !ok {
			return nil
		}
	}
	texts, values := f.allowed(v)
	text, how := f.nearest(bad, texts, nil)
	if how == far {
		return f.equivalent(bad, v.BadValue, texts, values)
	}
	meant := value.AppendAny(nil, values[slices.Index(texts, text)])
	suffix := "?"
	switch {
	case bad == text && isText:
		suffix = ", without quotes?"
	case bad == text:
		suffix = ", in quotes?"
	}
	return &Hint{Text: "did you mean " + string(meant) + suffix, Replacement: meant}
}

// equivalent suggests the value of an enum that means the same in other words (off for no), or else the nearest number.
func (f *Finder) equivalent(bad string, given any, texts []string, values []any) *Hint {
	boolean := booleanOf(bad)
	size, isNumber := number(given)
	best, least := -1, math.Inf(1)
	for i, text := range texts {
		if f.work++; f.work >= maxWork {
			return nil
		}
		if _, isText := values[i].(string); isText {
			if boolean != "" && boolean == booleanOf(text) {
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

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// allowed returns the values of the enum that a violation is about, and their texts, strings without quotes. They come
// from the schema, or from the violation itself for an enum below allOf, anyOf, oneOf or not. Lists, objects and texts
// that are too long to be repeated in a hint are left out.
func (f *Finder) allowed(v *violation.Violation) (texts []string, values []any) {
	add := func(text string, one any) {
		texts, values = append(texts, text), append(values, one)
	}
	if t := f.target(v.Path); t.node != nil && t.node.Valid != nil && t.node.Valid.Enum != nil {
		for _, one := range t.node.Valid.Enum.Values {
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
		text, _ := strconv.Unquote(quoted) // cannot fail: QuotedPrefix checked it
		add(text, text)
		rest, ok = strings.CutPrefix(rest[len(quoted):], ", ")
	}
	return texts, values
}
