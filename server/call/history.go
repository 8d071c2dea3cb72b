package call

import "time"

// history counts the calls of callers that finished in the current second and in the one before.
type history struct {
	begin           time.Duration
	recent, earlier map[string]finished
}

// finished counts calls, and those of them that were active for at most fastLatency.
type finished struct{ calls, fast int }

const (
	historyTime = time.Second
	// fastLatency is how long a fast call takes at most. It is above targetLatency, because a call can also wait for slow
	// calls of others.
	fastLatency = 25 * time.Millisecond
)

func (h *history) add(caller string, busy, now time.Duration) {
	if now-h.begin >= historyTime {
		h.begin, h.earlier, h.recent = now, h.recent, map[string]finished{}
	}
	f := h.recent[caller]
	f.calls++
	if busy <= fastLatency {
		f.fast++
	}
	h.recent[caller] = f
}

// fast reports whether most of the last calls of a caller were fast. A caller without calls is not fast.
func (h *history) fast(caller string) bool {
	a, b := h.recent[caller], h.earlier[caller]
	return 2*(a.fast+b.fast) > a.calls+b.calls
}
