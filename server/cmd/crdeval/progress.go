package main

import (
	"fmt"
	"io"
	"time"
)

// meter prints the progress of a long run on a line of a terminal, and removes the line at the end.
type meter struct {
	w         io.Writer // nil: prints nothing
	all, done int
	next      time.Time
	printed   bool
}

// A run of less than progressDelay has no progress. Then progressInterval is the time between two updates.
const progressDelay, progressInterval = 2 * time.Second, 500 * time.Millisecond

func newMeter(mode string, w io.Writer, all int) *meter {
	m := &meter{all: all, next: time.Now().Add(progressDelay)}
	if mode == "always" || mode == "auto" && isTerminal(w) {
		m.w = w
	}
	return m
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
	m.next, m.printed = time.Now().Add(progressInterval), true
	fmt.Fprintf(m.w, "\r%s", line())
}

func (m *meter) end() {
	if m.printed {
		fmt.Fprint(m.w, "\r\033[K")
	}
}
