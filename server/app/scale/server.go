package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// catalog is where everything is registered.
const catalog = "default"

// startTimeout is when a server that does not become ready is given up.
const startTimeout = 2 * time.Minute

// server is a crdeval process with its store in a directory.
type server struct {
	command *exec.Cmd
	conn    *grpc.ClientConn
	web     *http.Client
	ready   time.Duration // from the start until /readyz succeeded
}

// start starts a server and waits until it is ready.
func start(ctx context.Context, s settings, dir string) (*server, error) {
	socket := func(name string) string { return "unix://" + filepath.Join(dir, name) }
	command := exec.CommandContext(ctx, s.binary, "serve", "--store=bolt", "--data-dir="+filepath.Join(dir, "data"), "--log-level=warn",
		"--grpc-address="+socket("grpc.sock"), "--http-address="+socket("http.sock"), "--cache-bytes="+strconv.FormatInt(s.cacheBytes, 10))
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	begin := time.Now()
	if err := command.Start(); err != nil {
		return nil, err
	}
	out := &server{command: command, web: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "http.sock"))
		},
	}}}
	for {
		if _, err := out.get(ctx, "/readyz"); err == nil {
			break
		}
		if ctx.Err() != nil || time.Since(begin) > startTimeout {
			return nil, errors.Join(errors.New("the server does not become ready"), out.stop())
		}
		time.Sleep(2 * time.Millisecond)
	}
	out.ready = time.Since(begin)
	var err error
	out.conn, err = grpc.NewClient(socket("grpc.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		return nil, errors.Join(err, out.stop())
	}
	return out, nil
}

// stop ends the server as an orchestrator does.
func (s *server) stop() error {
	s.web.CloseIdleConnections()
	if s.conn != nil {
		_ = s.conn.Close()
	}
	_ = s.command.Process.Signal(syscall.SIGTERM)
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	return nil
}

func (s *server) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://crdeval"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := s.web.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

// metrics are the server's figures without attributes, by name.
type metrics map[string]float64

var metricLine = regexp.MustCompile(`(?m)^(\w+)(?:\{[^}]*\})? (\S+)$`)

func (s *server) metrics(ctx context.Context) (metrics, error) {
	text, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	m := metrics{}
	for _, line := range metricLine.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(line[2], 64); err == nil {
			m[line[1]] = v
		}
	}
	return m, nil
}

// resident is the memory of the process at this moment, in bytes; 0 where /proc does not tell.
func (s *server) resident() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// The bounds of one call of RegisterCrds.
const (
	entriesAtOnce = 500
	bytesAtOnce   = 16 << 20
)

// register registers n CRDs and returns the size of their manifests.
func (s *server) register(ctx context.Context, n int, samples []sample) (bytes int, err error) {
	client := crdevalv1.NewRegistryServiceClient(s.conn)
	request := &crdevalv1.RegisterCrdsRequest{Catalog: catalog}
	waiting := 0
	for i := range n {
		text, err := crd(i, samples)
		if err != nil {
			return 0, err
		}
		request.Entries = append(request.Entries, &crdevalv1.RegisterCrdsEntry{Manifest: document(text)})
		bytes, waiting = bytes+len(text), waiting+len(text)
		if i+1 < n && len(request.GetEntries()) < entriesAtOnce && waiting < bytesAtOnce {
			continue
		}
		answer, err := client.RegisterCrds(ctx, request)
		if err != nil {
			return 0, err
		}
		for _, result := range answer.GetResults() {
			if !result.GetRegistration().GetAccepted() {
				return 0, fmt.Errorf("CRD %s is not accepted: %v%v", result.GetCrd(), result.GetError(), result.GetRegistration().GetReport().GetRejection())
			}
		}
		request.Entries, waiting = nil, 0
	}
	return bytes, nil
}

func document(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}
