package deploy

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/settings"
)

// unit returns the settings of deploy/crdeval.service, the last one of each name.
func unit(t *testing.T) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for line := range strings.Lines(string(readFile(t, "crdeval.service"))) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			t.Errorf("%q is not a setting", line)
		}
		settings[name] = value
	}
	return settings
}

func TestUnit(t *testing.T) {
	u := unit(t)
	command := strings.Fields(u["ExecStart"])
	name, value, _ := strings.Cut(u["Environment"], "=")
	container := corev1.Container{Name: "unit", Args: command[1:], Env: []corev1.EnvVar{{Name: name, Value: value}}}
	config := settingsOf(t, container)
	if config.DataDir != "/var/lib/"+u["StateDirectory"] {
		t.Errorf("the store is in %s, the unit may write to /var/lib/%s", config.DataDir, u["StateDirectory"])
	}
	stop, err := time.ParseDuration(u["TimeoutStopSec"])
	if err != nil || stop <= config.DrainDelay+config.DrainTimeout {
		t.Errorf("TimeoutStopSec=%v does not exceed the time for draining: %v", stop, err)
	}
	var limit settings.Bytes
	if err := limit.UnmarshalText([]byte(u["MemoryMax"] + "i")); err != nil {
		t.Errorf("MemoryMax=%s: %v", u["MemoryMax"], err)
	}
	checkMemory(t, container, config, limit)
}

// TestUnitIsValid checks the unit with systemd where it is installed.
func TestUnitIsValid(t *testing.T) {
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed")
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "crdeval.service")
	text := regexp.MustCompile(`ExecStart=\S+`).ReplaceAllString(string(readFile(t, "crdeval.service")), "ExecStart="+executable)
	if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, "verify", copied).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	const exposure = "20" // 2.0 of 10
	if out, err := exec.CommandContext(t.Context(), path, "security", "--offline=true", "--threshold="+exposure, "--no-pager", copied).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// A unit with Type=notify is started when the server is ready, and is stopping as soon as it drains.
func TestNotify(t *testing.T) {
	directory, err := os.MkdirTemp("", "crdeval")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	socket := filepath.Join(directory, "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = systemd.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	read := func() string {
		buffer := make([]byte, 100)
		n, err := systemd.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	config, err := app.Defaults("--store=memory", "--grpc-address=127.0.0.1:0", "--http-address=off")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, config, app.Build{}, slog.New(slog.DiscardHandler)) }()
	if got := read(); got != "READY=1" {
		t.Errorf("the server reported %q", got)
	}
	stop()
	if got := read(); got != "STOPPING=1" {
		t.Errorf("the server reported %q", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
