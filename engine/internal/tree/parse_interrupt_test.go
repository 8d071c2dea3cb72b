package tree

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type stopper bool

func (s stopper) Stopped() bool   { return bool(s) }
func (s stopper) Grow(int64) bool { return true }

// meter stops when it would have more than most bytes.
type meter struct {
	bytes, most int64
	failed      bool
}

func (m *meter) Stopped() bool { return m.failed }
func (m *meter) Grow(n int64) bool {
	if m.failed = m.failed || m.bytes+n > m.most; n > 0 && m.failed {
		return false
	}
	m.bytes += n
	return true
}

// TestDocReportsItsMemory: a Doc reports the memory of its nodes before it allocates, and after it was released.
func TestDocReportsItsMemory(t *testing.T) {
	text := []byte("[" + strings.Repeat("{},", 100_000) + "{}]")
	for most, want := range map[int64]error{1 << 20: ErrStopped, 1 << 30: nil} {
		m := &meter{most: most}
		d := new(Doc)
		d.Reset()
		d.StopOn(m)
		if _, err := d.Parse(text, Request, Limits{}); !errors.Is(err, want) {
			t.Errorf("at most %d bytes: %v", most, err)
		}
		if held := int64(cap(d.Nodes)) * 40; want == nil && (m.bytes < held || m.bytes > 3*held) || want != nil && held > most {
			t.Errorf("%d bytes reported, and the nodes have %d", m.bytes, held)
		}
		if d.Release(); m.bytes != 0 {
			t.Errorf("%d bytes are left", m.bytes)
		}
	}
	m := &meter{most: 1 << 20}
	d := Acquire()
	d.StopOn(m)
	if _, err := d.Parse([]byte(string(text)+"x"), Request, Limits{}); !errors.Is(err, ErrStopped) {
		t.Errorf("a syntax error in a large text: %v", err)
	}
	if d.Release(); m.bytes != 0 {
		t.Errorf("%d bytes are left", m.bytes)
	}
}

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
