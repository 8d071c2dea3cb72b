package rule

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// quantity guards what reads a quantity. All others come from what was read: no operation multiplies, so that they are hardly longer.
func quantity(c call) ref.Val {
	if text, ok := c.args[0].(types.String); ok {
		digits, exponent := closure.QuantityExtent(string(text))
		c.s.within(quantityDigits, float64(digits))
		c.s.within(quantityExponent, float64(exponent))
	}
	return parsed(c)
}
