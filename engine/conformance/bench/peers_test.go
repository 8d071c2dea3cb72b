package bench

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestNamedCases tests that cases which need downloads run only if the pattern names them.
func TestNamedCases(t *testing.T) {
	for pattern, want := range map[string][]string{
		".":              nil,
		"crontab":        nil,
		"^limit/crontab": {"limit/crontab"},
		"cli":            {"cli/files", "cli/one", "cli/list", "cli/invalid"},
		"peers/checks":   {"peers/checks"},
	} {
		var got []string
		for _, c := range cases() {
			if c.named != "" && c.selectedBy(regexp.MustCompile(pattern)) {
				got = append(got, c.name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s selects %v, not %v", pattern, got, want)
		}
	}
}

// TestChecks tests that the objects of peers/checks have the same verdict from upstream and from us, and that they cover
// both verdicts.
func TestChecks(t *testing.T) {
	list, obj, err := loadChecks("../testdata/bench")
	if err != nil {
		t.Fatal(err)
	}
	us, err := newOurs(obj)
	if err != nil {
		t.Fatal(err)
	}
	them, err := newUpstream(obj)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[bool]int{}
	for _, c := range list {
		ours, upstream := c.judge(us, them)
		if (ours == nil) != (upstream == nil) {
			t.Errorf("%s: ours %v, upstream %v", c.Name, ours, upstream)
		}
		verdicts[upstream == nil]++
	}
	if verdicts[true] < 5 || verdicts[false] < 15 {
		t.Errorf("verdicts: %v", verdicts)
	}
}

func TestPeerSelection(t *testing.T) {
	list, err := Options{Peers: []string{"ajv", "jsonschema"}}.selected()
	if err != nil || len(list) != 2 || list[0].name != "jsonschema" || list[1].name != "ajv" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := (Options{Peers: []string{"avj"}}).selected(); err == nil || !strings.Contains(err.Error(), `"avj"`) {
		t.Errorf("an unknown peer: %v", err)
	}
	absent := peer{name: "absent", install: func(directories) error { return errors.New("no route") }}
	err = Options{}.installPeer(directories{}, absent)
	if err == nil || !strings.HasPrefix(err.Error(), "the peer absent cannot be installed") ||
		!strings.HasSuffix(err.Error(), "no route") {
		t.Errorf("a peer that cannot be installed: %v", err)
	}
}

// TestPeerCases runs the cases with the peers in Go, in make conformance only: it builds them.
func TestPeerCases(t *testing.T) {
	if testenv.Volume(1) == 1 {
		t.Skip("make conformance runs this test")
	}
	var out bytes.Buffer
	o := Options{Folder: "../testdata/bench", Rounds: 1, Turn: time.Millisecond, CommandFiles: 20, CommandList: 50,
		Peers: []string{"kubeconform", "jsonschema"}} // compiling kubectl-validate takes minutes
	if err := Run(regexp.MustCompile("^(peers|limit)/crontab|^peers/checks|^cli"), &out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^peers/crontab/upstream  ours [0-9.]+ ms  upstream [0-9.]+ ms  ratio [0-9.]+x`,
		`(?m)^peers/checks  CEL rule: upstream and ours reject it  kubeconform accept  jsonschema accept$`,
		`(?m)^limit/crontab  355 bytes  admit [0-9]+ MB/s  parse [0-9]+ MB/s  simdjson-go [0-9]+ MB/s  copy [0-9]+ MB/s`,
		`(?m)^cli/files  20 files  ours [0-9.]+ ms wall [0-9.]+ ms CPU [0-9]+ MB  GOMAXPROCS=`,
		`(?m)^cli/files/kubeconform  .* ratio wall [0-9.]+x \(bar 2x (met|MISSED)\) CPU [0-9.]+x \(bar 2x`,
		`(?m)^cli/one  one file and its CRD of [0-9]+ bytes  ours .* bar 60 ms CPU (met|MISSED)`,
		`(?m)^cli/invalid  36 invalid examples, rejected by  crdeval 36  kubeconform [0-9]+  GOMAXPROCS=`,
		`(?m)^cli/list  50 objects in [0-9]+ bytes  ours .* µs wall \(bar 15 µs (met|MISSED)\) `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line matches %s:\n%s", want, out.String())
		}
	}
}
