package resume

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestState(t *testing.T) {
	path, subject := filepath.Join(t.TempDir(), "state"), Subject{Source: "a.yaml", Output: "out"}
	load := func() *State {
		t.Helper()
		st, err := Load(path, subject)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := load()
	st.Documents, st.Digest, st.Migrated = 2, "abc", 1
	st.Fail("Lamp b", "it has no version")
	st.Use("lamps.example.com", "r1")
	if err := st.Save(); err != nil {
		t.Fatal(err)
	}
	st = load()
	if st.Count() != 2 || st.Failed[0] != (Failure{"Lamp b", "it has no version"}) {
		t.Errorf("%+v", st)
	}
	for revision, want := range map[string]string{"r1": "", "r2": "the CRD lamps.example.com or its conversion rules changed"} {
		err := st.CheckRevisions(func(crd, r string) bool { return crd == "lamps.example.com" && r == revision })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", revision, err)
		}
	}
	_, err := Load(path, Subject{Source: "b.yaml", Output: "out"})
	if want := `another migration (the files or the cluster: "a.yaml", now "b.yaml")`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	st.Read, st.Finished = true, true
	if err := st.Save(); err != nil {
		t.Fatal(err)
	}
	if st = load(); st.Count() != 0 || st.Finished {
		t.Errorf("a finished run is continued: %+v", st)
	}
}
