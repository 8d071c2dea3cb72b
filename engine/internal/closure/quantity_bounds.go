package closure

import (
	"strconv"
	"strings"
)

// Bounds of the quantities that rules may read. Every operation on a quantity (add, compareTo, asApproximateFloat)
// costs 1 and takes time that grows with the square of its digits when written out. Within the bounds it takes about 10
// µs.
const (
	MaxQuantityDigits   = 4096
	MaxQuantityExponent = 1000
)

// QuantityExtent returns the number of digits of a quantity and the absolute value of its decimal exponent. It returns
// zeros for a text that is not a quantity, which upstream detects in one pass. Letter suffixes add at most 18 to the
// exponent.
func QuantityExtent(text string) (digits, exponent int64) {
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
		return digits, 0 // E and Ei are suffixes, upstream rejects the others
	}
	// Upstream keeps the low 32 bits (suffix.go, interpret): 1e4294967297 is 10.
	return digits, max(int64(int32(n)), -int64(int32(n)))
}

func withoutSign(text string) string {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return text[1:]
	}
	return text
}
