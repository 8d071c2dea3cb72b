package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// streamed is the case stream/crontab: the real server and a client, two processes, and a million CronTabs through
// AdmitStream. Upstream has no streams, so the figures are compared with bars: objects per second, and the peak memory
// of both processes. It runs the test of `make stream`.
func streamed(o Options, _ string, _ *object) (string, error) {
	root, err := mainModule()
	if err != nil {
		return "", err
	}
	o.progress("go test ./server/loadtest/load")
	run := exec.CommandContext(context.Background(), "go", "test", "./load", "-count=1", "-v", "-timeout=30m",
		"-run=^TestStream$", "-args", "-lengths="+strconv.Itoa(cmp.Or(o.Streamed, 1_000_000))) //nolint:gosec // a number
	run.Dir, run.Env = filepath.Join(root, "server", "loadtest"), append(os.Environ(), "CRDEVAL_E2E=1")
	out, err := run.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "stream/") {
			return strings.TrimSuffix(line, "\n"), nil
		}
	}
	return "", fmt.Errorf("no line of the stream: %s", out)
}

// mainModule is the folder of the main module.
func mainModule() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "..", ".."), nil
}
