package format

import (
	"testing"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

func TestLookup(t *testing.T) {
	for id := None + 1; int(id) < len(names); id++ {
		if !strfmt.Default.ContainsName(id.String()) {
			t.Errorf("strfmt has no %q", id)
		}
		if got := Lookup(id.String()); got != id {
			t.Errorf("Lookup(%q) = %d, want %d", id, got, id)
		}
	}
	for name, want := range map[string]ID{
		"date-time": DateTime, "datetime": DateTime, "-date--": Date, "k8s-short-name": ShortName, "k8slongname": LongName,
		"": None, "-": None, "Date": None, "int32": None, "hostname_": None,
	} {
		if got := Lookup(name); got != want {
			t.Errorf("Lookup(%q) = %v, want %v", name, got, want)
		}
		if known := strfmt.Default.ContainsName(name); known != (want != None) {
			t.Errorf("strfmt.ContainsName(%q) = %v", name, known)
		}
	}
}

func TestSupported(t *testing.T) {
	for _, c := range []struct {
		name  string
		types []string
		minor int
		want  bool
	}{
		{"", []string{"string"}, 37, false},
		{"date", []string{"string"}, 20, true},
		{"date", nil, 37, true},
		{"date-time", []string{"integer", "string"}, 37, true},
		{"date", []string{"integer"}, 37, false},
		{"date", []string{"object"}, 37, false},
		{"int32", []string{"integer"}, 37, true},
		{"int-32", []string{"integer"}, 37, false},
		{"int32", []string{"number"}, 37, false},
		{"int32", []string{"integer", "string"}, 37, false},
		{"int32", nil, 37, false},
		{"double", []string{"number"}, 37, true},
		{"float", []string{"integer"}, 37, false},
		{"float", []string{"string"}, 37, false},
		{"k8s-short-name", []string{"string"}, 33, false},
		{"k8s-short-name", []string{"string"}, 34, true},
		{"k8s-long-name", []string{"string"}, 33, false},
		{"k8s-long-name", []string{"string"}, 37, true},
		{"semver", []string{"string"}, 37, false},
	} {
		if got := Supported(c.name, c.types, c.minor); got != c.want {
			t.Errorf("Supported(%q, %q, %d) = %v", c.name, c.types, c.minor, got)
		}
	}
}

func TestValidAllocatesNothing(t *testing.T) {
	for id, s := range map[ID]string{
		Byte: "QUJD", Date: "2024-02-03", DateTime: "2024-02-03T04:05:06.789Z", Duration: "1h30m", IPv4: "10.0.0.1",
		IPv6: "fe80::1", CIDR: "10.0.0.0/8", Password: "x", Lookup("uuid"): "a8098c1a-f86e-11da-bd1a-00112444be1e",
	} {
		if n := testing.AllocsPerRun(20, func() {
			if !id.Valid(s) {
				t.Errorf("%s.Valid(%q) = false", id, s)
			}
		}); n != 0 {
			t.Errorf("%s.Valid(%q): %v allocations", id, s, n)
		}
	}
}
