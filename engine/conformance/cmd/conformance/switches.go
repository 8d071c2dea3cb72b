//go:build quirks

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// suitesOf lists the suites in the order to try them: first the one that notices the quirk.
func suitesOf(n quirk.Name) []string {
	switch n {
	case quirk.TransitionRuleSkippedOnCreate, quirk.MessageExpressionPlainOldSelf, quirk.FloatKeysPairedBySixDigits,
		quirk.EqualValuesRatcheted, quirk.LogicalOperatorsNotRatcheted, quirk.MapListItemsPairedByKey,
		quirk.IntegerDiffersFromFloat, quirk.TransitionRulesNotRatcheted, quirk.StatusUpdateChecksStatusSchema,
		quirk.ReplaceAddsMissingMember, quirk.MissingResourceVersionNamesPlural, quirk.StoredWithoutStatusDefaults:
		return []string{"updates"}
	case quirk.NullDefaultIgnored, quirk.PreserveUnknownFieldsRejected, quirk.ListKeyErrorsRepeated,
		quirk.RestrictedRootKeywords, quirk.RestrictedMetadataSchema, quirk.NoRulesInLogicalOperators,
		quirk.NewRulesUseOlderEnvironment, quirk.MultilineRuleNeedsMessage, quirk.PreservedDataInvisible,
		quirk.NoExtraLibraries, quirk.LiteralsCheckedAtCompile, quirk.CostliestRulesNamed, quirk.CRDUpdatesRatcheted,
		quirk.NamingConventions, quirk.RatchetNonStructural, quirk.RatchetUnknownTypes,
		quirk.RatchetUnprunedDefaults, quirk.RatchetGranularSets, quirk.RatchetOptionalListKeys,
		quirk.RatchetMissingSchema, quirk.RatchetReviewVersions, quirk.RatchetCABundle, quirk.RatchetRuleCost,
		quirk.RatchetSelectableFields, quirk.RatchetRuleEnvironment, quirk.RatchetMessageEnvironment,
		quirk.RatchetApproval, quirk.RatchetWarnings, quirk.ImmutableOnceEstablished:
		return []string{"crds", "objects", "updates"}
	}
	return []string{"objects", "updates", "crds"}
}

// switches disables each reproduced quirk in turn. The run must notice each one, or no case tests the quirk.
func switches(f flags, real *generate.Real) error {
	names, err := switchNames("..")
	if err != nil {
		return err
	}
	if f.quirk != "" {
		names = []quirk.Name{quirk.Name(f.quirk)}
	}
	blind := 0
	for _, n := range names {
		quirk.Off(n)
		noticed := false
		for _, suite := range suitesOf(n) {
			o := f.Options
			o.Suite, o.Limit, o.Quick, o.Out, o.Log = suite, 1, true, "", io.Discard
			var first *writes.Disagreement
			o.Noticed = func(d *writes.Disagreement) {
				if first == nil {
					first = d
				}
			}
			r := writes.Run(real, o)[0]
			if r.Disagreements > 0 {
				fmt.Printf("quirk %-36s off: red within %6d cases of %-8s %s\n", n, r.Cases, suite, clip(first))
				noticed = true
				break
			}
		}
		if !noticed {
			fmt.Printf("quirk %-36s off: NOT NOTICED within %d cases\n", n, f.N)
			blind++
		}
	}
	quirk.Reset()
	fmt.Printf("%d switches, %d not noticed\n", len(names), blind)
	if blind > 0 {
		return fmt.Errorf("conformance is blind to %d quirks", blind)
	}
	return nil
}

func clip(d *writes.Disagreement) string {
	text := d.Name + ": " + d.Differences[0]
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return text
}

var asked = regexp.MustCompile(`quirk\.On\(quirk\.(\w+)\)`)

// switchNames finds the quirk names in the engine's sources.
func switchNames(root string) ([]quirk.Name, error) {
	var names []quirk.Name
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range asked.FindAllSubmatch(text, -1) {
			names = append(names, quirk.Name(m[1]))
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}
