package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parses := 0
	parse := func(c [][]byte) (string, error) {
		parses++
		if string(c[0]) == "invalid" {
			return "", errors.New("the file is invalid")
		}
		return string(c[0]), nil
	}
	if _, err := New([]string{file}, parse); err == nil {
		t.Error("no error for a missing file")
	}
	write("invalid")
	if _, err := New([]string{file}, parse); err == nil {
		t.Error("no error for an invalid file")
	}
	write("1")
	v, err := New([]string{file}, parse)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	parses = 0
	for _, step := range []struct{ text, want, log string }{
		{"1", "1", ""}, {"2", "2", "reloaded the file"}, {"invalid", "2", "previously loaded version stays in use"}, {"invalid", "2", ""},
		{"2", "2", ""}, {"invalid", "2", "previously loaded version stays in use"}, {"3", "3", "reloaded the file"},
	} {
		write(step.text)
		logged.Reset()
		v.Poll(t.Context(), "the file", log)
		if v.Get() != step.want || (step.log == "") != (logged.Len() == 0) || !strings.Contains(logged.String(), step.log) {
			t.Errorf("%+v: %q, %s", step, v.Get(), &logged)
		}
	}
	if parses != 5 {
		t.Errorf("parsed %d times", parses)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		go Run(ctx, Interval, func() { calls++ })
		time.Sleep(3*Interval + 1)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
}
