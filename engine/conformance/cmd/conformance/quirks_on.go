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
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/run"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// suitesOf lists the suites, that first in which quirk n shows.
func suitesOf(n int) []string {
	switch n {
	case 59, 60, 61, 86, 87, 88, 89, 90, 91, 116, 117, 118:
		return []string{"updates"}
	case 46, 47, 51, 53, 54, 57, 62, 70, 73, 80, 81, 85, 92, 99, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115:
		return []string{"crds", "objects", "updates"}
	}
	return []string{"objects", "updates", "crds"}
}

// switches makes the engine forget each reproduced quirk in turn. The run has to notice every time, or no case exercises the quirk.
func switches(f flags, real *generate.Real) error {
	numbers, err := switchNumbers("..")
	if err != nil {
		return err
	}
	if f.quirk > 0 {
		numbers = []int{f.quirk}
	}
	blind := 0
	for _, n := range numbers {
		quirk.Reset()
		quirk.Off(n)
		noticed := false
		for _, suite := range suitesOf(n) {
			o := f.Options
			o.Suite, o.Limit, o.Quick, o.Out, o.Log = suite, 1, true, "", io.Discard
			var first *run.Disagreement
			o.Noticed = func(d *run.Disagreement) {
				if first == nil {
					first = d
				}
			}
			r := run.Run(real, o)[0]
			if r.Disagreements > 0 {
				fmt.Printf("quirk %-3d off: red within %6d cases of %-8s %s\n", n, r.Cases, suite, clip(first))
				noticed = true
				break
			}
		}
		if !noticed {
			fmt.Printf("quirk %-3d off: NOT NOTICED within %d cases\n", n, f.N)
			blind++
		}
	}
	quirk.Reset()
	fmt.Printf("%d switches, %d not noticed\n", len(numbers), blind)
	if blind > 0 {
		return fmt.Errorf("conformance is blind to %d quirks", blind)
	}
	return nil
}

func clip(d *run.Disagreement) string {
	text := d.Name + ": " + d.Differences[0]
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return text
}

var asked = regexp.MustCompile(`quirk\.On\((\d+)\)`)

// switchNumbers finds the numbers that the engine's sources ask for.
func switchNumbers(root string) ([]int, error) {
	var numbers []int
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range asked.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			numbers = append(numbers, n)
		}
		return err
	})
	slices.Sort(numbers)
	return slices.Compact(numbers), err
}
