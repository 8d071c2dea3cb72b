package registry

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPackedManifests(t *testing.T) {
	for _, manifest := range []string{"", "{}", strings.Repeat(`{"description":"a string"}`, 10_000)} {
		p := pack([]byte(manifest))
		if got, err := p.unpack(); string(got) != manifest || err != nil || p.size() != len(manifest) {
			t.Errorf("%d bytes came back as %d, %v", len(manifest), len(got), err)
		}
		if _, err := p[:len(p)/2].unpack(); err == nil && len(manifest) > 2 {
			t.Errorf("half of %d bytes unpack", len(p))
		}
	}
}

// The content of a revision is the manifest and then the rules. Without rules, entries have the form that they had before
// there were any.
func TestRevisionContent(t *testing.T) {
	d := &crd{name: "a.b.c", catalog: "default"}
	for _, rules := range []string{"", `{"crd":"a.b.c"}`} {
		value, err := encodeRecord(&summary{Scope: "Cluster", ConversionBytes: len(rules)}, pack([]byte(`{"kind":"x"}`+rules)))
		if err != nil {
			t.Fatal(err)
		}
		rev, err := decodeRevision("sha256:1", value)
		if err != nil {
			t.Fatal(err)
		}
		manifest, got, err := rev.unpack(d)
		if string(manifest) != `{"kind":"x"}` || string(got) != rules || (got == nil) != (rules == "") || err != nil {
			t.Errorf("%q, %q, %v; want %q", manifest, got, err, rules)
		}
	}
	before, err := encodeRecord(json.RawMessage(`{"scope":"Cluster","versions":null,"desired":{"group":"","names":{"plural":"","kind":""},"storageVersion":""}}`), nil)
	if now, _ := encodeRecord(&summary{Scope: "Cluster"}, nil); string(now) != string(before) || err != nil {
		t.Errorf("%q, before %q, %v", now, before, err)
	}
	for _, n := range []int{-1, 13} {
		rev := &revision{summary: &summary{ConversionBytes: n}, content: pack([]byte(`{"kind":"x"}`))}
		if _, _, err := rev.unpack(d); err == nil || !strings.Contains(err.Error(), "a.b.c") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
