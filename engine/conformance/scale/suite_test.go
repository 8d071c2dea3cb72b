package scale

import (
	"reflect"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/suite"
)

// TestScale runs a part of the suite, enough that every call is carried out and refused.
func TestScale(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 400
	}
	var log strings.Builder
	c := Run(suite.Options{N: n, Seed: 1, Log: &log})
	if c.Failed() {
		t.Fatalf("%s\n%s", c.String(), log.String())
	}
	for _, h := range []how{get, put, patch} {
		if c.Accepted[h] < c.Asked[h]/10 {
			t.Errorf("%s: %d of %d carried out", h, c.Accepted[h], c.Asked[h])
		}
	}
	for _, code := range []int32{400, 404, 422, 500} {
		if c.Codes[code] == 0 {
			t.Errorf("no refusal with code %d", code)
		}
	}
}

// TestDeterministic: the same seed makes the same group.
func TestDeterministic(t *testing.T) {
	if !reflect.DeepEqual(makeGroup(3, 4), makeGroup(3, 4)) || reflect.DeepEqual(makeGroup(3, 4), makeGroup(3, 5)) {
		t.Error("groups are no function of seed and number")
	}
}
