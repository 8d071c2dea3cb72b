package trace

import (
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// truncate shortens a text to rules.MaxValueBytes.
func truncate(text string) string {
	if len(text) <= rules.MaxValueBytes {
		return text
	}
	return violation.Shorten(text, rules.MaxValueBytes-len("…"))
}

// toJSON returns a value as JSON, nil if that is longer than rules.MaxValueBytes.
func toJSON(v ref.Val) []byte {
	left := rules.MaxValueBytes
	data := plain(v, 0, &left)
	if left < 0 {
		return nil
	}
	text, err := json.Marshal(data)
	if err != nil || len(text) > rules.MaxValueBytes {
		return nil
	}
	return text
}

// maxDepth bounds the nesting of printed values.
const maxDepth = 32

// plain returns a value for package json. It takes at most the length of the JSON off left, and stops when that is
// negative.
func plain(v ref.Val, depth int, left *int) any {
	if *left--; *left < 0 || depth > maxDepth {
		*left = -1
		return nil
	}
	switch v := v.(type) {
	case types.Bool, types.Int, types.Uint:
		return v.Value()
	case types.Null:
		return nil
	case types.Double:
		if f := float64(v); f-f == 0 {
			return f
		}
		return fmt.Sprint(float64(v)) // NaN or an infinity
	case types.String:
		*left -= len(v)
		return string(v)
	case traits.Lister:
		list := []any{}
		n, _ := v.Size().(types.Int)
		for i := types.Int(0); i < n && *left >= 0; i++ {
			list = append(list, plain(v.Get(i), depth+1, left))
		}
		return list
	case traits.Mapper:
		members := map[string]any{}
		if n, _ := v.Size().(types.Int); n > rules.MaxValueBytes/4 {
			*left = -1
			return nil
		}
		for it := v.Iterator(); it.HasNext() == types.True && *left >= 0; {
			key := it.Next()
			if key == nil {
				continue // upstream's iterators yield nil for members that rules cannot see
			}
			if of, found := v.Find(key); found {
				members[fmt.Sprint(key.Value())] = plain(of, depth+1, left)
			}
		}
		return members
	case *types.Optional:
		if v.HasValue() {
			return plain(v.GetValue(), depth+1, left)
		}
		return "optional.none()"
	}
	if s, ok := v.ConvertToType(types.StringType).(types.String); ok {
		return string(s)
	}
	return v.Type().TypeName()
}
