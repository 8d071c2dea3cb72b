package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size. Its text is a number with an optional unit: KiB, MiB, GiB (or Ki, Mi, Gi), kB, MB, GB.
type Bytes int64

// Units of Bytes.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

var units = []struct {
	name  string
	value int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	number, unit := s, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.value
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size: use a whole number of bytes, or a unit KiB, MiB, GiB, kB, MB, GB", s)
	}
	*b = Bytes(n * unit)
	return nil
}

// String returns the size in the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range units[:3] {
		if b != 0 && int64(b)%u.value == 0 {
			return strconv.FormatInt(int64(b)/u.value, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
