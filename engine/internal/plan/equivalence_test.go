package plan

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// stepByStep does what accept does in one pass, but in upstream's steps. It returns the violations, or that embedded
// metadata cannot be read, and the shaped object.
func stepByStep(t testing.TB, p *Plan, src []byte) (violations []string, out []byte, pruned, defaulted []Change) {
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(src, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pruned = prune(t, p, d, root)
	if _, err := p.DropNulls(d, root, false); err != nil {
		t.Fatal(err)
	}
	if _, bad, _ := p.CoerceEmbedded(d, root, metadata.Options{}); bad != nil {
		return []string{bad.Error.Error()}, nil, nil, nil
	}
	for _, c := range fillDefaults(t, p, d, root) {
		if !p.StatusSubresource || c.Path[0].Key() != "status" {
			defaulted = append(defaulted, c)
		}
	}
	if p.StatusSubresource {
		prev := uint32(0)
		for c := d.Nodes[root].First; c != 0; c = d.Nodes[c].Next {
			if d.Key(c) == "status" {
				d.Remove(root, prev, c)
				break
			}
			prev = c
		}
	}
	for _, v := range p.Explain(d, root, At{}) {
		violations = append(violations, v.Error.Error())
	}
	for _, v := range p.ExplainEmbedded(d, root, At{}) {
		violations = append(violations, v.Error.Error())
	}
	for _, v := range p.ExplainLists(d, root, At{}) {
		violations = append(violations, v.Error.Error())
	}
	return violations, d.AppendJSON(nil, root), pruned, defaulted
}

// outcome of one comparison.
type outcome int

const (
	agreeValid outcome = iota
	agreeInvalid
	falseDoubt
)

func compareWalks(t testing.TB, s *apiextensionsv1.JSONSchemaProps, p *Plan, src []byte) outcome {
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(src, tree.Limits{})
	if err != nil {
		t.Fatalf("%v: %s", err, src)
	}
	edits := &Edits{}
	accepted := p.Accept(d, root, Mode{Create: true, Edits: edits})
	violations, want, wantPruned, wantDefaulted := stepByStep(t, p, src)
	if !accepted {
		if len(violations) == 0 {
			return falseDoubt
		}
		return agreeInvalid
	}
	schema, _ := json.Marshal(s)
	if len(violations) > 0 {
		t.Fatalf("accepted, but explain finds %q\nschema %s\nobject %s", violations, schema, src)
	}
	if got := d.AppendJSON(nil, root); string(got) != string(want) {
		t.Fatalf("accept makes\n%s\nthe steps make\n%s\nschema %s\nobject %s", got, want, schema, src)
	}
	pruned, defaulted := p.Changes(d, edits)
	if got, want := changeTexts(pruned), changeTexts(wantPruned); !slices.Equal(got, want) {
		t.Fatalf("accept prunes %q, the steps %q\nschema %s\nobject %s", got, want, schema, src)
	}
	if got, want := changeTexts(defaulted), changeTexts(wantDefaulted); !slices.Equal(got, want) {
		t.Fatalf("accept fills in %q, the steps %q\nschema %s\nobject %s", got, want, schema, src)
	}
	return agreeValid
}

func changeTexts(l []Change) (texts []string) {
	for _, c := range l {
		texts = append(texts, c.Text+" "+c.Path.Bracketed())
	}
	return texts
}

// compareShapes holds the walks that only shape against upstream's steps. It returns how many of the walks had no doubt.
func compareShapes(t testing.TB, p *Plan, src []byte) (sure int) {
	d := tree.Acquire()
	defer d.Release()
	for _, walk := range []struct {
		name     string
		shape    func(*tree.Doc, uint32, Mode) bool
		lenient  bool
		defaults bool
	}{
		{"decoded", p.AcceptDecoded, false, true}, {"stored", p.AcceptStored, true, true}, {"converted", p.AcceptConverted, false, false},
	} {
		d.Reset()
		root, err := d.ParseJSON(src, tree.Limits{})
		if err != nil {
			t.Fatalf("%v: %s", err, src)
		}
		if !walk.shape(d, root, Mode{}) {
			continue
		}
		sure++
		got := string(d.AppendJSON(nil, root))
		d.Reset()
		if root, err = d.ParseJSON(src, tree.Limits{}); err != nil {
			t.Fatal(err)
		}
		prune(t, p, d, root)
		if _, err := p.DropNulls(d, root, false); err != nil {
			t.Fatal(err)
		}
		if _, bad, _ := p.CoerceEmbedded(d, root, metadata.Options{Lenient: walk.lenient}); bad != nil {
			t.Fatalf("%s: not in doubt about %v: %s", walk.name, bad.Error, src)
		}
		if walk.defaults {
			fillDefaults(t, p, d, root)
		}
		if want := string(d.AppendJSON(nil, root)); got != want {
			t.Fatalf("%s makes\n%s\nthe steps make\n%s\nof %s", walk.name, got, want, src)
		}
	}
	return sure
}

// compareAll makes a schema and some objects of it and holds accept against explain.
func compareAll(t testing.TB, data []byte, objects int) (outcomes [3]int, shaped int) {
	c := newChooser(data)
	s := c.schema(3, true)
	p, err := Compile(s, Options{StatusSubresource: c.one(3)})
	if err != nil {
		t.Fatal(err)
	}
	for range objects {
		object := []byte(c.object(s))
		outcomes[compareWalks(t, s, p, object)]++
		shaped += compareShapes(t, p, object)
	}
	return outcomes, shaped
}

func (c *chooser) object(s *apiextensionsv1.JSONSchemaProps) string {
	text := c.value(s, 5, pick(c, 1<<30, 1<<30, 40, 12))
	if text[0] != '{' {
		text = "{}"
	}
	head := `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"}`
	if len(text) > 2 {
		head += ","
	}
	return head + text[1:]
}

func TestAcceptExplain(t *testing.T) {
	testenv.SingleGoroutine(t)
	var all [3]int
	shaped := 0
	for seed := range uint64(4000) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], seed*0x9E3779B97F4A7C15)
		outcomes, n := compareAll(t, b[:], 12)
		for i, n := range outcomes {
			all[i] += n
		}
		shaped += n
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	text := fmt.Sprintf("%d accepted by both, %d rejected by both, %d doubted in vain, %d shaped equally", all[agreeValid], all[agreeInvalid],
		all[falseDoubt], shaped)
	t.Log(text)
	if all[falseDoubt]*20 > all[agreeValid] || all[agreeValid] < 2000 || shaped < 3*all[agreeValid] {
		t.Error(text)
	}
}

func FuzzAcceptExplain(f *testing.F) {
	for seed := range byte(64) {
		f.Add([]byte{seed, seed * 7, seed * 31, 255 - seed, seed * 3, seed * 11, seed ^ 0x55, 9})
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareAll(t, data, 4) })
}
