package value

import (
	"encoding/json"
	"slices"
	"strconv"
)

// AppendAny appends the bytes that json.Marshal returns for a result of Any: sorted keys, with <, > and & escaped. It
// passes other types to json.Marshal and appends null for a value that cannot be marshaled.
func AppendAny(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendString(dst, v, true)
	case []any:
		if v == nil {
			break
		}
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendAny(dst, v[i])
		}
		return append(dst, ']')
	case map[string]any:
		if v == nil {
			break
		}
		return appendMap(dst, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

func appendMap(dst []byte, m map[string]any) []byte {
	var few [16]string
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key, true), ':')
		dst = AppendAny(dst, m[key])
	}
	return append(dst, '}')
}
