package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// meter tells on a terminal how far a long run is: on one line, which it takes away in the end.
type meter struct {
	w           io.Writer // nil: it tells nothing
	all, judged int
	next        time.Time
	told        bool
}

// firstTold is how long a run takes at least of which something is told; between is the time between two lines.
const firstTold, between = 2 * time.Second, 500 * time.Millisecond

func newMeter(mode string, w io.Writer, all int) *meter {
	m := &meter{all: all, next: time.Now().Add(firstTold)}
	if mode == "always" || mode == "auto" && terminal(w) {
		m.w = w
	}
	return m
}

func terminal(w io.Writer) bool {
	f, is := w.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// step counts one object.
func (m *meter) step(refused, failed int) {
	m.judged++
	if m.w == nil || time.Now().Before(m.next) {
		return
	}
	m.next, m.told = time.Now().Add(between), true
	fmt.Fprintf(m.w, "\r%d of %d objects, %d refused, %d not judged", m.judged, m.all, refused, failed)
}

// end takes the line away.
func (m *meter) end() {
	if m.told {
		fmt.Fprint(m.w, "\r\033[K")
	}
}
