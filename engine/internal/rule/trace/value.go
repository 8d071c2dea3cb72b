package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// truncate shortens a text to MaxValueBytes.
func truncate(text string) string {
	if len(text) <= MaxValueBytes {
		return text
	}
	end := MaxValueBytes - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// toJSON returns a value as JSON, nil if that is longer than MaxValueBytes.
func toJSON(v ref.Val) []byte {
	text, ok := appendJSON(nil, v, 0)
	if !ok {
		return nil
	}
	return text
}

// maxDepth bounds the nesting of printed values.
const maxDepth = 32

func appendJSON(out []byte, v ref.Val, depth int) ([]byte, bool) {
	if len(out) > MaxValueBytes || depth > maxDepth {
		return nil, false
	}
	ok := true
	switch v := v.(type) {
	case types.Bool:
		out = strconv.AppendBool(out, bool(v))
	case types.Int:
		out = strconv.AppendInt(out, int64(v), 10)
	case types.Uint:
		out = strconv.AppendUint(out, uint64(v), 10)
	case types.Null:
		out = append(out, "null"...)
	case types.Double:
		text, err := json.Marshal(float64(v))
		if err != nil {
			return appendString(out, fmt.Sprint(float64(v))) // NaN or an infinity
		}
		out = append(out, text...)
	case types.String:
		return appendString(out, string(v))
	case traits.Lister:
		out = append(out, '[')
		n, _ := v.Size().(types.Int)
		for i := types.Int(0); i < n && ok; i++ {
			if i > 0 {
				out = append(out, ',')
			}
			out, ok = appendJSON(out, v.Get(i), depth+1)
		}
		out = append(out, ']')
	case traits.Mapper:
		if n, _ := v.Size().(types.Int); n > MaxValueBytes/4 {
			return nil, false
		}
		return appendMap(out, v, depth)
	case *types.Optional:
		if v.HasValue() {
			return appendJSON(out, v.GetValue(), depth+1)
		}
		return appendString(out, "optional.none()")
	default:
		if s, isString := v.ConvertToType(types.StringType).(types.String); isString {
			return appendString(out, string(s))
		}
		return appendString(out, fmt.Sprint(v.Type().TypeName()))
	}
	return out, ok && len(out) <= MaxValueBytes
}

// appendMap prints a map with sorted keys.
func appendMap(out []byte, v traits.Mapper, depth int) ([]byte, bool) {
	members := map[string]ref.Val{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		if key == nil {
			continue // upstream's iterators yield nil for members that rules cannot see
		}
		if of, found := v.Find(key); found {
			members[fmt.Sprint(key.Value())] = of
		}
	}
	out = append(out, '{')
	for i, key := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		var ok bool
		if out, ok = appendString(out, key); !ok {
			return nil, false
		}
		if out, ok = appendJSON(append(out, ':'), members[key], depth+1); !ok {
			return nil, false
		}
	}
	out = append(out, '}')
	return out, len(out) <= MaxValueBytes
}

func appendString(out []byte, text string) ([]byte, bool) {
	if len(text) > MaxValueBytes {
		return nil, false
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, false
	}
	out = append(out, quoted...)
	return out, len(out) <= MaxValueBytes
}
