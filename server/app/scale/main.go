// Command scale is what `make scale` runs: it registers thousands of CRDs with the real server, starts it anew, evaluates objects of all of them
// within a cache that holds a part, and prints what that took in time and memory beside what it may take.
//
// What is no time is a condition, and a failed one ends it with 1: nothing is compiled at the start, programs are evicted and built again, every verdict stays what it
// was, the cache keeps within its budget, and the process within its memory. Times are printed beside their bars and judged by who reads them: a busy machine is slow.
//
// crds.go makes the CRDs and their objects, server.go runs the server, drive.go has it evaluate, lookup.go measures the registry inside this process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The bars for 10,000 CRDs.
const (
	barStart  = 5 * time.Second
	barMemory = 1 << 30
)

// settings are the flags.
type settings struct {
	binary, samples string
	crds, hot       int
	cacheBytes      int64
	touches         int
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "server-binary", "bin/crdeval", "the crdeval binary to start")
	flag.StringVar(&s.samples, "samples", "deploy/samples", "directory with crds/ and objects/")
	flag.IntVar(&s.crds, "n", 10_000, "how many CRDs")
	flag.IntVar(&s.hot, "hot", 100, "how many of them are evaluated all the time")
	flag.Int64Var(&s.cacheBytes, "cache-bytes", 256<<20, "the server's --cache-bytes")
	flag.IntVar(&s.touches, "touches", 2, "how often each of the others is evaluated")
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
	if s.hot > s.crds || s.hot < 1 || s.touches < 2 {
		return errors.New("-hot is from 1 to -n, and -touches at least 2: the first sweep is what the others are compared with")
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

	if err := register(ctx, s, dir, samples); err != nil {
		return err
	}
	if err := drive(ctx, s, dir, samples); err != nil {
		return err
	}
	return lookUps(ctx, s, dir, samples)
}

// register fills a server's registry.
func register(ctx context.Context, s settings, dir string, samples []sample) error {
	server, err := start(ctx, s, dir)
	if err != nil {
		return err
	}
	begin := time.Now()
	bytes, err := server.register(ctx, s.crds, samples)
	if err != nil {
		return errors.Join(err, server.stop())
	}
	took := time.Since(begin)
	fmt.Printf("registered %d CRDs of %.1f KiB on average in %v, %.2f ms each; resident afterwards %s\n",
		s.crds, float64(bytes)/float64(s.crds)/1024, took.Round(time.Millisecond), took.Seconds()*1000/float64(s.crds), mebibytes(server.resident()))
	return server.stop()
}

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
