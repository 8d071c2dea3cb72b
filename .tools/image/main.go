// Command image writes the container image of a program without a container engine: an OCI layout in a tar file, with
// one image for each binary. `docker load` reads the file too. The same binaries and flags give the same bytes.
// program.go lists the programs.
//
// It also writes the SBOM of each binary beside the image, in the CycloneDX format.
package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	version := flag.String("version", "devel", "version of crdeval")
	commit := flag.String("commit", "", "commit of crdeval")
	created := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	output := flag.String("output", "crdeval-image.tar", "file to write")
	sbom := flag.String("sbom", "", "write only the SBOM of the binary to this file")
	flag.Parse()
	b := builder{version: *version, commit: *commit, created: time.Unix(*created, 0).UTC()}
	write := func() error { return b.write(*output, flag.Args()) }
	if *sbom != "" {
		write = func() error { return writeSBOM(flag.Arg(0), *version, *sbom) }
	}
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type builder struct {
	program
	version, commit string
	created         time.Time
}

// write writes the image of the binaries, and their SBOMs.
func (b builder) write(output string, binaries []string) error {
	if len(binaries) == 0 {
		return errors.New("no binary given")
	}
	var known bool
	if b.program, known = programs[filepath.Base(binaries[0])]; !known {
		return fmt.Errorf("%s: unknown program", binaries[0])
	}
	index := mutate.IndexMediaType(mutate.Annotations(empty.Index, b.labels()).(v1.ImageIndex), types.OCIImageIndex)
	single := map[name.Reference]v1.Image{} // for docker load without multi-platform images
	for _, binary := range binaries {
		content, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
		platform := platformOf(info)
		bom, err := billOfMaterials(info, b.version)
		if err != nil {
			return err
		}
		beside := fmt.Sprintf("%s-%s.cdx.json", strings.TrimSuffix(output, ".tar"), platform.Architecture)
		if err := os.WriteFile(beside, bom, 0o644); err != nil {
			return err
		}
		image, err := b.image(platform, content, bom)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		reference := b.name + ":devel"
		if len(single) > 0 {
			reference += "-" + platform.Architecture
		}
		tag, err := name.NewTag(reference)
		if err != nil {
			return err
		}
		single[tag] = image
	}
	return b.archive(output, index, single)
}

// writeSBOM writes the SBOM of a binary.
func writeSBOM(binary, version, output string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	bom, err := billOfMaterials(info, version)
	if err != nil {
		return err
	}
	return os.WriteFile(output, bom, 0o644)
}

func platformOf(info *debug.BuildInfo) (p v1.Platform) {
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			p.OS = s.Value
		case "GOARCH":
			p.Architecture = s.Value
		}
	}
	return p
}

func (b builder) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       b.name,
		"org.opencontainers.image.description": b.description,
		"org.opencontainers.image.source":      "https://github.com/crdeval/crdeval",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     b.version,
		"org.opencontainers.image.revision":    b.commit,
		"org.opencontainers.image.created":     b.created.Format(time.RFC3339),
	}
}

// image returns the image of one platform.
func (b builder) image(platform v1.Platform, binary, bom []byte) (v1.Image, error) {
	layer, err := rootFileSystem(b.name, binary, bom, b.created)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return builtFrom(base, layer, &v1.ConfigFile{
		Architecture: platform.Architecture, OS: platform.OS, Created: v1.Time{Time: b.created},
		Config: v1.Config{
			Entrypoint: []string{"/" + b.name},
			Cmd:        []string{"serve"},
			User:       fmt.Sprintf("%d:%d", nonroot, nonroot),
			WorkingDir: "/",
			// Inside a container, localhost is not reachable from outside: listen on all interfaces.
			Env:          append([]string{"PATH=/"}, b.environment...),
			ExposedPorts: b.ports,
			Volumes:      map[string]struct{}{"/data": {}},
			Labels:       b.labels(),
			Healthcheck:  b.health,
		},
	})
}

func builtFrom(base v1.Image, layer v1.Layer, config *v1.ConfigFile) (v1.Image, error) {
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, History: v1.History{Created: config.Created, CreatedBy: "make image"},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History = file.RootFS, file.History
	return mutate.ConfigFile(image, config)
}

// archive writes an OCI layout with one index, and the manifest.json of docker load.
func (b builder) archive(output string, index v1.ImageIndex, single map[name.Reference]v1.Image) error {
	directory, err := os.MkdirTemp("", "crdeval-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return err
	}
	annotations := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": "devel", "io.containerd.image.name": "docker.io/library/" + b.name + ":devel",
	})
	if err := path.AppendIndex(index, annotations); err != nil {
		return err
	}
	if err := writeDockerManifest(directory, single); err != nil {
		return err
	}
	return b.pack(output, directory)
}

// writeDockerManifest writes the list of images that versions of docker load without support for OCI layouts read.
func writeDockerManifest(directory string, images map[name.Reference]v1.Image) error {
	manifest, err := tarball.ComputeManifest(images)
	if err != nil {
		return err
	}
	for i, image := range manifest { // its paths are those of `docker save`
		manifest[i].Config = blob(image.Config)
		for j, layer := range image.Layers {
			manifest[i].Layers[j] = blob("sha256:" + strings.TrimSuffix(layer, ".tar.gz"))
		}
	}
	content, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "manifest.json"), content, 0o644)
}

// blob returns the path of a digest in an OCI layout.
func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// pack writes the files of a directory to a tar file, in the order of their names.
func (b builder) pack(output, directory string) error {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	files := os.DirFS(directory)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if entry.IsDir() {
			return add(w, path+"/", nil, 0o755, 0, b.created)
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return add(w, path, data, 0o644, 0, b.created)
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(output, content.Bytes(), 0o644)
}
