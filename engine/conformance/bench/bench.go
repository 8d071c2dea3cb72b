package bench

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"sync"
)

// a kind is one kind of case; there is a case of each kind for each object.
type kind struct {
	name  string
	procs int
	run   func(o Options, name string, obj *object) (string, error)
}

// Engine cases run on one core, cases with a server on two.
var kinds = []kind{
	{"structural", 1, structural},
	{"admit", 1, admit},
	{"update", 1, update},
	{"reject", 1, reject},
	{"compile", 1, compile},
	{"compile-version", 1, compileVersion},
	{"heap", 1, heap},
	{"grpc", 2, overGRPC},
	{"rest", 2, overREST},
}

// Cases are the names of all cases in the order in which they run.
func Cases() []string {
	var names []string
	for _, k := range kinds {
		for _, o := range objects {
			names = append(names, k.name+"/"+o.name)
		}
	}
	return names
}

// Run runs the cases whose names the pattern matches and prints a line for each; a case that fails does not keep the others from running. It sets
// GOMAXPROCS, and puts it back.
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
	for _, k := range kinds {
		for i := range objects {
			name := k.name + "/" + objects[i].name
			if !pattern.MatchString(name) {
				continue
			}
			any = true
			obj, err := loaded[i]()
			if err != nil {
				return err
			}
			o.progress("%s", name)
			runtime.GOMAXPROCS(k.procs)
			line, err := k.run(o, name, obj)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("bench: %s: %w", name, err))
				continue
			}
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
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
