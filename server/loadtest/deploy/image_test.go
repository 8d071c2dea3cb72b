package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// programs are those whose images make image writes.
var programs = []string{"crdeval", "crdeval-apiserver"}

// imageFile returns the file of a program's image.
func imageFile(program string) string { return "../../../bin/" + program + "-image.tar" }

// nonroot is the user of the image.
const nonroot = 65532

// descriptor, index, manifest and configuration have the fields of OCI that the tests read.
type descriptor struct {
	MediaType, Digest string
	Platform          struct{ OS, Architecture string }
}

type index struct{ Manifests []descriptor }

type manifest struct {
	Config descriptor
	Layers []descriptor
}

type configuration struct {
	OS, Architecture string
	Config           struct {
		User            string
		Env             []string
		Entrypoint, Cmd []string
		Labels          map[string]string
		Healthcheck     struct{ Test []string }
	}
}

// archive has the files of an image by their names.
type archive map[string][]byte

func readTar(t *testing.T, r io.Reader) archive {
	t.Helper()
	files := archive{}
	for tr := tar.NewReader(r); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// decode decodes a blob of a digest into v.
func (a archive) decode(t *testing.T, digest string, v any) {
	t.Helper()
	if err := json.Unmarshal(a.blob(t, digest), v); err != nil {
		t.Fatalf("%s: %v", digest, err)
	}
}

// blob returns the content of a digest, which it checks.
func (a archive) blob(t *testing.T, digest string) []byte {
	t.Helper()
	hash := strings.TrimPrefix(digest, "sha256:")
	content, found := a["blobs/sha256/"+hash]
	if sum := sha256.Sum256(content); !found || hex.EncodeToString(sum[:]) != hash {
		t.Fatalf("the blob %s is missing or has other content", digest)
	}
	return content
}

// imageOf is an image of one platform.
type imageOf struct {
	configuration
	files archive // of the layer
	tar   []byte  // the layer
}

// readImage returns the images by architecture.
func readImage(t *testing.T, program string) map[string]imageOf {
	t.Helper()
	f, err := os.Open(imageFile(program))
	if err != nil {
		t.Fatalf("run make image first: %v", err)
	}
	defer func() { _ = f.Close() }()
	layout := readTar(t, f)
	if got := string(layout["oci-layout"]); !strings.Contains(got, "1.0.0") {
		t.Errorf("oci-layout: %q", got)
	}
	var top, platforms index
	if err := json.Unmarshal(layout["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v, %d manifests", err, len(top.Manifests))
	}
	layout.decode(t, top.Manifests[0].Digest, &platforms)
	images := map[string]imageOf{}
	for _, d := range platforms.Manifests {
		var m manifest
		var image imageOf
		layout.decode(t, d.Digest, &m)
		layout.decode(t, m.Config.Digest, &image.configuration)
		if image.OS != d.Platform.OS || image.Architecture != d.Platform.Architecture || len(m.Layers) != 1 {
			t.Errorf("platform %+v, configuration %+v, %d layers", d.Platform, image.configuration, len(m.Layers))
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(layout.blob(t, m.Layers[0].Digest)))
		if err != nil {
			t.Fatal(err)
		}
		if image.tar, err = io.ReadAll(unzipped); err != nil {
			t.Fatal(err)
		}
		image.files = readTar(t, bytes.NewReader(image.tar))
		images[image.Architecture] = image
	}
	checkDockerManifest(t, layout, program)
	return images
}

// checkDockerManifest checks that the files of manifest.json, which docker load reads, exist.
func checkDockerManifest(t *testing.T, layout archive, program string) {
	t.Helper()
	var entries []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(layout["manifest.json"], &entries); err != nil || len(entries) == 0 {
		t.Fatalf("manifest.json: %v, %d images", err, len(entries))
	}
	if !slices.Equal(entries[0].RepoTags, []string{program + ":devel"}) {
		t.Errorf("the first image is %v", entries[0].RepoTags)
	}
	for _, e := range entries {
		for _, path := range append(e.Layers, e.Config) {
			if _, found := layout[path]; !found {
				t.Errorf("manifest.json names %s, which does not exist", path)
			}
		}
	}
}

func TestImageContents(t *testing.T) {
	testenv.E2E(t)
	for _, program := range programs {
		for architecture, image := range readImage(t, program) {
			t.Run(program+"/"+architecture, func(t *testing.T) { checkContents(t, program, architecture, image) })
		}
	}
}

func checkContents(t *testing.T, program, architecture string, image imageOf) {
	if image.Config.User != "65532:65532" || !strings.Contains(string(image.files["etc/passwd"]), "nonroot:x:65532:65532:") {
		t.Errorf("user %q", image.Config.User)
	}
	for _, label := range []string{"title", "version", "revision", "source", "licenses", "created"} {
		if image.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("no label %s", label)
		}
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(image.files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("no CA certificates")
	}
	info, err := buildinfo.Read(bytes.NewReader(image.files[program]))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range info.Deps {
		if m.Replace != nil { // the main module has the version of the build
			m.Version = image.Config.Labels["org.opencontainers.image.version"]
		}
		want = append(want, m.Path+"@"+m.Version)
	}
	slices.Sort(want)
	sbom := image.files[program+".cdx.json"]
	if got := modulesOf(t, sbom); !slices.Equal(got, want) {
		t.Errorf("the SBOM lists %v, the binary contains %v", got, want)
	}
	beside, err := os.ReadFile(strings.TrimSuffix(imageFile(program), ".tar") + "-" + architecture + ".cdx.json")
	if err != nil || !bytes.Equal(beside, sbom) {
		t.Errorf("the SBOM beside the image differs: %v", err)
	}
}

// modulesOf returns the modules of an SBOM, except for the standard library.
func modulesOf(t *testing.T, sbom []byte) (all []string) {
	t.Helper()
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(sbom, &bom); err != nil || bom.BOMFormat != "CycloneDX" {
		t.Fatalf("SBOM: %v, format %q", err, bom.BOMFormat)
	}
	for _, c := range bom.Components {
		if c.PURL != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("%s %s has the package URL %s", c.Name, c.Version, c.PURL)
		}
		if c.Name != "std" {
			all = append(all, c.Name+"@"+c.Version)
		}
	}
	slices.Sort(all)
	return all
}

// TestImageRuns starts the entrypoint in the root file system of the image, as the user of the image if the test is
// root. Only the addresses differ: other processes of the host could use the ports.
func TestImageRuns(t *testing.T) {
	testenv.E2E(t)
	image, root, inside, command := unpack(t, "crdeval")
	inContainer := func(arguments ...string) *exec.Cmd {
		return command([]string{"CRDEVAL_DATA_DIR=" + inside + "/data", "CRDEVAL_GRPC_ADDRESS=unix://" + inside + "/data/grpc",
			"CRDEVAL_HTTP_ADDRESS=unix://" + inside + "/data/http"}, arguments...)
	}
	var log bytes.Buffer
	server := inContainer(image.Config.Cmd...)
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	probe := image.Config.Healthcheck.Test
	if probe[0] != "CMD" || probe[1] != image.Config.Entrypoint[0] {
		t.Fatalf("health check %v", probe)
	}
	out, err := inContainer(append(probe[2:], "--timeout=60s")...).CombinedOutput()
	if err != nil {
		t.Errorf("health check: %v\n%s", err, out)
	}
	if err := errors.Join(server.Process.Signal(syscall.SIGTERM), server.Wait()); err != nil {
		t.Errorf("%v\n%s", err, &log)
	}
	if _, err := os.Stat(filepath.Join(root, "data", "registry.db")); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(log.String(), "{") {
		t.Errorf("the log is not JSON: %s", &log)
	}
}

// TestAPIServerImageRuns starts the custom API server in the same way.
func TestAPIServerImageRuns(t *testing.T) {
	testenv.E2E(t)
	image, root, inside, command := unpack(t, "crdeval-apiserver")
	environment := []string{"CRDEVAL_APISERVER_DATA_DIR=" + inside + "/data/apiserver", "CRDEVAL_APISERVER_ADDRESS=127.0.0.1:0"}
	server := command(environment, image.Config.Cmd...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	server.Stderr = log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for begin := time.Now(); !bytes.Contains(text, []byte("the API server is ready")); time.Sleep(50 * time.Millisecond) {
		if text, err = os.ReadFile(log.Name()); err != nil || time.Since(begin) > time.Minute {
			t.Errorf("the API server does not start: %v\n%s", err, text)
			break
		}
	}
	if err := errors.Join(server.Process.Signal(syscall.SIGTERM), server.Wait()); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(root, "data", "apiserver", "kubeconfig")); err != nil {
		t.Error(err)
	}
}

// unpack extracts the image of a program for this platform. command returns a command that runs in its root file
// system, which has the path inside there.
func unpack(t *testing.T, program string) (
	image imageOf, root, inside string, command func(environment []string, arguments ...string) *exec.Cmd) {
	t.Helper()
	image, found := readImage(t, program)[runtime.GOARCH]
	if !found || runtime.GOOS != "linux" {
		t.Fatalf("no image for %s/%s: run make image PLATFORMS=%[2]s", runtime.GOOS, runtime.GOARCH)
	}
	root, err := os.MkdirTemp("", "crdeval") // a short path, for the sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	image.extract(t, root)
	attributes := &syscall.SysProcAttr{}
	inside = root
	if os.Getuid() == 0 {
		inside = ""
		attributes.Chroot, attributes.Credential = root, &syscall.Credential{Uid: nonroot, Gid: nonroot}
	}
	return image, root, inside, func(environment []string, arguments ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), inside+image.Config.Entrypoint[0], arguments...)
		c.Dir = "/"
		c.SysProcAttr = attributes
		c.Env = append(slices.Clone(image.Config.Env), environment...)
		return c
	}
}

// extract writes the layer to a directory. Only root can set the owners.
func (i imageOf) extract(t *testing.T, root string) {
	t.Helper()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(bytes.NewReader(i.tar)); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		path := filepath.Join(root, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, header.FileInfo().Mode().Perm())
		} else {
			err = os.WriteFile(path, i.files[header.Name], header.FileInfo().Mode().Perm())
		}
		if os.Getuid() == 0 {
			err = errors.Join(err, os.Chown(path, header.Uid, header.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
