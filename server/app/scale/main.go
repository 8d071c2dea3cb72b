// Command scale is the load test of make scale. It registers thousands of CRDs, restarts the server, and evaluates
// objects of all CRDs with a cache that holds only a part of them. It prints times and memory.
//
// It exits with 1 if the server compiles CRDs at the start, if nothing is evicted, if a verdict changes, or if the cache
// or the process exceeds its memory limit. Times are only printed: they depend on the load of the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/crdeval/crdeval/server/app/childserver"
)

// Targets for 10,000 CRDs.
const (
	targetStart = 5 * time.Second
	maxMemory   = 1 << 30
)

type settings struct {
	binary, samples string
	crds, hot       int
	cacheBytes      int64
	sweeps          int
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "server-binary", "bin/crdeval", "path of the crdeval binary")
	flag.StringVar(&s.samples, "samples", "deploy/samples", "directory with crds/ and objects/")
	flag.IntVar(&s.crds, "n", 10_000, "number of CRDs")
	flag.IntVar(&s.hot, "hot", 100, "number of CRDs whose objects are evaluated most often")
	flag.Int64Var(&s.cacheBytes, "cache-bytes", 256<<20, "--cache-bytes of the server")
	flag.IntVar(&s.sweeps, "sweeps", 2, "number of evaluations for each other CRD")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	if s.hot > s.crds || s.hot < 1 || s.sweeps < 2 {
		return errors.New("-hot must be between 1 and -n, and -sweeps at least 2")
	}
	samples, err := readSamples(s.samples)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "crdeval-scale")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := s.withServer(ctx, dir,
		func(server *childserver.Server) error { return register(ctx, s, server, samples) }); err != nil {
		return err
	}
	return s.withServer(ctx, dir, func(server *childserver.Server) error { return evaluate(ctx, s, server, samples) })
}

// withServer runs f with a server whose store is in dir.
func (s settings) withServer(ctx context.Context, dir string, f func(*childserver.Server) error) error {
	server, err := childserver.Start(ctx, s.binary, dir,
		"--store=bolt", "--data-dir="+filepath.Join(dir, "data"), fmt.Sprintf("--cache-bytes=%d", s.cacheBytes))
	if err != nil {
		return err
	}
	return errors.Join(f(server), server.Stop())
}

// registerBatch is the number of CRDs in one call.
const registerBatch = 500

// register registers the CRDs.
func register(ctx context.Context, s settings, server *childserver.Server, samples []sample) error {
	begin, bytes := time.Now(), 0
	for from := 0; from < s.crds; from += registerBatch {
		var manifests [][]byte
		for i := from; i < min(from+registerBatch, s.crds); i++ {
			text, err := crd(i, samples)
			if err != nil {
				return err
			}
			manifests, bytes = append(manifests, text), bytes+len(text)
		}
		results, err := server.Client.RegisterAll(ctx, manifests...)
		if err != nil {
			return err
		}
		for i, r := range results {
			if r.Err != nil {
				return fmt.Errorf("CRD %d: %w", from+i, r.Err)
			}
		}
	}
	took := time.Since(begin)
	resident, err := server.Memory("VmRSS")
	fmt.Printf("registered %d CRDs of %.1f KiB on average in %v, %.2f ms each; resident %s\n", s.crds,
		float64(bytes)/float64(s.crds)/1024, took.Round(time.Millisecond), took.Seconds()*1000/float64(s.crds), childserver.MiB(resident))
	return err
}
