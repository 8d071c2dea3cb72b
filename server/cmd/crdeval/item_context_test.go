package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestItemContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := newItemContext(parent, time.Second)
		for range 3 {
			c.restart()
			time.Sleep(time.Second - 1)
			if err := c.Err(); err != nil {
				t.Fatalf("%v after %v of an item", err, time.Second-1)
			}
		}
		time.Sleep(time.Nanosecond)
		<-c.Done()
		if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the limit: %v", err)
		}
		c = newItemContext(parent, time.Second)
		defer c.stop()
		cancel()
		<-c.Done()
		if err := c.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the run: %v", err)
		}
	})
}
