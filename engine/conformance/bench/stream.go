package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// streamed is the case stream/crontab: the real server and a client, two processes, and a million CronTabs through
// AdmitStream. Upstream has no streams, so the figures are compared with bars: objects per second, and the peak memory
// of both processes. It runs the program of `make stream`.
func streamed(o Options, _ string, _ *object) (line string, err error) {
	dir, err := os.MkdirTemp("", "crdeval-bench")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := mainModule()
	if err != nil {
		return "", err
	}
	for name, path := range map[string]string{"crdeval": "./server/cmd/crdeval", "stream": "./server/app/stream"} {
		o.progress("building %s", path)
		build := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(dir, name), path)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", path, err, out)
		}
	}
	run := exec.CommandContext(context.Background(), filepath.Join(dir, "stream"), "-server-binary", filepath.Join(dir, "crdeval"), "-n", strconv.Itoa(cmp.Or(o.Streamed, 1_000_000))) //nolint:gosec // what was built
	run.Dir, run.Env = root, append(os.Environ(), "GOMAXPROCS=2")
	var output bytes.Buffer
	run.Stderr = &output
	out, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s%s", err, out, output.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// mainModule is the folder of the main module.
func mainModule() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "..", ".."), nil
}
