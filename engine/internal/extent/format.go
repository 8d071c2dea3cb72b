package extent

import (
	"strconv"
	"strings"
)

// mostPrecise is what package fmt takes for the precision of one clause.
const mostPrecise = 1_000_000

// Format is how many digits the clauses of a format of CEL's ask for ('%.999999f'), together.
func Format(format string) (digits int64) {
	for {
		_, clause, ok := strings.Cut(format, "%")
		if !ok {
			return digits
		}
		if format = strings.TrimPrefix(clause, "%"); len(format) < len(clause) || !strings.HasPrefix(clause, ".") {
			continue
		}
		format = strings.TrimLeft(clause[1:], "0123456789")
		if n, err := strconv.Atoi(clause[1 : len(clause)-len(format)]); err == nil && n <= mostPrecise {
			digits += int64(n)
		}
	}
}
