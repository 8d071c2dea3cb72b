package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Clients choose numbers. No choice may make a search compare all of them.
func TestHashesOfNumbersDiffer(t *testing.T) {
	const many = 4096
	for _, c := range []struct{ name, format string }{
		{"floats", "%d.5"},
		{"integers", "%d"},
		{"integers that differ in their upper bits", "%d000000000000000"},
		{"texts", `"%d"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := make([]string, many)
			for i := range list {
				list[i] = fmt.Sprintf(c.format, i+1)
			}
			d := tree.Acquire()
			defer d.Release()
			root, err := d.ParseJSON([]byte("["+strings.Join(list, ",")+"]"), tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			w := acceptor{changer: changer{d: d}}
			seen := map[uint32]bool{}
			for e := d.Nodes[root].First; e != 0; e = d.Nodes[e].Next {
				seen[w.hash(&Node{}, e)&(16*many-1)] = true
			}
			if len(seen) < many*9/10 {
				t.Errorf("%d numbers have %d hashes", many, len(seen))
			}
		})
	}
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte("[0.0,-0.0]"), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w := acceptor{changer: changer{d: d}}
	if zero := d.Nodes[root].First; w.hash(&Node{}, zero) != w.hash(&Node{}, d.Nodes[zero].Next) {
		t.Error("equal numbers have different hashes")
	}
}
