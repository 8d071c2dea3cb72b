package corpus

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// CRD is a real CRD.
type CRD struct {
	// Module and Path are its source.
	Module, Path string
	// Name, Group and Kind are those of the CRD. Versions are its version names.
	Name, Group, Kind string
	Versions          []string
	// Doc is the manifest as JSON.
	Doc []byte
}

// Promises are what the directory or suite of a sample states about the admission of an object, including rules.
const (
	Valid   = "valid"
	Invalid = "invalid"
)

// Sample is a real object of a CRD in the corpus.
type Sample struct {
	Module, Path string
	// CRDs are the indexes of the CRDs that serve the object's version.
	CRDs []int
	// Version is the version in the object's apiVersion.
	Version string
	// Promise is Valid, Invalid or empty.
	Promise string
	// Doc is the object as JSON.
	Doc []byte
}

// SchemaCase is a case of the JSON Schema suite.
type SchemaCase struct {
	Path, Name   string
	Schema, Data []byte
}

// Corpus is all that was read from the modules.
type Corpus struct {
	CRDs    []CRD
	Samples []Sample
	Schemas []SchemaCase
	Suites  []SuiteFile
	// Ratcheting contains the objects of upstream's own ratcheting test, with their promises.
	Ratcheting []Object
}

// Object is an object in a directory that promises its outcome.
type Object struct {
	Path, Promise string
	Doc           []byte
}

// SuiteFile is a complete file of a declarative suite, for suites that need rules and updates.
type SuiteFile struct {
	Module, Path, Format string
	Data                 []byte
}

// Load reads the corpus from the user's cache directory, or downloads its modules and fills the cache. progress, if not
// nil, is called for each downloaded module.
func Load(progress func(string)) (*Corpus, error) {
	file, err := cacheFile()
	if err != nil {
		return nil, err
	}
	if f, err := os.Open(file); err == nil {
		defer func() { _ = f.Close() }()
		c := &Corpus{}
		if err := gob.NewDecoder(f).Decode(c); err == nil {
			return c, nil
		}
	}
	c, err := read(progress)
	if err != nil {
		return nil, err
	}
	return c, store(c, file)
}

// format is the version of the cached file's layout: change it when the layout or content changes.
const format = "4"

func cacheFile() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("corpus: no cache directory: %w", err)
	}
	h := sha256.New()
	fmt.Fprint(h, format, modules)
	return filepath.Join(base, "crdeval", "corpus-"+hex.EncodeToString(h.Sum(nil))[:16]+".gob"), nil
}

func store(c *Corpus, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "corpus-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // on success it was renamed before
	if err := gob.NewEncoder(f).Encode(c); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func read(progress func(string)) (*Corpus, error) {
	c := &Corpus{}
	dirs := make([]string, len(modules))
	for i, m := range modules {
		if progress != nil {
			progress(m.path + "@" + m.version)
		}
		dir, err := fetch(m)
		if err != nil {
			return nil, err
		}
		dirs[i] = dir
		if err := c.readCRDs(m, dir); err != nil {
			return nil, err
		}
	}
	x := newIndex(c.CRDs)
	for i, m := range modules {
		if err := c.readSamples(m, dirs[i], x); err != nil {
			return nil, err
		}
		if err := c.readSuites(m, dirs[i], x); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(c.Samples, func(i, j int) bool { return c.Samples[i].Module < c.Samples[j].Module })
	return c, nil
}
