// Command stream is the load test of make stream. It streams a million and more CronTabs through AdmitStream and prints
// the rate, and the peak memory of client and server.
//
// It exits with 1 if the memory exceeds its limit: it must not grow with the length of the stream. The rate is only
// printed: it depends on the load of the machine.
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

	"github.com/crdeval/crdeval/server/app/childserver"
)

const (
	targetRate = 1_000_000.0 / 60 // objects per second with two cores for client and server
	maxMemory  = 200 << 20        // resident bytes of client and server together
)

type settings struct {
	binary, crd, object string
	lengths             []int
}

func main() {
	var s settings
	var lengths string
	flag.StringVar(&s.binary, "server-binary", "bin/crdeval", "path of the crdeval binary")
	flag.StringVar(&s.crd, "crd", "deploy/samples/crds/crontabs.yaml", "file with the CRD")
	flag.StringVar(&s.object, "object", "deploy/samples/objects/crontab-valid.yaml",
		"file with an object; each copy gets another name")
	flag.StringVar(&lengths, "n", "1000000,3000000", "comma-separated numbers of objects, one for each stream")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	for text := range strings.SplitSeq(lengths, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "stream: -n: %q is not a number of objects\n", text)
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
	server, err := childserver.Start(ctx, s.binary, dir, "--store=memory")
	if err != nil {
		return err
	}
	return errors.Join(stream(ctx, s, server), server.Stop())
}
