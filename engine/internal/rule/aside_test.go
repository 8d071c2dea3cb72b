package rule

import (
	"testing"
	"time"
)

// TestLeftBehind: work counts from when nobody waits for it to when it ends, and not before or after.
func TestLeftBehind(t *testing.T) {
	before := LeftBehind()
	if v, ok := aside(make(chan struct{}), func() int { return 1 }); !ok || v != 1 || LeftBehind() != before {
		t.Errorf("%v %v, %d left behind", v, ok, LeftBehind())
	}
	done, goOn := make(chan struct{}), make(chan struct{})
	close(done)
	for range 3 {
		if _, ok := aside(done, func() int { <-goOn; return 1 }); ok {
			t.Error("there was no end")
		}
	}
	if n := LeftBehind(); n != before+3 {
		t.Errorf("%d left behind", n)
	}
	close(goOn)
	for end := time.Now().Add(time.Minute); LeftBehind() != before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := LeftBehind(); n != before {
		t.Errorf("%d left behind", n)
	}
}
