package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	planted "github.com/crdeval/crdeval/engine/conformance/suites/metamorphic/faults"
)

const (
	// faultFolder has the faults that -faults plants, relative to the conformance module.
	faultFolder = "suites/metamorphic/faults"
	// faultHistories is the number of histories within which each fault must be found.
	faultHistories = 2000
)

// faults builds this command with each planted fault and runs the metamorphic suite. It returns an error unless every
// patch applies and every fault is found.
func faults(f flags) error {
	patches, err := planted.Patches(faultFolder)
	if err != nil {
		return fmt.Errorf("%w: run the command in engine/conformance", err)
	}
	missed := 0
	for _, patch := range patches {
		name := strings.TrimSuffix(filepath.Base(patch), ".patch")
		found, err := findFault(f, patch)
		if err != nil {
			missed++
			found = err.Error()
		}
		fmt.Printf("fault %-28s %s\n", name, found)
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d faults were not found", missed, len(patches))
	}
	return nil
}

// firstHistory matches the number of the first history that disagreed, in the output of the suite.
var firstHistory = regexp.MustCompile(`history (\d+) was the first to disagree`)

// cause matches the part of the answer that differed.
var cause = regexp.MustCompile(`DISAGREEMENT metamorphic, seed \d+, group \d+: (.*)`)

func findFault(f flags, patch string) (found string, err error) {
	dir, err := os.MkdirTemp("", "crdeval-fault-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := planted.Apply(patch, "../..", dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "conformance")
	build := exec.CommandContext(context.Background(), "go", "build", "-overlay", overlay, "-o", binary, mainPackage)
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with %s: %w\n%s", patch, err, text)
	}
	run := exec.CommandContext(context.Background(), binary,
		"-coverage=false", "-quick", "-suite", metamorphicSuite, "-limit", "1",
		"-n", fmt.Sprint(faultHistories), "-seed", fmt.Sprint(f.Seed), "-workers", fmt.Sprint(f.Workers), "-out", "")
	text, runErr := run.CombinedOutput()
	first, how := firstHistory.FindSubmatch(text), cause.FindSubmatch(text)
	switch {
	case first != nil && how != nil:
		return fmt.Sprintf("found in history %4s, at %s", first[1], how[1]), nil
	case runErr == nil:
		return "", fmt.Errorf("NOT FOUND in %d histories", faultHistories)
	}
	return "", fmt.Errorf("%w\n%s", runErr, text)
}
