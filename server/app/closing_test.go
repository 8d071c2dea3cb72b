package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestClosingDoesNotWaitForever: a step that hangs is left behind, and those below it run all the same.
func TestClosingDoesNotWaitForever(t *testing.T) { synctest.Test(t, testClosing) }

func testClosing(t *testing.T) {
	var c closing
	end, closed := make(chan struct{}), false
	c.then("the lowest", func(context.Context) error { closed = true; return nil })
	c.then("what fails", func(context.Context) error { return errors.New("broken") })
	c.then("what hangs", func(context.Context) error { <-end; return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := c.all(ctx)
	if !closed || err == nil || !strings.Contains(err.Error(), "closing what hangs: timeout") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("closed %t, %v", closed, err)
	}
	close(end)
}
