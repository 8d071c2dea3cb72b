package definition

import (
	"bytes"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// checkValues makes sure that defaults, examples and enums hold numbers that Go can hold. All else about their JSON was
// checked when the manifest was decoded; these are kept as text by the API's types, but not by the API server's
// internal ones.
func checkValues(s *schema.Props) error {
	var err error
	schema.Any(s, func(s *schema.Props) bool {
		if err = checkValue(s.Default); err == nil {
			err = checkValue(s.Example)
		}
		for i := 0; i < len(s.Enum) && err == nil; i++ {
			err = checkValue(&s.Enum[i])
		}
		return err != nil
	})
	return err
}

// longestPlain is a length below which a number without an exponent cannot overflow a float64.
const longestPlain = 300

func checkValue(j *apiextensionsv1.JSON) error {
	if j == nil || len(j.Raw) < longestPlain && !bytes.ContainsAny(j.Raw, "eE") {
		return nil
	}
	var v any
	return utiljson.Unmarshal(j.Raw, &v)
}

// settle writes what the API server stores otherwise than it was written in defaults, enums and examples as it stores
// it: 1.0 becomes 1, and is an integer from then on. So a CRD means the same whether it was just registered or read
// back.
func settle(s *schema.Props) {
	d := value.Acquire()
	defer d.Release()
	schema.Any(s, func(s *schema.Props) bool {
		settleValue(d, s.Default)
		settleValue(d, s.Example)
		for i := range s.Enum {
			settleValue(d, &s.Enum[i])
		}
		return false
	})
}

func settleValue(d *value.Doc, j *apiextensionsv1.JSON) {
	if j == nil || settled(j.Raw) {
		return
	}
	d.Reset()
	if root, err := d.ParseJSON(j.Raw, value.Limits{MaxBytes: len(j.Raw)}); err == nil && d.Nodes[root].Flags&value.Lossy != 0 {
		j.Raw = d.AppendCanonical(nil, root)
	}
}

// settled recognises most of what is stored as it was written: a word, a small integer, a text in ASCII without
// escapes.
func settled(raw []byte) bool {
	const small = 19 // digits below which an integer is within int64 for sure
	if len(raw) == 0 {
		return true
	}
	switch c := raw[0]; {
	case c == 't' || c == 'f' || c == 'n':
		return true
	case c >= '0' && c <= '9':
		return len(raw) < small && !bytes.ContainsAny(raw, ".eE")
	case c == '"':
		for _, b := range raw {
			if b == '\\' || b >= 0x80 {
				return false
			}
		}
		return true
	}
	return false
}
