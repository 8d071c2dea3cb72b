package terminal

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Meter prints the progress of a long run. On a terminal, it uses one line, which it removes at the end. Otherwise, it
// prints several lines.
type Meter struct {
	w         io.Writer // nil: prints nothing
	all, done int
	next      time.Time
	terminal  bool
	printed   bool
}

// A run of less than progressDelay has no progress. Then progressInterval is the time between two updates.
const progressDelay, progressInterval = 2 * time.Second, 500 * time.Millisecond

// NewMeter returns the meter of a run with a number of objects. The mode is always, auto (only on a terminal) or never.
func NewMeter(mode string, w io.Writer, all int) *Meter {
	m := &Meter{all: all, next: time.Now().Add(progressDelay)}
	m.terminal = IsTerminal(w) && os.Getenv("TERM") != "dumb"
	if mode == "always" || mode == "auto" && m.terminal {
		m.w = w
	}
	return m
}

// Above returns a writer that removes the line of progress before it writes. Both can be written to the same terminal.
func (m *Meter) Above(w io.Writer) io.Writer { return aboveMeter{m, w} }

type aboveMeter struct {
	*Meter
	w io.Writer
}

// Write implements io.Writer.
func (a aboveMeter) Write(text []byte) (int, error) {
	a.End()
	return a.w.Write(text)
}

// Step counts an object.
func (m *Meter) Step(rejected, errors int) {
	m.done++
	m.Update(func() string {
		return fmt.Sprintf("%d of %d objects, %d rejected, %d errors", m.done, m.all, rejected, errors)
	})
}

// Update replaces the line, unless that was done a short time ago.
func (m *Meter) Update(line func() string) {
	if m.w == nil || time.Now().Before(m.next) {
		return
	}
	m.next = time.Now().Add(progressInterval)
	if !m.terminal {
		fmt.Fprintln(m.w, line())
		return
	}
	m.printed = true
	fmt.Fprintf(m.w, "\r%s\033[K", line())
}

// End removes the line.
func (m *Meter) End() {
	if m.printed {
		m.printed = false
		fmt.Fprint(m.w, "\r\033[K")
	}
}
