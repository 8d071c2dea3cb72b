package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// number is the numberValidator without its counts. The value and each bound must fit the type and its format. A bound
// that fits is converted to the value's Go type before the comparison (MaximumNativeType). One that does not is
// reported for every value and compared as a float.
func (e *explainer) number(n *Node, v *Validation, i uint32) {
	typ, format := n.numberType(v)
	isInt := e.d.Nodes[i].Kind == tree.Int
	x := e.d.Number(i)
	fits := floatFits(x, typ, format) || !quirk.On(quirk.IntegerOverflowReportedTwice)
	if isInt {
		fits = intFits(e.d.Int(i), typ, format)
	}
	if !fits {
		keyword := "type"
		if format != "" {
			keyword = "format"
		}
		e.outOfRange(keyword, i, "Checked", typ, format)
	}
	if v.MultipleOf != nil {
		e.multipleOf(v, i, typ, format, isInt, x)
	}
	if v.Minimum != nil {
		native := e.boundFits("minimum", "Minimum boundary", *v.Minimum, i, typ, format)
		e.bound("minimum", i, *v.Minimum, v.ExclusiveMinimum, isInt && native, x)
	}
	if v.Maximum != nil {
		native := e.boundFits("maximum", "Maximum boundary", *v.Maximum, i, typ, format)
		e.bound("maximum", i, *v.Maximum, v.ExclusiveMaximum, isInt && native, x)
	}
}

// numberType returns the type and format whose range the numberValidator checks: a single type with one of its own
// formats.
func (n *Node) numberType(v *Validation) (typ, format string) {
	switch own := types[n.Type].formats; {
	case own == nil || n.Has(IntOrString):
		return "", ""
	case slices.Contains(own, v.Format):
		return n.Type, v.Format
	}
	return n.Type, ""
}

// intFits and floatFits are IsValueValidAgainstRange: the value is printed, and parsed again as the type.
func intFits(x int64, typ, format string) bool {
	return typ != "integer" || format != "int32" || int64(int32(x)) == x
}

func floatFits(x float64, typ, format string) bool {
	switch {
	case typ == "integer":
		bits := 64
		if format == "int32" {
			bits = 32
		}
		if math.Abs(x) < 1<<31 && x == math.Trunc(x) {
			return true
		}
		// The shortest decimal that reads back as x is parsed. Near the ends of int64 that is not x.
		_, err := strconv.ParseInt(strconv.FormatFloat(x, 'f', -1, 64), 10, bits)
		return err == nil
	case typ == "number" && format == "float":
		if math.Abs(x) <= math.MaxFloat32 {
			return true
		}
		_, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', -1, 64), 32)
		return err == nil
	}
	return true
}

// boundFits reports whether a bound is of the type, and adds an error if not.
func (e *explainer) boundFits(keyword, prefix string, bound float64, i uint32, typ, format string) bool {
	if floatFits(bound, typ, format) {
		return true
	}
	if quirk.On(quirk.FractionalBoundRejectsIntegers) {
		e.outOfRange(keyword, i, prefix, typ, format)
	}
	return false
}

func (e *explainer) bound(keyword string, i uint32, bound float64, exclusive, native bool, x float64) {
	minimum := keyword == "minimum"
	integers := native && quirk.On(quirk.BoundsTruncatedForIntegers)
	outside := minimum && x < bound || !minimum && x > bound || exclusive && x == bound
	if integers {
		b, y := int64(bound), e.d.Int(i)
		outside = minimum && y < b || !minimum && y > b || exclusive && y == b
	}
	if !outside {
		return
	}
	var bad any = x
	printed := strconv.FormatInt(int64(bound), 10)
	if !integers {
		printed = fmt.Sprint(bound)
	}
	if native && e.d.Nodes[i].Kind == tree.Int {
		bad = e.d.Int(i)
	}
	words := "less than or equal to"
	switch {
	case minimum && exclusive:
		words = "greater than"
	case minimum:
		words = "greater than or equal to"
	case exclusive:
		words = "less than"
	}
	e.invalid(keyword, i, bad, " in body should be ", words, " ", printed)
}

func (e *explainer) multipleOf(v *Validation, i uint32, typ, format string, isInt bool, x float64) {
	native := e.boundFits("multipleOf", "MultipleOf", *v.MultipleOf, i, typ, format)
	var positive, multiple bool
	var factor, bad any = *v.MultipleOf, x
	if isInt && native && quirk.On(quirk.MultipleOfTruncatedForIntegers) {
		f, y := int64(*v.MultipleOf), e.d.Int(i)
		positive = f > 0
		multiple = positive && y%f == 0
		factor, bad = f, y
	} else {
		f := *v.MultipleOf
		positive = f > 0
		quotient := x / f
		if f < 1 {
			quotient = 1 / f * x
		}
		multiple = positive && nearInteger(quotient)
	}
	switch {
	case !positive:
		at := e.dotted()
		t := fmt.Sprintf("factor MultipleOf declared for %s must be positive: %v", at, factor)
		e.report("multipleOf", i, nil, at, t, field.Invalid(nil, factor, detail(t, at)))
	case !multiple:
		e.invalid("multipleOf", i, bad, " in body should be a multiple of ", fmt.Sprint(factor))
	}
}

// nearInteger is swag.IsFloat64AJSONInteger: within ±(2⁵³-1), and an integer with a relative error of at most 1e-9.
func nearInteger(f float64) bool {
	const most = 1<<53 - 1
	if math.IsNaN(f) || f < -most || f > most {
		return false
	}
	rounded := math.Round(f)
	return f == rounded || math.Abs(f-rounded) < 1e-9*math.Abs(rounded)
}
