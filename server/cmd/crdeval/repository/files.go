package repository

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FS returns the file system of the operating system. Its paths are those of PathOf.
func FS() fs.FS { return os.DirFS(volume() + string(filepath.Separator)) }

// volume returns the volume of the working directory: "" except on Windows.
func volume() string {
	working, _ := os.Getwd()
	return filepath.VolumeName(working)
}

// PathOf returns the path of a file in FS.
func PathOf(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	absolute = filepath.ToSlash(absolute[len(filepath.VolumeName(absolute)):])
	return cmp.Or(strings.TrimPrefix(absolute, "/"), ".")
}

// NameOf returns the absolute name of a path in FS.
func NameOf(file string) string {
	return volume() + string(filepath.Separator) + filepath.FromSlash(file)
}
