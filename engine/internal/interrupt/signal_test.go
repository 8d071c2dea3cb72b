package interrupt

import (
	"runtime"
	"testing"
)

// TestRun covers results, panics, abandoned work and slots.
func TestRun(t *testing.T) {
	open, closed := make(chan struct{}), make(chan struct{})
	close(closed)
	if v, ok := Run(nil, nil, func() int { return 3 }); v != 3 || !ok {
		t.Error(v, ok)
	}
	func() {
		defer func() {
			if r := recover(); r != "mine" {
				t.Errorf("recovered %v", r)
			}
		}()
		Run(On(open), nil, func() int { panic("mine") })
	}()
	before, release := Abandoned(), make(chan struct{})
	if v, ok := Run(On(open), nil, func() int { return 1 }); !ok || v != 1 || Abandoned() != before {
		t.Errorf("%v %v, %d abandoned", v, ok, Abandoned())
	}
	slots := make(Slots, 3)
	for i := range 3 {
		done := make(chan struct{})
		_, ok := Run(On(done), slots, func() int {
			close(done)
			<-release
			if i == 0 {
				panic("abandoned")
			}
			return 1
		})
		if ok {
			t.Error("Run waited")
		}
	}
	if n := Abandoned(); n != before+3 {
		t.Errorf("%d abandoned", n)
	}
	if _, ok := Run(On(closed), slots, func() int { return 1 }); ok {
		t.Error("a fourth slot")
	}
	close(release)
	for range 3 {
		slots <- struct{}{} // abandoned work frees its slot when it ends
	}
	for Abandoned() != before {
		runtime.Gosched()
	}
}
