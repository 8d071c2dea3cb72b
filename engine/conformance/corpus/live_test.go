package corpus

import (
	"os"
	"testing"
)

// TestLoad needs the module proxy or a filled cache. It runs on request only.
func TestLoad(t *testing.T) {
	if os.Getenv("CRDEVAL_CORPUS") == "" {
		t.Skip("set CRDEVAL_CORPUS=1 to fetch the corpus")
	}
	c, err := Load(func(m string) { t.Log(m) })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.CRDs) < 200 || len(c.Samples) < 3000 || len(c.Schemas) < 200 {
		t.Errorf("%d definitions, %d samples, %d schema cases: the corpus has shrunk", len(c.CRDs), len(c.Samples), len(c.Schemas))
	}
	t.Logf("%d definitions, %d samples, %d schema cases, %d suite files", len(c.CRDs), len(c.Samples), len(c.Schemas), len(c.Suites))
}
