package diff_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/testenv"
)

var (
	diffPairs = flag.Int("diff.pairs", 1000, "minimum number of pairs of schemas in TestCompatibleMeansCompatible")
	diffSeed  = flag.Uint64("diff.seed", 7, "seed of these pairs")
)

// maxPairs bounds the pairs that are generated until each kind of change has been the only change of a pair.
const maxPairs = 10000

// crdOf is a CRD with a schema for the field v.
func crdOf(v *props) []byte {
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"v": v}})
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{
		"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}}]}}`, schema)
}

func clone(s *props) *props { return s.DeepCopy() }

// TestCompatibleMeansCompatible: where Compare says that stored objects are not concerned, every object that was valid
// and stored stays valid and as it is, but for defaults of fields that are new; where it says that writers are not,
// every write that was accepted is.
func TestCompatibleMeansCompatible(t *testing.T) {
	testenv.SingleGoroutine(t)
	alone := map[string]int{} // of how many pairs a change is the only one
	var pairs, compatible, writable, objects, breaking, witnessed int
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(generated), func(k string) bool { return alone[k] > 0 })
	}
	for n := 0; n < *diffPairs || n < maxPairs && len(missing()) > 0; n++ {
		m := maker{rand.New(rand.NewPCG(*diffSeed, uint64(n)))}
		before := m.schema(3)
		after := clone(before)
		for range 1 + m.IntN(3) {
			m.change(after, 3)
		}
		manifest, next := crdOf(before), crdOf(after)
		old, _, err := engine.Compile(t.Context(), engine.JSON(manifest), engine.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, manifest)
		}
		new, _, err := engine.Compile(t.Context(), engine.JSON(next), engine.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, next)
		}
		if old == nil || new == nil {
			continue
		}
		result, err := diff.Compare(t.Context(), engine.JSON(manifest), engine.JSON(next), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pairs++
		if len(result.Changes) == 1 {
			alone[result.Changes[0].Kind]++
		}
		stored, writers := diff.Compatible, diff.Compatible
		for i := range result.Changes {
			c := &result.Changes[i]
			if c.Stored != diff.Compatible {
				stored = c.Stored
			}
			if c.Writers == diff.Breaking || c.Writers == diff.NeedsCare && writers == diff.Compatible {
				writers = c.Writers
			}
		}
		if result.Identical != (old.Revision() == new.Revision()) {
			t.Errorf("identical: %t, but the revisions are %s and %s", result.Identical, old.Revision(), new.Revision())
		}
		if stored == diff.Compatible && len(result.Changes) > 0 {
			compatible++
		}
		if writers == diff.Compatible && len(result.Changes) > 0 {
			writable++
		}
		if writers == diff.Breaking {
			breaking++
		}
		seen := false
		for k := range 24 {
			from := before
			if k%3 == 0 {
				from = after
			}
			object := []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"v":` + m.value(from, 4) + `}`)
			read := valid(t, old, object)
			if read == nil {
				continue
			}
			objects++
			again := valid(t, new, read)
			seen = seen || again == nil
			if stored == diff.Compatible && (again == nil || !within(read, again)) || writers == diff.Compatible && again == nil {
				t.Errorf("pair %d: stored objects %s, writers %s, but %s\nbecomes %s\nold %s\nnew %s\nchanges %s", n, stored, writers, read, again, schemaText(before), schemaText(after), diffText(result))
				break
			}
		}
		if seen && writers == diff.Breaking {
			witnessed++
		}
	}
	t.Logf("%d pairs, %d compatible for stored objects, %d for writers, %d breaking for writers, of which %d with an object that shows it; %d objects", pairs, compatible, writable, breaking, witnessed, objects)
	if kinds := missing(); len(kinds) > 0 {
		t.Errorf("no pair differs only in one of %v: the generator is off", kinds)
	}
	if compatible < pairs/20 || witnessed < breaking/4 || objects < pairs {
		t.Error("the pairs show too little: the generator is off")
	}
}

// generated are the kinds of changes that have to be among the pairs, each as the only change of some pair.
var generated = []string{
	"BoundLoosened", "BoundTightened", "DefaultAdded", "EmbeddedResourceAdded", "EmbeddedResourceRemoved",
	"EnumAdded", "EnumRemoved", "EnumValueAdded", "EnumValueRemoved", "FormatAdded", "FormatRemoved",
	"LogicalOperatorChanged", "LogicalOperatorLoosened", "LogicalOperatorTightened", "ListMapKeysChanged", "ListTypeChanged", "MapValuesChanged",
	"NullableAdded", "NullableRemoved", "PatternAdded", "PatternChanged", "PatternRemoved", "PreserveUnknownAdded",
	"PreserveUnknownRemoved", "PropertyAdded", "PropertyRemoved", "RequiredAdded", "RequiredRemoved", "RuleAdded",
	"RuleRemoved", "TypeChanged",
}

// valid returns an object as it is read, nil if a definition does not accept it as that.
func valid(t *testing.T, d *engine.Definition, object []byte) []byte {
	t.Helper()
	read, err := d.Read(t.Context(), engine.JSON(object), engine.ReadOptions{})
	if err != nil {
		return nil
	}
	v, err := d.Validate(t.Context(), engine.Create{Object: engine.JSON(read.Object)}, engine.ValidateOptions{AsGiven: true, CompleteMetadata: true})
	if err != nil || !v.Allowed {
		return nil
	}
	return read.Object
}

// within reports whether everything in one JSON text is in another, which may have more members.
func within(some, all []byte) bool {
	var a, b any
	if json.Unmarshal(some, &a) != nil || json.Unmarshal(all, &b) != nil {
		return false
	}
	var in func(a, b any) bool
	in = func(a, b any) bool {
		switch a := a.(type) {
		case map[string]any:
			b, ok := b.(map[string]any)
			for key, v := range a {
				w, there := b[key]
				ok = ok && there && in(v, w)
			}
			return ok
		case []any:
			b, ok := b.([]any)
			ok = ok && len(a) == len(b)
			for i := range a {
				ok = ok && in(a[i], b[i])
			}
			return ok
		}
		return a == b
	}
	return in(a, b)
}

func schemaText(s *props) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func diffText(d *diff.Result) string {
	text := ""
	for i := range d.Changes {
		c := &d.Changes[i]
		text += fmt.Sprintf("\n  %s at %s: stored %s, writers %s, readers %s: %s", c.Kind, c.SchemaPointer, c.Stored, c.Writers, c.Readers, c.Message)
	}
	return text
}
