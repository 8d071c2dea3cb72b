package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user and the group of the server, as in distroless images.
const nonroot = 65532

// rootFileSystem returns the only layer. It contains no shell and no libraries.
func rootFileSystem(program string, binary, bom []byte, created time.Time) (v1.Layer, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	err := errors.Join(
		add(w, program, binary, 0o755, 0, created),
		add(w, program+".cdx.json", bom, 0o644, 0, created), // scanners of images look for *.cdx.json
		add(w, "data/", nil, 0o755, nonroot, created),
		add(w, "etc/", nil, 0o755, 0, created),
		add(w, "etc/group", []byte("root:x:0:\nnonroot:x:65532:\n"), 0o644, 0, created),
		add(w, "etc/passwd", []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n"), 0o644, 0, created),
		add(w, "etc/ssl/", nil, 0o755, 0, created),
		add(w, "etc/ssl/certs/", nil, 0o755, 0, created),
		add(w, "etc/ssl/certs/ca-certificates.crt", rootCertificates(), 0o644, 0, created),
		add(w, "tmp/", nil, 0o1777, 0, created),
		w.Close(),
	)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// rootCertificates returns Mozilla's list without the certificates that it trusts only in part, which PEM cannot express.
func rootCertificates() []byte {
	var all []byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return all
}

// add adds a file, or a directory if the name ends in a slash.
func add(w *tar.Writer, path string, content []byte, mode int64, owner int, modified time.Time) error {
	header := &tar.Header{
		Name: path, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(content)), ModTime: modified, Typeflag: tar.TypeReg,
		Format: tar.FormatPAX,
	}
	if strings.HasSuffix(path, "/") {
		header.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
