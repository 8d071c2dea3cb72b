package apiserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	"k8s.io/utils/clock"
)

// Times of upstream's connections to etcd. (k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go)
const (
	etcdDialTimeout      = 20 * time.Second
	etcdKeepaliveTime    = 30 * time.Second
	etcdKeepaliveTimeout = 10 * time.Second
)

// rawStorages makes storages without a watch cache. Storages of the same etcd share one connection. Upstream's have one
// each, with 7 goroutines and 60 KiB, for each version of each CRD.
type rawStorages struct {
	mu      sync.Mutex
	clients map[string]*etcdClient // by transport
}

// etcdClient is a connection to etcd.
type etcdClient struct {
	*kubernetes.Client
	compactor etcd3.Compactor // nil without compaction
	stop      func()
}

// create returns a storage.
func (r *rawStorages) create(config *storagebackend.ConfigForResource, newObject, newList func() runtime.Object, prefix string) (
	storage.Interface, factory.DestroyFunc, error) {
	etcd := config.Type == storagebackend.StorageTypeUnset || config.Type == storagebackend.StorageTypeETCD3
	if !etcd || config.Transport.EgressLookup != nil {
		return generic.NewRawStorage(config, newObject, newList, prefix)
	}
	c, err := r.client(config.Transport, config.CompactionInterval)
	if err != nil {
		return nil, nil, err
	}
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	decoder := etcd3.NewDefaultDecoder(config.Codec, versioner)
	unsafe := utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	if unsafe {
		transformer = etcd3.WithCorruptObjErrorHandlingTransformer(transformer)
		decoder = etcd3.WithCorruptObjErrorHandlingDecoder(decoder)
	}
	s, err := etcd3.New(c.Client, c.compactor, config.Codec, newObject, newList, config.Prefix, prefix, config.GroupResource,
		transformer, config.LeaseManagerConfig, decoder, versioner)
	if err != nil {
		return nil, nil, err
	}
	var full storage.Interface = s
	if unsafe {
		full = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(s, config.GroupResource)
	}
	open, end := context.WithCancel(background)
	return rawStorage{full, open}, sync.OnceFunc(func() { end(); s.Close() }), nil
}

// rawStorage is a storage whose watches end when it is destroyed, though its connection remains open.
type rawStorage struct {
	storage.Interface
	open context.Context
}

// Watch implements storage.Interface.
func (s rawStorage) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	ctx, end := context.WithCancel(ctx)
	forget := context.AfterFunc(s.open, end)
	context.AfterFunc(ctx, func() { forget() })
	return s.Interface.Watch(ctx, key, o)
}

// client returns the connection of a transport.
func (r *rawStorages) client(t storagebackend.TransportConfig, compaction time.Duration) (*etcdClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprintf("%q", []any{t.ServerList, t.CertFile, t.KeyFile, t.TrustedCAFile})
	if c := r.clients[key]; c != nil {
		return c, nil
	}
	client, err := dialEtcd(t)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", t.ServerList, err)
	}
	client.KV = etcd3.NewETCDLatencyTracker(client.KV)
	c := &etcdClient{Client: client, stop: func() { _ = client.Close() }}
	if compaction > 0 {
		compactor := etcd3.NewCompactor(client.Client, compaction, clock.RealClock{}, nil)
		c.compactor, c.stop = compactor, func() { compactor.Stop(); _ = client.Close() }
	}
	if r.clients == nil {
		r.clients = map[string]*etcdClient{}
	}
	r.clients[key] = c
	return c, nil
}

// close ends the connections, after their storages are destroyed.
func (r *rawStorages) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clients {
		c.stop()
	}
	r.clients = nil
}

func dialEtcd(t storagebackend.TransportConfig) (*kubernetes.Client, error) {
	config := clientv3.Config{
		Endpoints: t.ServerList, Logger: zap.NewNop(), // the storage reports errors of calls
		DialTimeout: etcdDialTimeout, DialKeepAliveTime: etcdKeepaliveTime, DialKeepAliveTimeout: etcdKeepaliveTimeout,
	}
	files := transport.TLSInfo{CertFile: t.CertFile, KeyFile: t.KeyFile, TrustedCAFile: t.TrustedCAFile}
	if t.CertFile != "" || t.KeyFile != "" || t.TrustedCAFile != "" {
		var err error
		if config.TLS, err = files.ClientConfig(); err != nil {
			return nil, err
		}
	}
	if _, none := t.TracerProvider.(noop.TracerProvider); t.TracerProvider != nil && !none {
		config.DialOptions = append(config.DialOptions, grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
			otelgrpc.WithPropagators(tracing.Propagators()), otelgrpc.WithTracerProvider(t.TracerProvider))))
	}
	return kubernetes.New(config)
}
