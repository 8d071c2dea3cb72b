// Command bench measures the engine and the server beside upstream's library in the same process, and prints one line
// per case.
//
//	go run ./cmd/bench -case 'structural|grpc/crontab'
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/bench"
)

func main() {
	o := bench.Defaults()
	pattern := flag.String("case", ".", "regular expression: the cases to run")
	list := flag.Bool("list", false, "print the names of the cases and do nothing else")
	verbose := flag.Bool("v", false, "say on standard error what is being done")
	flag.StringVar(&o.Folder, "objects", o.Folder, "folder of the objects")
	flag.IntVar(&o.Rounds, "rounds", o.Rounds, "turns of each side; the figures are their medians")
	flag.DurationVar(&o.Turn, "turn", o.Turn, "how long a turn takes (five times that for cases with a server)")
	flag.Func("peers", "comma-separated list of the other validators in the cases peers and cli (default: all)", func(names string) error {
		o.Peers = strings.Split(names, ",")
		return nil
	})
	flag.Parse()
	if *list {
		for _, name := range bench.Cases() {
			fmt.Println(name)
		}
		return
	}
	if *verbose {
		o.Progress = func(text string) { fmt.Fprintln(os.Stderr, text) }
	}
	cases, err := regexp.Compile(*pattern)
	if err == nil {
		err = bench.Run(cases, os.Stdout, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
