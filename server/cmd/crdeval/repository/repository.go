// Package repository recognises files of a repository that are not manifests, such as Helm templates and
// kustomizations, and returns the paths of files relative to the root of the repository.
package repository

import (
	"os"
	"path/filepath"
	"strings"
)

// Root returns the directory with .git that contains the working directory, or else the working directory.
func Root() string {
	working, err := os.Getwd()
	if err != nil {
		return "."
	}
	return RootOf(working)
}

// RootOf returns the directory with .git that contains a directory, or else the directory. working is absolute.
func RootOf(working string) string {
	for dir := working; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return working
		}
	}
}

// Cluster begins the name of the CRDs of a cluster. The context of the kubeconfig file follows.
const Cluster = "kube://"

// IsURL reports whether a name is not that of a file, but an https:// URL or a cluster.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, Cluster)
}

// Relative returns the path of a file relative to root, with slashes. For a file outside it returns the absolute path.
// A URL stays as it is. Stdin is "stdin".
func Relative(root, file string) string {
	if file == "-" {
		return "stdin"
	}
	if IsURL(file) {
		return file
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	relative, err := filepath.Rel(root, path)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(relative)
}
