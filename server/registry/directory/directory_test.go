package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry"
)

func TestCreateChangeDeleteRename(t *testing.T) {
	t.Parallel()
	start := time.Now()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yml")
	put(t, a, crd("as", "1"))
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1")
	put(t, b, "# two of them\n---\n"+crd("bs", "1")+"---\n"+crd("cs", "1"))
	w.eventually("as:1 bs:1 cs:1")
	put(t, a, crd("as", "2"))
	w.eventually("as:2 bs:1 cs:1")
	put(t, a, crd("as", "3"))
	w.eventually("as:3 bs:1 cs:1")
	handed, _ := w.backend.counts()
	rename(t, a, filepath.Join(dir, "z.yaml"))
	w.until(func() bool { n, _ := w.backend.counts(); return n > handed }, func() string { return "the renamed file was not read" })
	w.stays("as:3 bs:1 cs:1")
	if _, deleted := w.backend.counts(); deleted > 0 {
		t.Error("renaming a file deleted its CRD")
	}
	put(t, b, crd("cs", "2"))
	w.eventually("as:3 cs:2")
	remove(t, b)
	w.eventually("as:3")
	w.logged(1, "level=INFO", "deleted a CRD", "crd=bs.directory.example.com")
	w.figures(1, 0, 1)
	if s := w.Stats(); s.LastSuccess.Before(start) {
		t.Errorf("%+v", s)
	}
	if n := w.log.count("level=ERROR"); n > 0 {
		t.Errorf("%d errors:\n%s", n, w.log)
	}
}

// A broken document is reported with its position, once per change, and the registered CRD stays.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	put(t, path, crd("as", "1")+"---\n"+crd("bs", "1"))
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1 bs:1")

	put(t, path, crd("as", "2")+"---\nmetadata:\n  - a\n b: c\n")
	w.eventually("as:2 bs:1") // the broken document may be bs
	w.logged(1, "level=ERROR", "cannot be read", path+":1")
	w.stays("as:2 bs:1")
	w.logged(1, "level=ERROR")

	put(t, path, crd("as", "3")+"---\n"+rejected("bs"))
	w.eventually("as:3 bs:1")
	w.logged(1, "level=ERROR", "is rejected", "crd=bs.directory.example.com", "file="+path+":27:31", "must be object at the root")
	w.stays("as:3 bs:1")
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil { // it is registered again
		t.Fatal(err)
	}
	w.logged(2, "level=ERROR", "is rejected", "crd=bs.directory.example.com")
	w.figures(0, 1, 2)

	put(t, path, "")
	w.logged(1, "level=ERROR", "the file has no documents")
	w.stays("as:3 bs:1")

	put(t, path, crd("as", "4"))
	w.eventually("as:4")
	w.figures(1, 0, 1)
	w.logged(1, "level=ERROR", "cannot be read", path+":1")
}

func TestOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n"+crd("as", "1"))
	put(t, filepath.Join(dir, "list.json"), `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}},
		{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {}}]}`)
	for _, name := range []string{".hidden.yaml", "README.md", "b.yaml~", ".b.yaml.swp", "#b.yaml#", "yaml"} {
		put(t, filepath.Join(dir, name), crd("bs", "1"))
	}
	if err := os.Mkdir(filepath.Join(dir, "below.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "below.yaml", "c.yaml"), crd("cs", "1"))
	link(t, "loop.yaml", filepath.Join(dir, "loop.yaml"))
	link(t, dir, filepath.Join(dir, "up.yaml"))
	link(t, "nowhere.yaml", filepath.Join(dir, ".#a.yaml")) // as Emacs locks a file
	testenv.Pipe(t, filepath.Join(dir, "pipe.yaml"))
	put(t, filepath.Join(dir, "long.yaml"), crd("ds", strings.Repeat("x", 2<<20)))
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1")
	w.logged(1, "level=DEBUG", "skipped a manifest", "a.yaml:1", "kind=ConfigMap")
	w.logged(1, "level=DEBUG", "skipped a manifest", "list.json:2", "kind=Secret")
	w.logged(1, "level=ERROR", "list.json:3", "no valid metadata.name")
	w.logged(1, "level=ERROR", "loop.yaml", "too many levels of symbolic links")
	w.logged(1, "level=ERROR", "pipe.yaml", "neither a regular file nor a link")
	w.logged(1, "level=ERROR", "long.yaml", "larger than 1048576 bytes")
	w.stays("as:1")
	w.logged(4, "level=ERROR")
	if s := w.Stats(); s.Files != 1 || s.Broken != 4 || !s.LastSuccess.IsZero() {
		t.Errorf("%+v", s)
	}
}

// TestUnusualDocuments: fragments are skipped, unreadable documents are errors at their position, and the rest is loaded.
func TestUnusualDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fragment := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: fs.directory.example.com}\nspec: {conversion: {strategy: None}}\n"
	put(t, filepath.Join(dir, "a.yaml"), fragment+"---\n"+crd("as", "1"))
	put(t, filepath.Join(dir, "b.yaml"), "null\n--- {kind: a}\n---\n"+crd("bs", "1")+"...\nmore: 1\n---\na: [\n")
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1 bs:1")
	w.logged(1, "level=WARN", "skipped a CRD without group, kind or versions", "a.yaml:1", "fs.directory.example.com")
	w.logged(1, "level=ERROR", "b.yaml:2:1", "only a comment may follow the separator")
	w.logged(1, "level=WARN", "a part of a file is ignored", "b.yaml:")
	w.logged(2, "level=ERROR", "b.yaml:")
}

// TestWarnings: the log distinguishes the warnings of API servers from crdeval's notes.
func TestWarnings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), strings.Replace(crd("as", "1"), "{type: object, description",
		"{type: object, properties: {a: {type: string, format: colour, enum: [1]}}, description", 1))
	w := watch(t, newBackend(t), dir)
	const accepted = "API servers accept this CRD with a warning"
	w.logged(1, "level=WARN", accepted, "unrecognized format")
	w.logged(1, "level=WARN", "crdeval has a note about this CRD", "note=", "the value 1 of the enum never matches")
	w.logged(1, accepted)
}

func TestNoCRD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "below", "a.yaml"), crd("as", "1"))
	w := watch(t, newBackend(t), dir)
	w.logged(1, "level=WARN", "the directories contain no CRD", dir)
	put(t, filepath.Join(dir, "a.yaml"), crd("as", "1"))
	w = watch(t, newBackend(t), dir)
	w.logged(0, "level=WARN", "the directories contain no CRD")
}

func TestTheFirstOfTwoFilesCounts(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	a, b, c := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"), filepath.Join(other, "a.yaml")
	put(t, a, crd("as", "a"))
	put(t, b, crd("as", "b")+"---\n"+crd("bs", "b"))
	put(t, c, crd("as", "c"))
	w := watch(t, newBackend(t), dir, other)
	w.eventually("as:a bs:b")
	w.logged(1, "level=ERROR", "two files", "first="+a, "file="+b)
	w.logged(1, "level=ERROR", "two files", "first="+a, "file="+c)
	put(t, b, crd("as", "bb")+"---\n"+crd("bs", "bb"))
	w.eventually("as:a bs:bb")
	w.stays("as:a bs:bb")
	w.figures(1, 2, 2)
	remove(t, a)
	w.eventually("as:bb bs:bb")
	remove(t, b)
	w.eventually("as:c")
	if _, deleted := w.backend.counts(); deleted != 1 {
		t.Errorf("%d deletions, want that of bs alone", deleted)
	}
}

// In a volume of a ConfigMap, files are links through a link to a directory. An update replaces that link.
func TestConfigMapVolume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	publish := func(name string, files map[string]string) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range files {
			put(t, filepath.Join(dir, name, file), content)
		}
		link(t, name, filepath.Join(dir, "..data_tmp"))
		rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
		for file := range files {
			if _, err := os.Lstat(filepath.Join(dir, file)); err != nil {
				link(t, "..data/"+file, filepath.Join(dir, file))
			}
		}
	}
	publish("..1", map[string]string{"a.yaml": crd("as", "1"), "b.yaml": crd("bs", "1")})
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1 bs:1")
	publish("..2", map[string]string{"a.yaml": crd("as", "2"), "c.yaml": crd("cs", "2")})
	remove(t, filepath.Join(dir, "b.yaml"))
	if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
		t.Fatal(err)
	}
	w.eventually("as:2 cs:2")
	w.figures(2, 0, 2)
}

// A failed registration is tried again, and logged once.
func TestFailuresOfTheRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t)
	w := watch(t, b, dir)
	b.breakDown(&registry.Error{Reason: registry.StoreUnavailable, Message: "the disk is full"})
	put(t, filepath.Join(dir, "a.yaml"), crd("as", "1"))
	put(t, filepath.Join(dir, "b.yaml"), crd("bs", "1"))
	w.until(func() bool { n, _ := b.counts(); return n >= 4 }, func() string { return "it is not tried again" })
	w.logged(1, "level=ERROR", "the disk is full")
	w.figures(2, 0, 0)
	b.breakDown(nil)
	w.eventually("as:1 bs:1")
	w.logged(1, "succeeded after a failure")
	b.breakDown(errors.New("somewhere else"))
	remove(t, filepath.Join(dir, "a.yaml"))
	w.logged(1, "level=ERROR", "somewhere else")
	b.breakDown(nil)
	w.eventually("bs:1")
}

// Loading retries while the store fails at the start.
func TestLoadingIsRetried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), crd("as", "1"))
	b := newBackend(t)
	b.breakDown(&registry.Error{Reason: registry.StoreUnavailable, Message: "no"})
	l, err := New(b, Options{Directories: []string{dir}, Catalog: "default", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var loads int
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx, func() { loads++; cancel() })
	}()
	for handed := 0; handed < 2; handed, _ = b.counts() {
		select {
		case <-done:
			t.Fatal("loaded from a registry that fails")
		case <-time.After(time.Millisecond):
		}
	}
	b.breakDown(nil)
	<-done
	if loads != 1 || l.Stats().CRDs != 1 {
		t.Errorf("loaded %d times, %+v", loads, l.Stats())
	}
}

// Changes of other clients stay until the file changes. A CRD that another client changed is not deleted with its file.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	put(t, a, crd("as", "1"))
	put(t, b, crd("bs", "1"))
	w := watch(t, newBackend(t), dir)
	w.eventually("as:1 bs:1")
	for _, manifest := range []string{crd("as", "mine"), crd("os", "mine")} {
		if _, err := w.backend.Register(t.Context(), "default", engine.YAML([]byte(manifest)), registry.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.backend.Registry.Delete(t.Context(), "default", "bs.directory.example.com", registry.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.stays("as:mine os:mine")
	remove(t, a)
	remove(t, b)
	w.logged(1, "level=WARN", "it stays", "crd=as.directory.example.com")
	w.stays("as:mine os:mine")
	put(t, a, crd("as", "2"))
	w.eventually("as:2 os:mine")
}

// If the first file of a CRD is removed, only that CRD is registered from the second file.
func TestSecondFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	put(t, a, crd("as", "a"))
	put(t, b, crd("as", "b")+"---\n"+crd("bs", "b")+"---\nkind: {\n")
	w := watch(t, newBackend(t), dir)
	w.eventually("as:a bs:b")
	w.logged(1, "level=ERROR", "cannot be read", b)
	if _, err := w.backend.Register(t.Context(), "default", engine.YAML([]byte(crd("bs", "other"))), registry.Precondition{}); err != nil {
		t.Fatal(err)
	}
	remove(t, a)
	w.eventually("as:b bs:other")
	w.stays("as:b bs:other")
	w.logged(1, "level=ERROR", "cannot be read", b)
	w.figures(0, 1, 2)
}

// Two processes load one directory into one registry: neither undoes what the other one did.
func TestTwoLoadersOfOneDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := filepath.Join(dir, "a.yaml")
	put(t, a, crd("as", "1"))
	b := newBackend(t)
	first, second := watch(t, b, dir), watch(t, b, dir)
	put(t, a, crd("as", "2"))
	first.eventually("as:2")
	first.stays("as:2")
	for _, w := range []*watched{first, second} { // a late registration would follow the deletion
		w.logged(2, "registered a CRD from a file", "crd=as.directory.example.com")
	}
	if d, err := b.CRD(t.Context(), "default", "as.directory.example.com", "", ""); err != nil || d.Generation != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	remove(t, a)
	first.eventually("")
	second.stays("")
	if n := first.log.count("level=ERROR") + second.log.count("level=ERROR"); n > 0 {
		t.Errorf("errors:\n%s%s", first.log, second.log)
	}
}

// A CRD stays while a file that may have it is being written, and if its file disappears with the directory.
func TestNothingIsDeletedTooEarly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crds")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, z := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "z.yaml")
	put(t, a, crd("as", "1"))
	date := func(path string, age time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	date(a, 24*time.Hour)
	b := newBackend(t)
	quiet := slog.New(slog.DiscardHandler)
	l, err := New(b, Options{Directories: []string{dir}, Catalog: "default", QuietPeriod: time.Hour, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, crds int) {
		t.Helper()
		l.pass(t.Context())
		for _, c := range l.entries {
			c.missing = c.missing.Add(-2 * time.Hour)
		}
		l.pass(t.Context())
		if _, deleted := b.counts(); deleted != 1-crds || l.Stats().CRDs != crds {
			t.Errorf("%s: %d deletions, %+v", what, deleted, l.Stats())
		}
	}
	check("registered", 1)
	rename(t, a, z)
	date(z, 0)
	check("in a file that is being written", 1)
	date(z, 24*time.Hour)
	check("written", 1)
	rename(t, dir, dir+".away")
	if f := l.files[0]; !l.readChanged(t.Context(), f) || !l.reread {
		t.Error("the file of a directory that disappeared after the listing is taken for a removed file")
	}
	check("in a missing directory", 1)
	rename(t, dir+".away", dir)
	remove(t, z)
	check("in a removed file", 0)
}

// Files that change all the time are still read, and so are the others in their directory.
func TestBusyDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := watch(t, newBackend(t), dir)
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		path := filepath.Join(dir, "a.yaml")
		for i := 0; ctx.Err() == nil; i++ {
			err := os.WriteFile(path+".new", fmt.Appendf(nil, "%s# %d\n", crd("as", "1"), i), 0o600)
			if err := errors.Join(err, os.Rename(path+".new", path)); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	defer writer.Wait()
	defer cancel()
	w.eventually("as:1")
	put(t, filepath.Join(dir, "b.yaml"), crd("bs", "1"))
	w.eventually("as:1 bs:1")
}

// A directory that cannot be read is an error of New only.
func TestDirectoriesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, "")
	_, err := New(newBackend(t), Options{Directories: []string{filepath.Join(dir, "missing"), file, dir, dir + "/."}})
	for _, want := range []string{"missing", "no such file", "file cannot be read: it is not a directory", "are the same"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
	crds := filepath.Join(dir, "crds")
	if err := os.Mkdir(crds, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(crds, "a.yaml"), crd("as", "1"))
	w := watch(t, newBackend(t), crds)
	rename(t, crds, crds+".away")
	w.logged(1, "level=ERROR", "a directory of CRDs cannot be read", "no such file")
	w.stays("as:1")
	// As when a volume was unmounted.
	if err := os.Mkdir(crds, 0o700); err != nil {
		t.Fatal(err)
	}
	w.logged(1, "level=ERROR", "another directory, which has no manifests")
	w.stays("as:1")
	put(t, filepath.Join(crds, "b.yaml"), crd("bs", "1"))
	w.eventually("bs:1")
	w.logged(1, "level=INFO", "can be read again")
	// The new directory is watched, not only polled.
	put(t, filepath.Join(crds, "b.yaml"), crd("bs", "2"))
	w.eventually("bs:2")
}

func TestAThousandFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 1000
	for i := range n {
		put(t, filepath.Join(dir, fmt.Sprintf("%04d.yaml", i)), crd(fmt.Sprintf("k%ds", i), "1"))
	}
	w := watch(t, newBackend(t), dir)
	if s := w.Stats(); s.Files != n || s.CRDs != n {
		t.Fatalf("%+v", s)
	}
	handed, _ := w.backend.counts()
	for i := range 10 {
		put(t, filepath.Join(dir, fmt.Sprintf("%04d.yaml", i*100)), crd(fmt.Sprintf("k%ds", i*100), "2"))
	}
	w.until(func() bool { return strings.Count(w.names(), ":2") == 10 }, func() string { return fmt.Sprint(strings.Count(w.names(), ":2")) })
	if again, _ := w.backend.counts(); again-handed > 20 {
		t.Errorf("%d manifests were registered again, of which 10 had changed", again-handed)
	}
	for i := range n {
		remove(t, filepath.Join(dir, fmt.Sprintf("%04d.yaml", i)))
	}
	w.eventually("")
	if _, deleted := w.backend.counts(); deleted != n {
		t.Errorf("%d deletions", deleted)
	}
}

// A notification is enough to read a file again, even if its size and time are as before.
func TestSameSizeAndTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.yaml")
	past := time.Now().Add(-time.Hour)
	write := func(content string, flag int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(content)
		if err := errors.Join(err, f.Close(), os.Chtimes(path, past, past)); err != nil {
			t.Fatal(err)
		}
	}
	write(crd("as", "1"), os.O_CREATE)
	w := watch(t, newBackend(t), filepath.Dir(path))
	w.eventually("as:1")
	put(t, filepath.Join(filepath.Dir(path), "b.yaml"), crd("bs", "1"))
	w.eventually("as:1 bs:1") // now notifications arrive
	for i := 2; i < 10; i++ { // also directly after a pass
		write(crd("as", fmt.Sprint(i)), 0)
		w.eventually(fmt.Sprintf("as:%d bs:1", i))
	}
}
