package solve

import (
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// quantity returns a quantity, or nil if the text is not one.
func quantity(text string) ref.Val {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	return apiservercel.Quantity{Quantity: &q}
}

// sound returns a value that is not an error, or nil.
func sound(v ref.Val) ref.Val {
	if v == nil || types.IsUnknownOrError(v) {
		return nil
	}
	return v
}

// plus, minus, times and over return the result of an operation on two values, or nil.
func plus(a, b ref.Val) ref.Val {
	if x, y, ok := quantities(a, b); ok {
		x.Add(y)
		return apiservercel.Quantity{Quantity: &x}
	}
	if x, ok := a.(traits.Adder); ok && sound(b) != nil {
		return sound(x.Add(b))
	}
	return nil
}

func minus(a, b ref.Val) ref.Val {
	if x, y, ok := quantities(a, b); ok {
		x.Sub(y)
		return apiservercel.Quantity{Quantity: &x}
	}
	if x, ok := a.(traits.Subtractor); ok && sound(b) != nil {
		return sound(x.Subtract(b))
	}
	return nil
}

func times(a, b ref.Val) ref.Val {
	if x, ok := a.(traits.Multiplier); ok && sound(b) != nil {
		return sound(x.Multiply(b))
	}
	return nil
}

func over(a, b ref.Val) ref.Val {
	if x, ok := a.(traits.Divider); ok && sound(b) != nil {
		return sound(x.Divide(b))
	}
	return nil
}

// quantities returns copies of two quantities. The second value may be an integer.
func quantities(a, b ref.Val) (x, y resource.Quantity, ok bool) {
	p, ok := a.(apiservercel.Quantity)
	if !ok {
		return x, y, false
	}
	switch b := b.(type) {
	case apiservercel.Quantity:
		return p.DeepCopy(), b.DeepCopy(), true
	case types.Int:
		return p.DeepCopy(), *resource.NewQuantity(int64(b), resource.DecimalSI), true
	}
	return x, y, false
}

// nextTo returns values close to a value: beyond it if the sign is positive, below it if the sign is negative, and the
// value itself if the sign is 0.
func nextTo(v ref.Val, sign int) (list []ref.Val) {
	if sound(v) == nil {
		return nil
	}
	if sign == 0 {
		return []ref.Val{v}
	}
	by := max(min(sign, 1), -1)
	var steps []ref.Val
	switch v := v.(type) {
	case types.Int:
		steps = []ref.Val{types.Int(1), types.Int(10), max(v, -v, 1)}
	case types.Uint:
		if by > 0 {
			return []ref.Val{v + 1, v + 10}
		} else if v > 0 {
			return []ref.Val{v - 1, v / 2}
		}
	case types.Double:
		steps = []ref.Val{types.Double(1), types.Double(0.5), types.Double(0.001), types.Double(math.Abs(float64(v)))}
	case types.Duration:
		for _, d := range []time.Duration{time.Second, time.Minute, time.Hour, time.Millisecond} {
			steps = append(steps, types.Duration{Duration: d})
		}
	case types.Timestamp:
		for _, d := range []time.Duration{time.Second, time.Hour, 24 * time.Hour, 366 * 24 * time.Hour} {
			steps = append(steps, types.Duration{Duration: d})
		}
	case apiservercel.Quantity:
		steps = []ref.Val{quantity("1"), quantity("1m"), quantity("1Mi"), v}
	case apiservercel.Semver:
		return semversNextTo(v, by)
	case types.String:
		if by > 0 {
			return []ref.Val{v + "a", v + "0", "z" + v}
		}
		return []ref.Val{v[:max(len(v)-1, 0)], types.String(""), types.String("0")}
	case types.Bool:
		return []ref.Val{!v}
	}
	for _, step := range steps {
		if next := plus(v, step); by > 0 && next != nil {
			list = append(list, next)
		} else if next := minus(v, step); by < 0 && next != nil {
			list = append(list, next)
		}
	}
	return list
}

// semversNextTo is nextTo for versions.
func semversNextTo(v apiservercel.Semver, by int) (list []ref.Val) {
	for _, part := range []func(*apiservercel.Semver) *uint64{
		func(v *apiservercel.Semver) *uint64 { return &v.Patch }, func(v *apiservercel.Semver) *uint64 { return &v.Minor },
		func(v *apiservercel.Semver) *uint64 { return &v.Major },
	} {
		next := v
		next.Pre, next.Build = nil, nil
		if n := part(&next); by > 0 {
			*n++
		} else if *n > 0 {
			*n--
		}
		list = append(list, next)
	}
	return list
}

// differing returns a value other than a value, or nil.
func differing(v ref.Val) ref.Val {
	if list := nextTo(v, 1); len(list) > 0 {
		return list[0]
	}
	return nil
}
