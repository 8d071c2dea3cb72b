package app

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size. It is written as a number of bytes, or with a unit: KiB, MiB, GiB (1024 each; Ki, Mi, Gi for short) or kB, MB, GB (1000 each).
type Bytes int64

// The units that results are written in.
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
		return fmt.Errorf("%q is no size: a whole number of bytes, or with one of the units KiB, MiB, GiB, kB, MB, GB", s)
	}
	*b = Bytes(n * unit)
	return nil
}

// String writes the size with the largest binary unit that divides it.
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
