package value

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type stopper bool

func (s stopper) Stopped() bool { return bool(s) }

func TestParseStops(t *testing.T) {
	text := []byte("[" + strings.Repeat("1,", 1_000_000) + "1]")
	d := Acquire()
	defer d.Release()
	d.StopOn(stopper(true))
	if root, err := d.Parse(text, Request, Limits{}); !errors.Is(err, ErrStopped) || root != 0 || len(d.Nodes) != 1 {
		t.Errorf("node %d, %v, %d nodes left", root, err, len(d.Nodes))
	}
	if _, err := d.Parse([]byte(`{"a":1}`), Request, Limits{}); err != nil {
		t.Errorf("a short text: %v", err) // parsed before the first check
	}
	d.StopOn(stopper(false))
	start := time.Now()
	if _, err := d.Parse(text, Request, Limits{}); err != nil || d.Len(d.Root(Request)) != 1_000_001 {
		t.Errorf("%v, %d elements", err, d.Len(d.Root(Request)))
	}
	t.Logf("a million numbers in %v", time.Since(start))
}

// TestParseReserves checks that a long text with few values reserves few nodes.
func TestParseReserves(t *testing.T) {
	d := new(Doc)
	d.Reset()
	if _, err := d.Parse([]byte(`"`+strings.Repeat("a", 1<<20)+`"`), Request, Limits{}); err != nil || cap(d.Nodes) > 1024 {
		t.Errorf("%v, capacity for %d nodes", err, cap(d.Nodes))
	}
}
