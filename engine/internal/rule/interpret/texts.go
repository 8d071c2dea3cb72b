package interpret

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// join is charged for the length of its result, which is known before the call.
func join(c call) ref.Val {
	list, ok := c.args[0].(traits.Lister)
	if !ok {
		return c.runPolled()
	}
	var separator types.String
	if len(c.args) == 2 {
		separator, _ = c.args[1].(types.String)
	}
	n := int64(closure.SizeOf(list))
	bytes := float64(max(0, n-1)) * float64(len(separator))
	runes := uint64(max(0, n-1)) * closure.SizeOf(separator)
	for i := range types.Int(n) {
		c.poll()
		text, ok := list.Get(i).(types.String)
		if !ok {
			// The result is an error, after the texts before it were joined.
			c.require(textLimit, bytes)
			return c.runPolled()
		}
		bytes += float64(len(text))
		runes += closure.SizeOf(text)
	}
	if bytes > maxTextBytes {
		if c.exceeds(closure.TraversalCost(2 * runes)) {
			return skippedText{n: runes}
		}
		c.require(textLimit, bytes)
	}
	return c.runPolled()
}

// replace is charged for the length of its first argument only.
func replace(c call) ref.Val {
	text, isText := c.args[0].(types.String)
	from, isFrom := c.args[1].(types.String)
	to, isTo := c.args[2].(types.String)
	if isText && isFrom && isTo && len(to) > len(from) && float64(len(text)+1)*float64(len(to)) > maxTextBytes {
		times := strings.Count(string(text), string(from))
		if len(c.args) == 4 {
			if limit, ok := c.args[3].(types.Int); ok && limit >= 0 {
				times = int(min(limit, types.Int(times)))
			}
		}
		c.require(textLimit, float64(len(text))+float64(times)*float64(len(to)-len(from)))
	}
	return c.runPolled()
}

// format is charged for the length of the format only.
func format(c call) ref.Val {
	text, _ := c.args[0].(types.String)
	digits := float64(formatDigits(string(text)))
	c.require(textLimit, digits)
	if list, ok := c.args[1].(traits.Lister); ok {
		c.requirePrinted(list, digits)
	}
	if digits > longText {
		return inBackground(c.Evaluation, unpolledSlots, func() ref.Val { return c.run(c.args...) })
	}
	return c.runPolled()
}

// maxPrecision is the highest precision of one clause that package fmt accepts.
const maxPrecision = 1_000_000

// formatDigits returns how many digits the clauses of a CEL format string ask for in total ('%.999999f').
func formatDigits(format string) (digits int64) {
	for {
		_, clause, ok := strings.Cut(format, "%")
		if !ok {
			return digits
		}
		if format = strings.TrimPrefix(clause, "%"); len(format) < len(clause) || !strings.HasPrefix(clause, ".") {
			continue
		}
		format = strings.TrimLeft(clause[1:], "0123456789")
		if n, err := strconv.Atoi(clause[1 : len(clause)-len(format)]); err == nil && n <= maxPrecision {
			digits += int64(n)
		}
	}
}

// requirePrinted adds the approximate length of a printed value, and ends the evaluation if the sum exceeds the limit.
func (e *Evaluation) requirePrinted(v ref.Val, bytes float64) float64 {
	e.poll()
	switch v := v.(type) {
	case types.String, types.Bytes:
		n, _ := textLength(v)
		bytes += float64(n)
	case traits.Lister:
		for i, n := types.IntZero, types.Int(closure.SizeOf(v)); i < n; i++ {
			bytes = e.requirePrinted(v.Get(i), bytes+2)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			bytes = e.requirePrinted(key, bytes+4)
			if of, ok := v.Find(key); ok {
				bytes = e.requirePrinted(of, bytes)
			}
		}
	default:
		bytes += 8
	}
	e.require(textLimit, bytes)
	return bytes
}

// shortText is the length up to which cel-go's search takes at most some milliseconds.
const shortText = 1 << 10

// indexOf searches long texts as cel-go's ext/strings.go does. That compares all of the part at each position, which
// takes hours if the part nearly matches everywhere.
func indexOf(last bool) guard {
	return func(c call) ref.Val {
		a, isText := c.args[0].(types.String)
		b, isPart := c.args[1].(types.String)
		text, part, from := string(a), string(b), 0
		if last {
			from = len(text)
		}
		if !isText || !isPart || len(text) <= shortText || len(part) < 2 ||
			!utf8.ValidString(text) || !utf8.ValidString(part) {
			return c.runPolled()
		}
		if len(c.args) > 2 {
			n, ok := c.args[2].(types.Int)
			if !ok || n < 0 {
				return c.runPolled()
			}
			if from = byteAt(text, int(n)); from < 0 {
				return types.Int(-1)
			}
		}
		var at int
		if last {
			end := byteAt(text[from:], utf8.RuneCountInString(part)) // a match may begin at the offset
			if end < 0 {
				end = len(text) - from
			}
			at = strings.LastIndex(text[:from+end], part)
		} else if at = strings.Index(text[from:], part); at >= 0 {
			at += from
		}
		if at < 0 {
			return types.Int(-1)
		}
		return types.Int(utf8.RuneCountInString(text[:at]))
	}
}

// byteAt returns the position of code point n in bytes, -1 if the text has no more than n code points.
func byteAt(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// quantity guards the functions that parse a quantity. Operations on quantities make them hardly longer.
func quantity(c call) ref.Val {
	if text, ok := c.args[0].(types.String); ok {
		digits, exponent := closure.QuantityExtent(string(text))
		c.require(digitsLimit, float64(digits))
		c.require(exponentLimit, float64(exponent))
	}
	return c.runUnpolled()
}
