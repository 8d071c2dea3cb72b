package corpus

import (
	"fmt"
	"path/filepath"
)

// Directory downloads one module of the corpus and returns the directory of its files.
func Directory(modulePath string) (string, error) {
	for _, m := range modules {
		if m.path == modulePath {
			return fetch(m)
		}
	}
	return "", fmt.Errorf("corpus: no module %s", modulePath)
}

// Definition downloads one module of the corpus and returns the first CRD in one of its files, as JSON.
func Definition(modulePath, file string) ([]byte, error) {
	dir, err := Directory(modulePath)
	if err != nil {
		return nil, err
	}
	docs := documents(filepath.Join(dir, file))
	if len(docs) == 0 {
		return nil, fmt.Errorf("corpus: no document in %s of %s", file, modulePath)
	}
	return docs[0], nil
}

// Documents downloads a module that need not be in the corpus, and returns the documents of one of its files as JSON.
func Documents(modulePath, version, file string) ([][]byte, error) {
	dir, err := fetch(module{path: modulePath, version: version})
	if err != nil {
		return nil, err
	}
	return documents(filepath.Join(dir, file)), nil
}
