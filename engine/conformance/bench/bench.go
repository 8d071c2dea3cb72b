package bench

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// A kind has one case per object. The kind register has one more.
type kind struct {
	name  string
	procs int
	run   func(o Options, name string, obj *object) (string, error)
	of    string // ends the name of its cases
}

// namedKinds need downloads or long runs. They run only if the pattern contains their name.
var namedKinds = []kind{
	{"peers", 1, validated, ""},
	{"limit", 1, limit, ""},
}

// Engine cases run on one core, server cases on two.
var kinds = []kind{
	{"structural", 1, structural, ""},
	{"admit", 1, admit, ""},
	{"update", 1, update, ""},
	{"reject", 1, reject, ""},
	{"table", 1, table, ""},
	{"table-row", 1, tableRow, ""},
	{"openapi-v3", 1, openAPIV3, ""},
	{"openapi-v2", 1, openAPIV2, ""},
	{"compile", 1, compile, ""},
	{"compile-version", 1, compileVersion, ""},
	{"register", 1, register, ""},
	{"register-update", 1, registerUpdate, ""},
	{"heap", 1, heap, ""},
	{"yaml", 1, readObject, ""},
	{"yaml", 1, readCRD, "-crd"},
	{"grpc", 2, overGRPC, ""},
	{"rest", 2, overREST, ""},
}

// benchCase is a case. object is the index of its object, or negative.
type benchCase struct {
	name   string
	procs  int
	object int
	run    func(o Options, name string, obj *object) (string, error)
	named  string // runs only if the pattern contains this
}

const none = -1

// cases lists all cases in their order.
func cases() []benchCase {
	var list []benchCase
	for _, k := range kinds {
		list = append(list, k.cases("")...)
		if k.name == "register" {
			list = append(list, benchCase{k.name + "/largest", k.procs, none, func(o Options, name string, _ *object) (string, error) {
				return registerLargest(o, name)
			}, ""})
		}
	}
	for i := range convertings {
		list = append(list, benchCase{"convert/" + convertings[i].name, 2, none, convertings[i].run, ""})
	}
	for i := range unaries {
		list = append(list, benchCase{"unary/" + unaries[i].name, 2, none, runUnary(i), ""})
	}
	list = append(list, benchCase{"stream/crontab", 2, none, streamed, ""})
	for _, k := range namedKinds {
		list = append(list, k.cases(k.name)...)
	}
	return append(append(list, benchCase{"peers/checks", 1, none, checkVerdicts, "peers"}), commandCases...)
}

// cases returns the cases of a kind.
func (k kind) cases(named string) (list []benchCase) {
	for i := range objects {
		list = append(list, benchCase{k.name + "/" + objects[i].name + k.of, k.procs, i, k.run, named})
	}
	return list
}

// selectedBy reports whether a pattern selects the case.
func (c benchCase) selectedBy(pattern *regexp.Regexp) bool {
	return pattern.MatchString(c.name) && strings.Contains(pattern.String(), c.named)
}

// Cases returns the names of all cases in their order.
func Cases() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return names
}

// Run runs the cases whose names match the pattern, and prints one line for each. If a case fails, the others still
// run. It sets GOMAXPROCS and restores it.
func Run(pattern *regexp.Regexp, out io.Writer, o Options) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	loaded := make([]func() (*object, error), len(objects))
	for i := range objects {
		loaded[i] = sync.OnceValues(func() (*object, error) {
			o.progress("reading %s and its definition", objects[i].name)
			return load(o.Folder, i)
		})
	}
	any := false
	var failed error
	for _, c := range cases() {
		if !c.selectedBy(pattern) {
			continue
		}
		any = true
		var obj *object
		if c.object != none {
			var err error
			if obj, err = loaded[c.object](); err != nil {
				return err
			}
		}
		o.progress("%s", c.name)
		runtime.GOMAXPROCS(c.procs)
		line, err := c.run(o, c.name, obj)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("bench: %s: %w", c.name, err))
			continue
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if !any {
		return fmt.Errorf("bench: no case matches %q; the cases are %v", pattern, Cases())
	}
	return failed
}

func (o Options) progress(format string, arguments ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, arguments...))
	}
}
