// Package casefile reads the cases in engine/conformance/testdata/cases: CRDs and objects in a shorthand, with the
// answers of Kubernetes 1.37. The same cases run against the engine, gRPC, REST and the oracle, so all surfaces agree.
//
// To add a case, add a YAML item and let the oracle write its golden answers. README.md in that directory describes the
// format.
package casefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Files are the names of the case files, without extensions.
var Files = []string{"crontab", "subtle", "rules", "rules-types", "rules-messages", "rules-updates", "rules-cost", "crd-updates", "openapi"}

// Written are the Files whose answers the oracle writes: go test ./tests -write, in engine/conformance.
var Written = Files[2:]

// Case is one test case: a CRD, an operation, and upstream's answers.
type Case struct {
	// File is the case file and Name the name of the case in it.
	File, Name string
	// Op is the operation: "" (write objects), registerCRD, convert, table, fields, scale or openapi.
	Op string
	// Register also requests the errors of the CRD, before those of the objects.
	Register bool
	// CRD is the manifest as JSON. If OldCRD is set, registerCRD is an update of it. OldCRD is established and has its
	// storage version as the only stored version. Current validation may reject it.
	CRD    []byte
	OldCRD []byte
	// Objects are the objects as JSON. If OldObject is set, their writes are updates of it.
	Objects   [][]byte
	OldObject []byte
	Request   Request
	// Registration is the answer for Register and registerCRD, or nil. Answers has one answer for each object.
	Registration *Answer
	Answers      []Answer
}

// Request holds the parameters of the operation.
type Request struct {
	Subresource string            `json:"subresource"`
	Strict      bool              `json:"strict"`
	ToVersion   string            `json:"toVersion"`
	Converted   []json.RawMessage `json:"converted"`
}

// shorthand is a case as its file declares it.
type shorthand struct {
	Name       string            `json:"name"`
	Op         string            `json:"op"`
	Register   bool              `json:"register"`
	V          json.RawMessage   `json:"v"`
	Spec       json.RawMessage   `json:"spec"`
	Schema     json.RawMessage   `json:"schema"`
	Ver        map[string]any    `json:"ver"`
	CRDSpec    map[string]any    `json:"crdSpec"`
	OldCRD     *shorthand        `json:"oldCRD"`
	OldCRDSpec map[string]any    `json:"oldCRDSpec"`
	Object     json.RawMessage   `json:"object"`
	Objects    []json.RawMessage `json:"objects"`
	Values     []json.RawMessage `json:"values"`
	Raw        string            `json:"raw"`
	Old        json.RawMessage   `json:"old"`
	OldValue   json.RawMessage   `json:"oldValue"`
	Request    *Request          `json:"request"`
	// ExpectErrors is what the Kubernetes documentation states. The golden answers have more detail.
	ExpectErrors *bool `json:"expectErrors"`
}

// Load reads all cases and their answers from a directory.
func Load(folder string) ([]Case, error) {
	var all []Case
	for _, file := range Files {
		cases, err := load(folder, file)
		if err != nil {
			return nil, fmt.Errorf("case file %s: %w", file, err)
		}
		all = append(all, cases...)
	}
	return all, nil
}

func load(folder, file string) ([]Case, error) {
	cases, err := Questions(folder, file)
	if err != nil {
		return nil, err
	}
	answers, err := loadAnswers(filepath.Join(folder, file+".golden.json"))
	if err != nil {
		return nil, err
	}
	for i := range cases {
		if answers, err = cases[i].take(answers); err != nil {
			return nil, fmt.Errorf("%q: %w", cases[i].Name, err)
		}
	}
	if len(answers) > 0 {
		return nil, fmt.Errorf("%d answers are left over, the first is %q", len(answers), answers[0].ID)
	}
	return cases, nil
}

// Questions reads the cases of one file without their answers. The oracle uses it to write the answers.
func Questions(folder, file string) ([]Case, error) {
	text, err := os.ReadFile(filepath.Join(folder, file+".yaml"))
	if err != nil {
		return nil, err
	}
	var written []shorthand
	if err := yaml.UnmarshalStrict(text, &written); err != nil {
		return nil, err
	}
	cases := make([]Case, len(written))
	for i, w := range written {
		if cases[i], err = w.expand(); err != nil {
			return nil, fmt.Errorf("%q: %w", w.Name, err)
		}
		cases[i].File = file
	}
	return cases, nil
}

var costly = regexp.MustCompile(`budget|limit`)

// Costly reports whether the rules of the case exhaust a cost limit, which takes seconds.
func (c *Case) Costly() bool { return costly.MatchString(c.Name) }
