package standalone

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

const (
	etcdTimeout   = time.Minute // until an etcd that starts is ready
	maxSocketPath = 100         // bytes: unix sockets have a limit of about 104
)

// Etcd is an etcd in this process. It listens on a unix socket in its directory, so that only the user who owns the
// directory can reach it.
type Etcd struct {
	etcd *embed.Etcd
	lock *fileutil.LockedFile // of the data directory
	dir  string               // of the sockets, if it is not the data directory
	url  string
}

// StartEtcd starts an etcd with its data in dir, and waits until it is ready. Without sync it does not sync its files,
// which is for tests only.
func StartEtcd(dir string, sync bool) (*Etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("another process uses %s", dir)
	}
	if err != nil {
		return nil, err
	}
	e := &Etcd{lock: lock}
	sockets := dir
	if len(filepath.Join(dir, "client.sock")) > maxSocketPath {
		if e.dir, err = os.MkdirTemp("", "crdeval-etcd"); err != nil {
			e.release()
			return nil, err
		}
		sockets = e.dir
	}
	client, peer := url.URL{Scheme: "unix", Path: filepath.Join(sockets, "client.sock")}, url.URL{Scheme: "unix", Path: filepath.Join(sockets, "peer.sock")}
	e.url = client.String()
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync = filepath.Join(dir, "data"), !sync
	c.LogLevel = "panic" // and why etcd ends the process, for example because the disk is full
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.Name + "=" + peer.String()
	if e.etcd, err = embed.StartEtcd(c); err != nil {
		e.release()
		return nil, fmt.Errorf("start etcd in %s: %w", dir, err)
	}
	select {
	case <-e.etcd.Server.ReadyNotify():
		return e, nil
	case err = <-e.etcd.Err():
	case <-time.After(etcdTimeout):
		err = errors.New("it is not ready after a minute")
	}
	e.Close()
	return nil, fmt.Errorf("start etcd in %s: %w", dir, err)
}

// Transport says how to reach the etcd.
func (e *Etcd) Transport() storagebackend.TransportConfig {
	return storagebackend.TransportConfig{ServerList: []string{e.url}}
}

// Close stops the etcd. Close the API server first.
func (e *Etcd) Close() {
	e.etcd.Close()
	e.release()
}

// release removes the sockets and the lock.
func (e *Etcd) release() {
	if e.dir != "" {
		_ = os.RemoveAll(e.dir) // a directory in the temporary one
	}
	_ = e.lock.Close() // nothing was written to it
}
