package corpus

import (
	"os"
	"path/filepath"
)

// Texts calls f for each YAML file of the modules with CRDs or objects, until f returns an error.
func Texts(f func(path string, text []byte) error) error {
	for _, m := range modules {
		dir, err := fetch(m)
		if err != nil {
			return err
		}
		files, err := find(dir, append(append([]string{}, m.crds...), m.samples...))
		if err != nil {
			return err
		}
		for _, file := range files {
			if ext := filepath.Ext(file.path); ext != ".yaml" && ext != ".yml" {
				continue
			}
			path := filepath.Join(dir, file.path)
			text, err := os.ReadFile(path)
			if err == nil {
				err = f(path, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
