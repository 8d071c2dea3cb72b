package metamorphic

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
	"github.com/crdeval/crdeval/server/registry/etcd"
)

// disk has the stores of a run of the suite. The files are in memory where the system has such a directory, because
// bbolt waits for the disk at each commit.
type disk struct {
	dir  string
	next atomic.Int64

	start sync.Once
	etcd  *embed.Etcd
	err   error
}

func newDisk() (*disk, error) {
	base := "/dev/shm"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "crdeval-metamorphic-")
	return &disk{dir: dir}, err
}

func (d *disk) close() {
	if d.etcd != nil {
		d.etcd.Close()
	}
	_ = os.RemoveAll(d.dir)
}

// newName returns a new name in the directory.
func (d *disk) newName() string { return filepath.Join(d.dir, fmt.Sprint(d.next.Add(1))) }

// contents is the place of the data of one store, which can be opened again.
type contents struct {
	open   func(context.Context) (registry.Store, error)
	remove func()
}

// create returns an empty place for a store of a kind.
func (d *disk) create(kind string) (contents, error) {
	switch kind {
	case "":
		kept := registry.NewMemoryStore()
		return contents{func(context.Context) (registry.Store, error) { return kept, nil }, func() { _ = kept.Close() }}, nil
	case storeBolt:
		dir := d.newName()
		return contents{
			func(context.Context) (registry.Store, error) { return bolt.Open(dir) },
			func() { _ = os.RemoveAll(dir) },
		}, nil
	case storeEtcd:
		endpoint, err := d.endpoint()
		o := etcd.Options{Endpoints: []string{endpoint}, Prefix: d.newName() + "/", Log: slog.New(slog.DiscardHandler)}
		return contents{func(ctx context.Context) (registry.Store, error) { return etcd.Open(ctx, o) }, func() {}}, err
	}
	return contents{}, fmt.Errorf("no store %q", kind)
}

// endpoint starts etcd on the first call.
func (d *disk) endpoint() (string, error) {
	client := url.URL{Scheme: "unix", Path: filepath.Join(d.dir, "client.sock")}
	d.start.Do(func() {
		peer := url.URL{Scheme: "unix", Path: filepath.Join(d.dir, "peer.sock")}
		c := embed.NewConfig()
		c.Dir, c.UnsafeNoFsync, c.LogLevel = filepath.Join(d.dir, "etcd"), true, "panic"
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		c.InitialCluster = c.Name + "=" + peer.String()
		if d.etcd, d.err = embed.StartEtcd(c); d.err != nil {
			return
		}
		select {
		case <-d.etcd.Server.ReadyNotify():
		case d.err = <-d.etcd.Err():
		case <-time.After(time.Minute):
			d.err = fmt.Errorf("etcd is not ready after a minute")
		}
	})
	return client.String(), d.err
}
