// Command stream is what `make stream` runs: it starts the real server and has AdmitStream judge a million CronTabs and more, from this process, and prints how fast
// that was and how much memory either process took at its most, beside what it may be.
//
// The memory is a condition, and one that is not met ends it with 1: it must not grow with the length of the stream. The rate is printed beside its bar and
// judged by who reads it: a busy machine is slow.
//
// server.go runs the server, drive.go is the stream.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// The bars: objects a second with client and server on two cores, and bytes resident of both together.
const (
	barRate   = 1_000_000.0 / 60
	barMemory = 200 << 20
)

// settings are the flags.
type settings struct {
	binary, crd, object string
	lengths             []int
}

func main() {
	var s settings
	var lengths string
	flag.StringVar(&s.binary, "server-binary", "bin/crdeval", "the crdeval binary to start")
	flag.StringVar(&s.crd, "crd", "deploy/samples/crds/crontabs.yaml", "the CRD")
	flag.StringVar(&s.object, "object", "deploy/samples/objects/crontab-valid.yaml", "an object of it, which is sent under a name of its own each time")
	flag.StringVar(&lengths, "n", "1000000,3000000", "how many objects, for each of the streams")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	for text := range strings.SplitSeq(lengths, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "stream: -n: %q is no number of objects\n", text)
			os.Exit(2)
		}
		s.lengths = append(s.lengths, n)
	}
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "crdeval-stream")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := start(ctx, s, dir)
	if err != nil {
		return err
	}
	return errors.Join(drive(ctx, s, server), server.stop())
}
