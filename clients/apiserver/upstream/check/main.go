// Command check reads the output of go test -json from standard input and compares it with a list of exceptions.
//
// The first line of the list is the number of top-level tests. Each other line is an exception: the result fail or skip,
// the name of a test, and the reason. The command fails if a test fails or is skipped without an exception, if an
// exception does not occur, or if the number of tests differs.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json … | check LIST")
		os.Exit(2)
	}
	list, err := os.ReadFile(os.Args[1])
	var want expectation
	if err == nil {
		want, err = parse(string(list))
	}
	var got results
	if err == nil {
		got, err = read(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(2)
	}
	differences := compare(got, want)
	for _, d := range differences {
		fmt.Println(d)
	}
	passed := 0
	for name, result := range got.tests {
		if !strings.Contains(name, "/") && result == "pass" {
			passed++
		}
	}
	fmt.Printf("%d of %d tests passed, %d exceptions\n", passed, got.top(), len(want.exceptions))
	if len(differences) > 0 {
		os.Exit(1)
	}
}

// expectation is a parsed list.
type expectation struct {
	tests      int
	exceptions map[string]string // the result fail or skip, by test
}

func parse(list string) (expectation, error) {
	e := expectation{exceptions: map[string]string{}}
	lines := strings.Split(strings.TrimSpace(list), "\n")
	n, found := strings.CutSuffix(lines[0], " tests")
	var err error
	if e.tests, err = strconv.Atoi(n); !found || err != nil {
		return e, fmt.Errorf("line 1 is %q, not the number of tests: N tests", lines[0])
	}
	for i, line := range lines[1:] {
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 || parts[0] != "fail" && parts[0] != "skip" {
			return e, fmt.Errorf("line %d is %q, not: fail|skip TEST REASON", i+2, line)
		}
		e.exceptions[parts[1]] = parts[0]
	}
	return e, nil
}

// results are the results of the tests of a run.
type results struct {
	tests  map[string]string // pass, fail or skip, by package and test
	broken []string          // the packages that failed without a failed test, or that did not run
}

// top returns the number of top-level tests.
func (r results) top() (n int) {
	for name := range r.tests {
		if !strings.Contains(name, "/") {
			n++
		}
	}
	return n
}

// read reads the events of a run, and writes the output of failed tests.
func read(from io.Reader, failures io.Writer) (results, error) {
	r := results{tests: map[string]string{}}
	output := map[string][]string{}
	failed := map[string]bool{} // packages with a failed test
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e struct{ Action, Package, Test, Output, ImportPath string }
			if jsonErr := json.Unmarshal(line, &e); jsonErr != nil {
				return r, fmt.Errorf("not an event: %q", line)
			}
			switch e.Action {
			case "output", "build-output":
				output[e.Package+e.ImportPath+e.Test] = append(output[e.Package+e.ImportPath+e.Test], e.Output)
			case "build-fail":
				fmt.Fprint(failures, strings.Join(output[e.ImportPath], ""))
			case "pass", "fail", "skip":
				switch {
				case e.Test != "":
					r.tests[e.Test] = e.Action
					failed[e.Package] = failed[e.Package] || e.Action == "fail"
				case e.Action == "fail" && !failed[e.Package]:
					r.broken = append(r.broken, e.Package)
				}
				if e.Action == "fail" {
					fmt.Fprint(failures, strings.Join(output[e.Package+e.Test], ""))
				}
				delete(output, e.Package+e.Test)
			}
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
}

// compare returns the differences between a run and a list. A test whose subtests fail or are skipped needs no exception
// of its own.
func compare(got results, want expectation) (differences []string) {
	for _, p := range got.broken {
		differences = append(differences, "package "+p+" failed outside of its tests")
	}
	names := slices.Sorted(maps.Keys(got.tests))
	for _, name := range names {
		result := got.tests[name]
		explained := slices.ContainsFunc(names, func(sub string) bool {
			return strings.HasPrefix(sub, name+"/") && got.tests[sub] == result
		})
		switch listed := want.exceptions[name]; {
		case listed == result, result == "fail" && listed == "" && explained:
		case result == "pass" && listed == "":
		case listed == "":
			differences = append(differences, fmt.Sprintf("%s: %s, without an exception", name, result))
		default:
			differences = append(differences, fmt.Sprintf("%s: %s, but the list says %s", name, result, listed))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.exceptions)) {
		if _, ran := got.tests[name]; !ran {
			differences = append(differences, name+" is in the list, but did not run")
		}
	}
	if n := got.top(); n != want.tests {
		differences = append(differences, fmt.Sprintf("%d tests ran, but the list says %d", n, want.tests))
	}
	return differences
}
