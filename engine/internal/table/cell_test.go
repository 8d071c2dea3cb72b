package table

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// TestAge compares ages with upstream's around every boundary between units.
func TestAge(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	borders := []time.Duration{-3 * time.Second, -2 * time.Second, -time.Second, 0, 1, time.Second, 59 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 10 * time.Minute, 59 * time.Minute, time.Hour,
		2 * time.Hour, 3 * time.Hour, 8 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * day, 8 * day, 364 * day, year, 2 * year, 3 * year, 7 * year, 8 * year, 100 * year, 1<<63 - 1, -1 << 63}
	for _, b := range borders {
		for _, off := range []time.Duration{0, 1, -1, time.Millisecond, -time.Millisecond, time.Second, -time.Second, 61 * time.Second, -61 * time.Second, 59 * time.Minute, 25 * time.Hour, -25 * time.Hour} {
			d := b + off
			if got, want := string(appendAge(nil, d)), duration.HumanDuration(d); got != want {
				t.Errorf("%d ns: %s, want %s", d, got, want)
			}
		}
	}
	for d := time.Duration(0); d < 9*year; d += max(time.Second, d/500) {
		if got, want := string(appendAge(nil, d)), duration.HumanDuration(d); got != want {
			t.Fatalf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestSince(t *testing.T) {
	for text, want := range map[string]string{
		"": "<unknown>", "null": "<unknown>", "0001-01-01T00:00:00Z": "<unknown>", "x": "<invalid>", "2026-11-21": "<invalid>", "2026-11-21T11:00:00Z": "60m", "2026-11-21T11:00:00+05:30": "6h30m",
		"2026-11-21T12:00:01Z": "0s", "2026-11-21T12:00:02Z": "<invalid>", "1000-01-01T00:00:00Z": "292y",
	} {
		if got := string(appendSince(nil, text, now)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
