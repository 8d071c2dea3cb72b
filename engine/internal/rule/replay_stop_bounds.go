package rule

import "github.com/crdeval/crdeval/engine/internal/closure"

// most is what one call in a rule may make, or work on. cel-go has none.
type most struct {
	name, what, unit string
	maximum          int64
}

var (
	madeText         = most{"max_rule_text_bytes", "text made by a rule", "bytes", maxTextBytes}
	madeList         = most{"max_rule_list_elements", "elements of a list made by a rule", "elements", maxElements}
	madePattern      = most{"max_rule_pattern_bytes", "pattern computed by a rule", "bytes", maxPatternBytes}
	quantityDigits   = most{"max_quantity_digits", "digits of a quantity", "digits", closure.MaxQuantityDigits}
	quantityExponent = most{"max_quantity_exponent", "exponent of a quantity", "powers of ten", closure.MaxQuantityExponent}
)
