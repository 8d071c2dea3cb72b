package playground

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/server/editor/playground/page"
)

// dist has the built page, or only a placeholder.
//
//go:embed all:web/dist
var dist embed.FS

const folder, index = "web/dist", "index.html"

// file is a file of the page.
type file struct {
	kind          string
	plain, packed []byte // packed is gzip
	etag          string
}

// kinds are the media types of the files, by their extension. They do not depend on the host.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".txt": "text/plain; charset=utf-8", ".png": "image/png",
}

// readFiles returns the files of the page and the gallery, by name.
func readFiles(from fs.FS) (map[string]*file, error) {
	files := map[string]*file{}
	entries, err := fs.ReadDir(from, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		kind, ok := kinds[path.Ext(e.Name())]
		if e.IsDir() || !ok {
			continue
		}
		text, err := fs.ReadFile(from, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = newFile(kind, text)
	}
	if files[index] == nil {
		return nil, ErrNotBuilt
	}
	examples, err := encode(page.Examples())
	if err != nil {
		return nil, err
	}
	files["examples"] = newFile(kinds[".json"], examples)
	return files, nil
}

func newFile(kind string, text []byte) *file {
	sum := sha256.Sum256(text)
	f := &file{kind: kind, plain: text, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level has no error
	_, _ = w.Write(text)                                       // a bytes.Buffer has no errors
	_ = w.Close()
	if packed.Len() < len(text) {
		f.packed = packed.Bytes()
	}
	return f
}

// policy is the Content-Security-Policy of the page. The page loads nothing from other hosts and has no inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler for GET and HEAD.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // revalidate with the ETag
	h.Set("ETag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	text := f.plain
	if f.packed != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = f.packed
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}

// secure sets the headers that restrict what the page can do, and who can use it.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// matches reports whether an If-None-Match header has an ETag.
func matches(header, etag string) bool {
	for _, one := range strings.Split(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == etag || one == "*" {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding header accepts gzip.
func acceptsGzip(header string) bool {
	for _, one := range strings.Split(header, ",") {
		name, weight, _ := strings.Cut(one, ";")
		weight = strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		if strings.EqualFold(strings.TrimSpace(name), "gzip") && (weight == "" || err == nil && q > 0) {
			return true
		}
	}
	return false
}
