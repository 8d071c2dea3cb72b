package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

const (
	cliFiles = 2_000  // objects in cli/files
	cliList  = 20_000 // objects in cli/list
	// kubectl-validate takes minutes for 2,000 files. Its time per file is the difference between two sizes.
	cliFew, cliMore = 10, 30
)

// commandCases are the cases of the command line: whole processes that read the files of a user.
var commandCases = []benchCase{
	{"cli/files", 2, none, commandFiles, "cli"},
	{"cli/one", 2, none, commandOne, "cli"},
	{"cli/list", 2, none, commandList, "cli"},
	{"cli/invalid", 2, none, commandInvalid, "cli"},
}

// commandFiles compares runs over many small files of one object each.
func commandFiles(o Options, name string, _ *object) (string, error) {
	return o.commands(func(w *workplace) ([]string, error) {
		err := errors.Join(w.objects("objects", cmp.Or(o.CommandFiles, cliFiles)),
			w.objects("few", cliFew), w.objects("more", cliMore))
		if err != nil {
			return nil, err
		}
		all, err := w.compare(o, map[string][]string{
			"crdeval": {"objects"}, "kubeconform": {"objects"}, "kubectl-validate": {"few", "more"},
		})
		if err != nil {
			return nil, err
		}
		ours := all["crdeval objects"]
		lines := []string{fmt.Sprintf("%s  %d files  ours %s", name, ours.objects, ours)}
		if theirs, ok := all["kubeconform objects"]; ok {
			lines = append(lines, fmt.Sprintf("%s/kubeconform  kubeconform %s  %s", name, theirs, ratios(ours, theirs, 2)))
		}
		if more, ok := all["kubectl-validate more"]; ok {
			next, each := more.marginal(all["kubectl-validate few"]), ours.each()
			lines = append(lines, fmt.Sprintf(
				"%s/kubectl-validate  run of %d files %s  each file beyond %d: %s  ours a file %s  %s",
				name, cliMore, more, cliFew, next.times(), each.times(), ratios(each, next, 300)))
		}
		return lines, nil
	})
}

// commandOne compares runs over one object.
func commandOne(o Options, name string, _ *object) (string, error) {
	return o.commands(func(w *workplace) ([]string, error) {
		if err := w.objects("one", 1); err != nil {
			return nil, err
		}
		all, err := w.compare(o, map[string][]string{
			"crdeval": {"one"}, "kubeconform": {"one"}, "kubectl-validate": {"one"},
		})
		if err != nil {
			return nil, err
		}
		ours := all["crdeval one"]
		lines := []string{fmt.Sprintf("%s  one file and its CRD of %d bytes  ours %s  bar 60 ms CPU %s",
			name, w.crdSize, ours, met(ours.cpu <= 0.060))}
		for _, tool := range []string{"kubeconform", "kubectl-validate"} {
			if theirs, ok := all[tool+" one"]; ok {
				lines = append(lines, fmt.Sprintf("%s/%s  %s %s  %s", name, tool, tool, theirs, ratios(ours, theirs, 0)))
			}
		}
		return lines, nil
	})
}

// commandList compares runs over a List in JSON, as kubectl get -o json prints it. kubectl-validate does not read Lists.
func commandList(o Options, name string, _ *object) (string, error) {
	return o.commands(func(w *workplace) ([]string, error) {
		size, err := w.list("list", cmp.Or(o.CommandList, cliList))
		if err != nil {
			return nil, err
		}
		all, err := w.compare(o, map[string][]string{"crdeval": {"list"}, "kubeconform": {"list"}})
		if err != nil {
			return nil, err
		}
		ours := all["crdeval list"]
		each := ours.each()
		lines := []string{fmt.Sprintf(
			"%s  %d objects in %d bytes  ours %s (bar 100 MB %s)  an object %.1f µs wall (bar 15 µs %s) %.1f µs CPU",
			name, ours.objects, size, ours, met(ours.peak <= 100e6), each.wall*1e6, met(each.wall <= 15e-6), each.cpu*1e6)}
		if theirs, ok := all["kubeconform list"]; ok {
			lines = append(lines, fmt.Sprintf("%s/kubeconform  kubeconform %s  %s", name, theirs, ratios(ours, theirs, 0)))
		}
		return lines, nil
	})
}

// commands builds the tools and runs measure in a temporary directory.
func (o Options) commands(measure func(*workplace) ([]string, error)) (line string, err error) {
	d, err := newDirectories()
	if err != nil {
		return "", err
	}
	if err := o.installPeer(d, peer{name: "measure", install: goPeer(".", "measure", "./measure")}); err != nil {
		return "", err
	}
	var tools []commandTool
	for _, t := range commandTools {
		if t.name != "crdeval" && !o.wants(t.name) {
			continue
		}
		if err := o.installPeer(d, peer{name: t.name, install: t.install}); err != nil {
			return "", err
		}
		tools = append(tools, t)
	}
	folder, err := os.MkdirTemp("", "crdeval-cli-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	w := &workplace{directories: d, folder: folder, tools: tools}
	if err := w.prepare(o.Folder); err != nil {
		return "", err
	}
	lines, err := measure(w)
	for i := range lines {
		lines[i] += fmt.Sprintf("  GOMAXPROCS=%d", runtime.NumCPU())
	}
	return strings.Join(lines, "\n"), err
}
