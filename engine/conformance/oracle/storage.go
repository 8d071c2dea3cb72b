package oracle

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crdeval/crdeval/engine/conformance/served"
)

// cell is the storage of one request: it contains the one object of the request. It is in the request's context, so
// requests share nothing.
type cell struct {
	// held is the stored object, or nil; revision is its resourceVersion.
	held     []byte
	revision uint64
	// written is what the handlers wrote. deleted means that they removed the object instead.
	written []byte
	deleted bool
	// read is what was written and read back: the response to the client.
	read runtime.Object
}

type cellKey struct{}

func cellOf(ctx context.Context) *cell { return ctx.Value(cellKey{}).(*cell) }

// memory is a storage.Interface for the cell of a request. Codecs and versions are handled as in
// storage/etcd3/store.go. There are no transactions.
type memory struct {
	storage.Interface // methods that no write calls
	codec             runtime.Codec
}

// open is the storage of all CRDs.
func open(o served.Opened) storage.Interface { return memory{codec: o.Codec} }

// Versioner implements storage.Interface.
func (memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// ReadinessCheck implements storage.Interface.
func (memory) ReadinessCheck() error { return nil }

// Create implements storage.Interface.
func (m memory) Create(ctx context.Context, _ string, obj, out runtime.Object, _ uint64) error {
	if version, err := m.Versioner().ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	return m.write(cellOf(ctx), obj, out)
}

// write reproduces the second half of Create and GuaranteedUpdate of etcd3.
func (m memory) write(c *cell, obj, out runtime.Object) error {
	err := m.Versioner().PrepareObjectForStorage(obj)
	if err != nil {
		return err
	}
	if c.written, err = runtime.Encode(m.codec, obj); err != nil {
		return err
	}
	if err := m.decode(c.written, out, c.revision+1); err != nil {
		return err
	}
	c.read = out.DeepCopyObject()
	return nil
}

// decode reproduces the decoder of etcd3.
func (m memory) decode(text []byte, into runtime.Object, revision uint64) error {
	if _, _, err := m.codec.Decode(text, nil, into); err != nil {
		return err
	}
	return m.Versioner().UpdateObject(into, revision)
}

// Get implements storage.Interface.
func (m memory) Get(ctx context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	c := cellOf(ctx)
	if c.held == nil {
		if o.IgnoreNotFound {
			return runtime.SetZeroValue(out)
		}
		return storage.NewKeyNotFoundError(key, 0)
	}
	return m.decode(c.held, out, c.revision)
}

// GuaranteedUpdate implements storage.Interface.
func (m memory) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, _ bool, preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	c := cellOf(ctx)
	if c.held == nil {
		return storage.NewKeyNotFoundError(key, 0)
	}
	held := out.DeepCopyObject()
	if err := m.decode(c.held, held, c.revision); err != nil {
		return err
	}
	if err := preconditions.Check("/registry"+key, held); err != nil {
		return err
	}
	made, _, err := update(held, storage.ResponseMeta{ResourceVersion: c.revision})
	if err != nil {
		return err
	}
	return m.write(c, made, out)
}

// Delete implements storage.Interface.
func (m memory) Delete(ctx context.Context, _ string, out runtime.Object, _ *storage.Preconditions, _ storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	c := cellOf(ctx)
	c.deleted = true
	return m.decode(c.held, out, c.revision)
}
