package casefile

import "testing"

func TestLoad(t *testing.T) {
	cases, err := Load("../../conformance/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 230 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		if c.Op == "registerCRD" && (len(c.Answers) != 0 || c.Registration == nil) {
			t.Errorf("%s: %q has %d answers and registration %v", c.File, c.Name, len(c.Answers), c.Registration)
		}
		if c.Op == "" && len(c.Answers) != len(c.Objects) {
			t.Errorf("%s: %q has %d answers to %d objects", c.File, c.Name, len(c.Answers), len(c.Objects))
		}
	}
}
