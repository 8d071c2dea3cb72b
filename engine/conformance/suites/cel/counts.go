package cel

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
)

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements, Unordered, Crashed int
	// Rules were compiled. Rejected of them did not compile. Unclosed of the others have no closure.
	Rules, Rejected, Unclosed int
	// Evaluations counts evaluations of rules. Clean of them had no error. Answered were evaluated by a closure,
	// CleanAnswered of the clean ones.
	Evaluations, Clean, CleanAnswered int
	// Missing counts the reasons for missing closures.
	Missing map[string]int
}

func (n *Counts) compiled(o *ours, u *upstream) {
	for i := range o.rules {
		n.Rules++
		switch {
		case u.compiled[i].Error != nil:
			n.Rejected++
		case o.closures[i] == nil:
			n.Unclosed++
			if n.Missing == nil {
				n.Missing = map[string]int{}
			}
			n.Missing[cmp.Or(o.missing[i], "a blank rule")]++
		}
	}
}

func (n *Counts) evaluated(clean, answered bool) {
	n.Evaluations++
	if clean {
		n.Clean++
		if answered {
			n.CleanAnswered++
		}
	}
}

func (n *Counts) add(m *Counts) {
	n.Cases += m.Cases
	n.Disagreements += m.Disagreements
	n.Unordered += m.Unordered
	n.Crashed += m.Crashed
	n.Rules += m.Rules
	n.Rejected += m.Rejected
	n.Unclosed += m.Unclosed
	n.Evaluations += m.Evaluations
	n.Clean += m.Clean
	n.CleanAnswered += m.CleanAnswered
	for k, v := range m.Missing {
		if n.Missing == nil {
			n.Missing = map[string]int{}
		}
		n.Missing[k] += v
	}
}

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance cel: %d cases, %d disagreements, %d unordered", n.Cases, n.Disagreements, n.Unordered)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %d rules: %d rejected by both sides, %d without a closure; upstream panicked on %d groups\n", n.Rules, n.Rejected, n.Unclosed, n.Crashed)
	fmt.Fprintf(&b, "  %d evaluations, %d without an error, closures answered %.1f%% of these", n.Evaluations, n.Clean, 100*float64(n.CleanAnswered)/float64(max(n.Clean, 1)))
	reasons := sortedKeys(n.Missing)
	sort.SliceStable(reasons, func(i, j int) bool { return n.Missing[reasons[i]] > n.Missing[reasons[j]] })
	for _, r := range reasons[:min(len(reasons), 12)] {
		fmt.Fprintf(&b, "\n    %5d %s", n.Missing[r], r)
	}
	return b.String()
}

// Failed reports whether the run failed: a disagreement, or varying answers of upstream in more than one case of
// twenty. (Iterations over maps are generated often.)
func (n *Counts) Failed() bool { return n.Disagreements > 0 || n.Unordered*20 > n.Cases }
