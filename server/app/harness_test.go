package app

import (
	"testing"
	"time"
)

// patience is the longest wait for a condition. Only a server that hangs exceeds it.
const patience = 5 * time.Minute

// eventually waits until condition returns nil.
func eventually(t testing.TB, condition func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
