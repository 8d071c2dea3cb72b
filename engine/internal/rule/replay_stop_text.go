package rule

import (
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// join costs what its result is long, which is known before it is made.
func join(c call) ref.Val {
	list, ok := c.args[0].(traits.Lister)
	if !ok || c.s == nil {
		return c.watched()
	}
	var between types.String
	if len(c.args) == 2 {
		between, _ = c.args[1].(types.String)
	}
	n := int64(size(list))
	bytes := float64(max(0, n-1)) * float64(len(between))
	runes := uint64(max(0, n-1)) * sizeOf(between)
	for i := range types.Int(n) {
		c.s.poll()
		text, ok := list.Get(i).(types.String)
		if !ok {
			// The result is an error, found after the texts before it were put together.
			c.s.within(madeText, bytes)
			return c.watched()
		}
		bytes += float64(len(text))
		runes += sizeOf(text)
	}
	if bytes > maxTextBytes {
		if c.s.over(traversal(2 * runes)) {
			return sized{n: runes}
		}
		c.s.within(madeText, bytes)
	}
	return c.watched()
}

// replace costs what the text is long, whatever comes in.
func replace(c call) ref.Val {
	text, isText := c.args[0].(types.String)
	from, isFrom := c.args[1].(types.String)
	to, isTo := c.args[2].(types.String)
	if isText && isFrom && isTo && len(to) > len(from) && float64(len(text)+1)*float64(len(to)) > maxTextBytes {
		times := strings.Count(string(text), string(from))
		if len(c.args) == 4 {
			if most, ok := c.args[3].(types.Int); ok && most >= 0 {
				times = int(min(most, types.Int(times)))
			}
		}
		c.s.within(madeText, float64(len(text))+float64(times)*float64(len(to)-len(from)))
	}
	return c.watched()
}

// format costs what the format is long, whatever it prints.
func format(c call) ref.Val {
	if c.s == nil {
		return c.watched()
	}
	text, _ := c.args[0].(types.String)
	digits := float64(closure.FormatDigits(string(text)))
	c.s.within(madeText, digits)
	if list, ok := c.args[1].(traits.Lister); ok {
		c.s.printed(list, digits)
	}
	if digits > longText {
		return alone(c.s, func() ref.Val { return c.run(c.args...) })
	}
	return c.watched()
}

// printed counts about how many bytes a value takes in a text, so that the evaluation ends before they are too many.
func (s *stopper) printed(v ref.Val, bytes float64) float64 {
	s.poll()
	switch v := v.(type) {
	case types.String:
		bytes += float64(len(v))
	case types.Bytes:
		bytes += float64(len(v))
	case traits.Lister:
		for i, n := types.IntZero, types.Int(size(v)); i < n; i++ {
			bytes = s.printed(v.Get(i), bytes+2)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			bytes = s.printed(key, bytes+4)
			if of, ok := v.Find(key); ok {
				bytes = s.printed(of, bytes)
			}
		}
	default:
		bytes += 8
	}
	s.within(madeText, bytes)
	return bytes
}

// shortText is up to which length cel-go may compare each place of a text with another text: some milliseconds.
const shortText = 1 << 10

// searched are the texts of a search in a long text, in which positions are code points; ok is false where cel-go's own search will do. That tries
// all of the second text at each place of the first, which takes hours for texts that nearly match everywhere.
func (c call) searched() (text, part string, ok bool) {
	a, isText := c.args[0].(types.String)
	b, isPart := c.args[1].(types.String)
	text, part = string(a), string(b)
	return text, part, isText && isPart && len(text) > shortText && len(part) > 1 && utf8.ValidString(text) && utf8.ValidString(part)
}

// indexOf of texts is ext/strings.go's indexOfOffset.
func indexOf(c call) ref.Val {
	text, part, ok := c.searched()
	if !ok {
		return c.watched()
	}
	from := 0
	if len(c.args) == 3 {
		offset, ok := c.args[2].(types.Int)
		if !ok || offset < 0 {
			return c.watched()
		}
		if from, ok = byteAt(text, int64(offset)); !ok {
			return types.Int(-1)
		}
	}
	at := strings.Index(text[from:], part)
	if at < 0 {
		return types.Int(-1)
	}
	return types.Int(utf8.RuneCountInString(text[:from+at]))
}

// lastIndexOf of texts is ext/strings.go's lastIndexOfOffset.
func lastIndexOf(c call) ref.Val {
	text, part, ok := c.searched()
	if !ok {
		return c.watched()
	}
	end := len(text)
	if len(c.args) == 3 {
		offset, ok := c.args[2].(types.Int)
		if !ok || offset < 0 {
			return c.watched()
		}
		from, ok := byteAt(text, int64(offset))
		if !ok {
			return types.Int(-1)
		}
		// A match may begin at the offset and ends as many code points behind it as it has.
		if length, ok := byteAt(text[from:], int64(utf8.RuneCountInString(part))); ok {
			end = from + length
		}
	}
	at := strings.LastIndex(text[:end], part)
	if at < 0 {
		return types.Int(-1)
	}
	return types.Int(utf8.RuneCountInString(text[:at]))
}

// byteAt is where the code point n of the text begins; false if it has not that many.
func byteAt(text string, n int64) (int, bool) {
	for i := range text {
		if n == 0 {
			return i, true
		}
		n--
	}
	return 0, false
}

// parsers are functions of libraries that read one text, some by a regular expression.
var parsers = []string{"semver", "isSemver", "url", "isURL", "duration", "timestamp", "validate", "double", "int", "uint"}

// parsed lets a parser work on a long text.
func parsed(c call) ref.Val {
	if c.s == nil || !c.long() {
		return c.run(c.args...)
	}
	return alone(c.s, func() ref.Val { return c.run(c.args...) })
}
