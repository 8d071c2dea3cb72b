package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// meter prints the progress of a long run. On a terminal, it uses one line, which it removes at the end. Otherwise, it
// prints several lines.
type meter struct {
	w         io.Writer // nil: prints nothing
	all, done int
	next      time.Time
	terminal  bool
	printed   bool
}

// A run of less than progressDelay has no progress. Then progressInterval is the time between two updates.
const progressDelay, progressInterval = 2 * time.Second, 500 * time.Millisecond

func newMeter(mode string, w io.Writer, all int) *meter {
	m := &meter{all: all, next: time.Now().Add(progressDelay)}
	m.terminal = isTerminal(w) && os.Getenv("TERM") != "dumb"
	if mode == "always" || mode == "auto" && m.terminal {
		m.w = w
	}
	return m
}

// above returns a writer that removes the line of progress before it writes. Both can be written to the same terminal.
func (m *meter) above(w io.Writer) io.Writer { return aboveMeter{m, w} }

type aboveMeter struct {
	*meter
	w io.Writer
}

// Write implements io.Writer.
func (a aboveMeter) Write(text []byte) (int, error) {
	a.end()
	return a.w.Write(text)
}

// step counts an object.
func (m *meter) step(rejected, errors int) {
	m.done++
	m.update(func() string {
		return fmt.Sprintf("%d of %d objects, %d rejected, %d errors", m.done, m.all, rejected, errors)
	})
}

// update replaces the line, unless that was done a short time ago.
func (m *meter) update(line func() string) {
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

// end removes the line.
func (m *meter) end() {
	if m.printed {
		m.printed = false
		fmt.Fprint(m.w, "\r\033[K")
	}
}
