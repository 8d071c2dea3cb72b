package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// maxPrinted is the number of differences of a kind that are printed without -all.
const maxPrinted = 10

// print writes the differences of a module.
func (r *result) print(w io.Writer, all bool) {
	_, _ = fmt.Fprintf(w, "%s@%s: exit code %d, %d objects compared\n", r.path, r.version, r.exit, r.compared)
	for _, kind := range slices.Sorted(maps.Keys(r.differences)) {
		list := r.differences[kind]
		_, _ = fmt.Fprintf(w, "  %d: %s\n", len(list), kind)
		for i, text := range list {
			if i == maxPrinted && !all {
				_, _ = fmt.Fprintln(w, "    …")
				break
			}
			_, _ = fmt.Fprintln(w, "    "+strings.ReplaceAll(text, "\n", " "))
		}
	}
	if s := r.summary; s != nil {
		_, _ = fmt.Fprintf(w, "  without a CRD: %s\n  skipped: %s\n", counts(s.WithoutCRD), counts(s.Skipped))
	}
}

// counts formats counts, the largest first.
func counts(of map[string]int) string {
	if len(of) == 0 {
		return "none"
	}
	keys := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%d %s", of[k], k))
	}
	return strings.Join(parts, ", ")
}

// printTable writes a line for each module.
func printTable(w io.Writer, all []*result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := []string{"module", "exit", "seconds", "evaluated", "allowed", "rejected", "ambiguous", "built-in",
		"without CRD", "skipped", "unreadable", "different", ""}
	_, _ = fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, r := range all {
		different := 0
		for kind, list := range r.differences {
			if !slices.Contains(informational, kind) {
				different += len(list)
			}
		}
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f\t%s\t%d\t\n", r.name(), r.exit, r.time.Seconds(), r.classes(), different)
	}
	_ = t.Flush()
}

// classes returns the counts of the summary, separated by tabs. Without a summary, it counts verdicts.
func (r *result) classes() string {
	s := r.summary
	if s == nil {
		var allowed, rejected int
		for _, l := range r.lines {
			if l.allowed() {
				allowed++
			} else if l.Verdict != nil {
				rejected++
			}
		}
		return fmt.Sprintf("%d\t%d\t%d\t?\t?\t?\t?\t?", allowed+rejected, allowed, rejected)
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", s.Evaluated, s.Allowed, s.Rejected, s.Ambiguous, s.BuiltIn,
		sum(s.WithoutCRD), sum(s.Skipped), s.Unreadable)
}

func sum(of map[string]int) (n int) {
	for _, count := range of {
		n += count
	}
	return n
}
