// Command repositories runs `crdeval admit --repository .` in the Go modules of ten projects, and compares its results
// with those of Kubernetes' own code. It prints the counts of each run, and each false error: crdeval rejects or cannot
// read an object, a CRD or a file, but Kubernetes accepts it.
//
//	go run ./cmd/repositories [-module regexp] [-all] [-keep dir] [-link=false] [binary]
//
// The modules come from the module proxy into the module cache (modules.go). Kubernetes reads the files as kubectl does
// (files.go), and evaluates each object with the CRDs that are nearest to its file (upstream.go). The exit code is 1 if
// there is a false error or another difference.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

type options struct {
	binary string
	only   *regexp.Regexp
	keep   string // folder in which the unpacked modules stay; "": a temporary one
	all    bool   // print all differences of a kind
	link   bool   // add a dangling link
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := repositories(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "repositories:", err)
		os.Exit(1)
	}
}

var errDifferent = errors.New("crdeval and Kubernetes differ")

func parse() (*options, error) {
	o := &options{}
	module := flag.String("module", "", "run only the modules whose path matches this regular expression")
	flag.StringVar(&o.keep, "keep", "", "folder in which the unpacked modules and the outputs are kept")
	flag.BoolVar(&o.all, "all", false, "print all differences, not only the first of each kind")
	flag.BoolVar(&o.link, "link", true, "add a dangling link to each repository")
	flag.Parse()
	if o.binary = flag.Arg(0); o.binary == "" {
		o.binary = "../../bin/crdeval"
	}
	var errs [3]error
	o.binary, errs[0] = filepath.Abs(o.binary)
	_, errs[1] = os.Stat(o.binary)
	o.only, errs[2] = regexp.Compile(*module)
	return o, errors.Join(errs[:]...)
}

func repositories(ctx context.Context) error {
	o, err := parse()
	if err != nil {
		return err
	}
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "crdeval-repositories-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var all []*result
	different := false
	for _, m := range modules {
		if !o.only.MatchString(m.path) {
			continue
		}
		r, err := o.run(ctx, m, dir)
		if err != nil {
			return fmt.Errorf("%s@%s: %w", m.path, m.version, err)
		}
		r.print(os.Stdout, o.all)
		all = append(all, r)
		different = different || r.failed()
	}
	if len(all) == 0 {
		return errors.New("no module matches -module")
	}
	printTable(os.Stdout, all)
	if different {
		return errDifferent
	}
	return nil
}

// run downloads and unpacks a module, runs crdeval in it, and compares.
func (o *options) run(ctx context.Context, m module, dir string) (*result, error) {
	root, err := m.unpack(ctx, dir, o.link)
	if err != nil {
		return nil, err
	}
	r := &result{module: m, differences: map[string][]string{}}
	if err := r.admit(ctx, o.binary, root); err != nil {
		return nil, err
	}
	files, err := readFiles(root)
	if err != nil {
		return nil, err
	}
	r.compare(newUpstream(files, r.skippedFiles()), files)
	return r, nil
}
