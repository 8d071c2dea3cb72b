// Package extent tells how large something is that a short text asks for, before it is made: ten bytes, the quantity 1e99999999, are hours of work.
package extent

import (
	"strconv"
	"strings"
)

// Bounds of quantities. All that is done with one (add, sub, compareTo, asApproximateFloat, …) costs 1 in a rule, and takes time that grows with
// the square of the digits that it has when it is written out. Within the bounds an operation takes some ten microseconds. What is useful has an
// exponent of 18 at most, and what a double can be told of one of 308.
const (
	MaxQuantityDigits   = 4096
	MaxQuantityExponent = 1000
)

// Quantity is how many digits a quantity has, and by how many powers of ten its exponent moves the point to either side; zeros for a text that is
// none, which upstream finds out in one pass however long it is. The suffixes that are letters move it by 18 at most.
func Quantity(text string) (digits, exponent int64) {
	rest := withoutSign(text)
	digits = int64(len(rest))
	rest = strings.TrimLeft(rest, "0123456789")
	if strings.HasPrefix(rest, ".") {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	digits -= int64(len(rest))
	if suffix := strings.TrimLeft(rest, "eEinumkKMGTP"); strings.TrimLeft(withoutSign(suffix), "0123456789") != "" {
		return 0, 0
	}
	if !strings.HasPrefix(rest, "e") && !strings.HasPrefix(rest, "E") {
		return digits, 0
	}
	n, err := strconv.ParseInt(rest[1:], 10, 64)
	if err != nil {
		return digits, 0 // E and Ei are suffixes, the others are refused
	}
	// Upstream keeps 32 bits of it (suffix.go, interpret): 1e4294967297 is 10.
	return digits, max(int64(int32(n)), -int64(int32(n)))
}

func withoutSign(text string) string {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return text[1:]
	}
	return text
}
