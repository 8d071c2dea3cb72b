// Package download reads CRDs from https:// URLs (download.go) and from clusters (cluster.go). It caches them by
// content.
package download

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/crdeval/crdeval/server/cmd/crdeval/atomicfile"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// Limits of a file, in bytes, and of the time for it.
const (
	maxBytes = 64 << 20
	timeout  = 30 * time.Second
)

// WithoutSecrets returns a URL without its user, password and query, which can have a token. It returns other names as
// they are.
func WithoutSecrets(name string) string {
	if !strings.HasPrefix(name, "https://") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "https://…"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// Reader reads CRDs from https:// URLs and clusters. Its cache is a folder with two kinds of files:
//   - content, with its SHA-256 as the name.
//   - the last response for each URL: its ETag for the next conditional request, and the SHA-256 of its content.
//
// The fragment #sha256=HEX of a URL is the SHA-256 of its content. If the cache has that content, Reader sends no
// request.
type Reader struct {
	Client *http.Client
	Folder string // "" for crdeval/crds below the cache directory of the user

	userAgent      string        // for clusters
	ClusterTimeout time.Duration // for all requests for the CRDs of a cluster
	PageSize       int           // CRDs in a page of a cluster's list
}

// New returns a Reader that identifies itself to clusters as userAgent.
func New(userAgent string) *Reader {
	return &Reader{
		Client: &http.Client{
			Timeout:       timeout,
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: checkRedirect,
		},
		userAgent: userAgent, ClusterTimeout: time.Minute, PageSize: 50, // a CRD can have a megabyte
	}
}

// checkRedirect returns an error for a redirect that is not followed.
func checkRedirect(to *http.Request, via []*http.Request) error {
	to.Header.Del("Referer") // the query of the URL can have a token
	if to.URL.Scheme != "https" {
		return fmt.Errorf("a redirect leads to %s, which is not https", to.URL.Redacted())
	}
	if len(via) >= 10 {
		return errors.New("too many redirects")
	}
	return nil
}

// downloaded is the last response of a URL.
type downloaded struct{ ETag, SHA256 string }

// Read returns the content of a URL, or the CRDs of a cluster.
func (r *Reader) Read(name string, interrupted <-chan struct{}) ([]byte, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-interrupted:
			cancel()
		case <-ctx.Done():
		}
	}()
	folder, err := r.cache()
	if err != nil {
		return nil, err
	}
	if of, found := strings.CutPrefix(name, repository.Cluster); found {
		return r.readCluster(ctx, folder, of)
	}
	address, fragment, _ := strings.Cut(name, "#")
	pin, pinned := strings.CutPrefix(fragment, "sha256=")
	if fragment != "" && (!pinned || len(pin) != 2*sha256.Size) {
		return nil, fmt.Errorf("the fragment #%s is invalid: use #sha256= and %d hexadecimal digits", fragment, 2*sha256.Size)
	}
	pin = strings.ToLower(pin)
	if content := r.content(folder, pin); content != nil {
		return content, nil
	}
	content, err := r.cached(folder, address, false, func(etag string) ([]byte, string, error) {
		return r.get(ctx, address, etag)
	})
	if sum := hash(content); err == nil && pinned && sum != pin {
		return nil, fmt.Errorf("the content has the SHA-256 %s, and the URL has %s: "+
			"the file has changed, or the URL is wrong", sum, pin)
	}
	return content, err
}

// cached returns the content for an address. get returns nil instead of the content if it still has the etag. With
// replace, the content that the address had before is removed.
func (r *Reader) cached(
	folder, address string, replace bool, get func(etag string) ([]byte, string, error),
) ([]byte, error) {
	entry := filepath.Join(folder, "url-"+hash([]byte(address)))
	var last downloaded
	if text, err := os.ReadFile(entry); err == nil {
		_ = json.Unmarshal(text, &last) // a damaged entry is replaced
	}
	cached := r.content(folder, last.SHA256)
	if cached == nil {
		last.ETag = ""
	}
	content, etag, err := get(last.ETag)
	if err != nil {
		return nil, err
	}
	if content == nil {
		content = cached
	}
	sum := hash(content)
	text, err := json.Marshal(downloaded{ETag: cmp.Or(etag, last.ETag), SHA256: sum})
	if err == nil {
		err = errors.Join(atomicfile.Write(filepath.Join(folder, sum), content), atomicfile.Write(entry, text))
	}
	if err == nil && replace && cached != nil && last.SHA256 != sum {
		_ = os.Remove(filepath.Join(folder, last.SHA256)) // another process may have removed it
	}
	return content, err
}

// cache returns the folder of the cache.
func (r *Reader) cache() (string, error) {
	folder := r.Folder
	if folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no directory for the cache of --crds: %w", err)
		}
		folder = filepath.Join(base, "crdeval", "crds")
	}
	return folder, os.MkdirAll(folder, 0o700)
}

// content returns the cached content that has a SHA-256, or nil if it is missing or damaged.
func (r *Reader) content(folder, sum string) []byte {
	if len(sum) != 2*sha256.Size {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(folder, filepath.Base(sum)))
	if err != nil || hash(content) != sum {
		return nil
	}
	return content
}

// get sends a request. The content is nil if the etag has not changed.
func (r *Reader) get(ctx context.Context, address, etag string) (content []byte, newETag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", withoutURL(err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	answer, err := r.Client.Do(request)
	if err != nil {
		return nil, "", withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode == http.StatusNotModified && etag != "":
		return nil, "", nil
	case answer.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("the server answered %s", answer.Status)
	}
	content, err = io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("the file is larger than %d MiB", maxBytes>>20)
	}
	if err == nil && len(content) == 0 {
		err = errors.New("the file is empty")
	}
	return content, answer.Header.Get("ETag"), err
}

// withoutURL returns an error without the URL that it is about. The caller adds the URL without secrets.
func withoutURL(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
