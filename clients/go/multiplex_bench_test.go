package crdeval_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// BenchmarkAdmitFinish measures the CPU time of the client and of a server process for calls of Admit with one item, as
// unary calls and on shared streams.
func BenchmarkAdmitFinish(b *testing.B) {
	address, pid := startProcess(b)
	object, err := os.ReadFile("../../deploy/samples/objects/crontab-valid.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{8, 1} {
		for name, options := range map[string][]crdeval.Option{
			"unary": nil, "multiplexed": {crdeval.WithMultiplexing(crdeval.MultiplexOptions{})},
		} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				c, err := crdeval.Dial(address, options...)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				decoded, err := c.AdmitItems(b.Context(), []*crdevalv1.WriteItem{crdeval.Create(object)},
					crdeval.AdmitOptions{Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE})
				if err != nil || !decoded[0].Allowed() {
					b.Fatal(decoded, err)
				}
				item := crdeval.Create(decoded[0].Object())
				var left atomic.Int64
				left.Store(int64(b.N))
				var group sync.WaitGroup
				b.ResetTimer()
				client, server := processorTime(b, os.Getpid()), processorTime(b, pid)
				for range callers {
					group.Go(func() {
						for left.Add(-1) >= 0 {
							r, err := c.AdmitItems(b.Context(), []*crdevalv1.WriteItem{item},
								crdeval.AdmitOptions{Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH})
							if err != nil || !r[0].Allowed() {
								b.Error(r, err)
								return
							}
						}
					})
				}
				group.Wait()
				client, server = processorTime(b, os.Getpid())-client, processorTime(b, pid)-server
				b.ReportMetric(float64(client.Microseconds())/float64(b.N), "client-cpu-µs/op")
				b.ReportMetric(float64(server.Microseconds())/float64(b.N), "server-cpu-µs/op")
				b.ReportMetric(float64((client+server).Microseconds())/float64(b.N), "cpu-µs/op")
			})
		}
	}
}

// startProcess builds the server, starts it on a unix socket with the sample CRDs, and returns its address and process.
func startProcess(b *testing.B) (address string, pid int) {
	b.Helper()
	dir, err := os.MkdirTemp("", "crdeval-") // socket paths must be short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, address := filepath.Join(dir, "crdeval"), "unix://"+filepath.Join(dir, "s")
	build := exec.CommandContext(b.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../server/cmd/crdeval")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(binary, "serve", "--grpc-address="+address, "--http-address=off", "--store=memory",
		"--log-level=warn", "--crds=../../deploy/samples/crds")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			b.Error(err)
		}
	})
	c, err := crdeval.Dial(address)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := c.Explain(b.Context(), "crontabs")
		if err == nil {
			return address, server.Process.Pid
		}
		if time.Since(begin) > time.Minute {
			b.Fatal(err)
		}
	}
}

// processorTime returns the CPU time that a process has used. Its resolution is 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("this system does not report the CPU time of a process: ", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
