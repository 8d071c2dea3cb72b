package responses

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// history is the requests to one object, from its creation to its deletion.
//
// API servers sort managedFields by operation and time, in seconds. If a second passes between two writes, a write that
// changes nothing else can move its entry. Then it is stored, with another resourceVersion. So the responses of two
// sides are only sure to be equal if all writes of each side have the same time.
type history struct {
	Name     string    `json:"name"`
	Requests []request `json:"requests"`
}

// maxAttempts bounds the runs of a history on one side.
const maxAttempts = 20

// compare runs the history on one side after another. If responses differ, it repeats the runs in which a second
// passed. It fails if responses differ although no second passed, or if they still differ in the last attempt.
func (h *history) compare(t *testing.T, sides []*side) {
	t.Helper()
	runs := make([]*run, len(sides))
	for i, at := range sides {
		runs[i] = at.send(t, h.Requests)
	}
	for attempt := 1; ; attempt++ {
		different := strings.Join(differences(runs), "\n")
		switch {
		case different == "":
			return
		case !slices.ContainsFunc(runs, (*run).spansSeconds):
			t.Fatalf("attempt %d: %s", attempt, different)
		case attempt == maxAttempts:
			t.Fatalf("a second passed in each of %d attempts, and these responses differ:\n%s", attempt, different)
		}
		for i, r := range runs {
			if r.spansSeconds() {
				t.Logf("attempt %d: a second passed on side %s, repeat", attempt, r.side.name)
				waitForSecond()
				runs[i] = r.side.send(t, h.Requests)
			}
		}
	}
}

// waitForSecond waits until a second begins, so that a run has all of it.
func waitForSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}
