package plan

import (
	"math"
	"strconv"
)

// numberCheck holds the numeric keywords for accept. Upstream converts bounds to the value's Go type, and reports a
// bound that does not fit the declared type for every value. (KO/validate/validator.go numberValidator, values.go
// MaximumNativeType)
type numberCheck struct {
	any     bool // there is something to check
	broken  bool // a bound does not fit the declared type: every number is rejected
	int32   bool // type integer, format int32: integers must fit
	float32 bool // type number, format float: floats must fit
}

func newNumberCheck(typ string, intOrString bool, v *Validation) (c numberCheck) {
	if intOrString {
		typ = "" // two types: no format and no range
	}
	if typ == "string" || typ == "object" || typ == "array" || typ == "boolean" {
		return c
	}
	c.int32 = typ == "integer" && v.Format == "int32"
	c.float32 = typ == "number" && v.Format == "float"
	fits := func(bound *float64) bool {
		if bound == nil {
			return true
		}
		text := strconv.FormatFloat(*bound, 'f', -1, 64)
		var err error
		switch {
		case c.int32:
			_, err = strconv.ParseInt(text, 10, 32)
		case typ == "integer":
			_, err = strconv.ParseInt(text, 10, 64)
		case c.float32:
			_, err = strconv.ParseFloat(text, 32)
		}
		return err == nil
	}
	c.broken = !fits(v.Minimum) || !fits(v.Maximum) || !fits(v.MultipleOf)
	c.any = v.Minimum != nil || v.Maximum != nil || v.MultipleOf != nil || c.int32 || c.float32
	return c
}

// integer checks an integer. Upstream truncates bounds, and converts bounds beyond int64 with Go's rules.
func (v *Validation) integer(i int64) bool {
	c := &v.number
	if c.broken || c.int32 && int64(int32(i)) != i {
		return false
	}
	if v.Minimum != nil {
		if least := int64(*v.Minimum); i < least || v.ExclusiveMinimum && i == least {
			return false
		}
	}
	if v.Maximum != nil {
		if most := int64(*v.Maximum); i > most || v.ExclusiveMaximum && i == most {
			return false
		}
	}
	if v.MultipleOf != nil {
		if factor := int64(*v.MultipleOf); factor <= 0 || i%factor != 0 {
			return false
		}
	}
	return true
}

// float checks a float, and doubts what upstream rounds.
func (v *Validation) float(f float64) (ok, doubt bool) {
	c := &v.number
	switch {
	case c.broken:
		return false, false
	case c.float32 && math.Abs(f) > math.MaxFloat32, v.MultipleOf != nil:
		return false, true
	case v.Minimum != nil && (f < *v.Minimum || v.ExclusiveMinimum && f == *v.Minimum):
		return false, false
	case v.Maximum != nil && (f > *v.Maximum || v.ExclusiveMaximum && f == *v.Maximum):
		return false, false
	}
	return true, false
}
