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
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"
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

// etcdBackoff bounds the time between two attempts to connect. gRPC's default is two minutes, in which the objects of all
// CRDs would be unavailable.
const etcdBackoff = 3 * time.Second

// rawStorages makes storages without a watch cache. Storages of the same etcd share one connection. Upstream's have one
// each, with 7 goroutines and 60 KiB, for each version of each CRD.
type rawStorages struct {
	mu      sync.Mutex
	clients map[string]*etcdClient // by transport
}

// etcdClient is a connection to etcd.
type etcdClient struct {
	*kubernetes.Client
	compactor interface { // nil without compaction
		etcd3.Compactor
		Stop()
	}
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
	return rawStorage{full, config.GroupResource.String(), open}, sync.OnceFunc(func() { end(); s.Close() }), nil
}

// rawStorage is a storage whose watches end when it is destroyed, though its connection remains open.
type rawStorage struct {
	storage.Interface
	resource string
	open     context.Context
}

// Watch implements storage.Interface. The client of etcd sends watches with equal metadata on one stream, where events
// wait for all earlier ones. So each resource has its own metadata.
func (s rawStorage) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	ctx, end := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "crdeval-resource", s.resource))
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
	c := &etcdClient{Client: client}
	if compaction > 0 { // upstream's compactor of the CRDs may be for another etcd; two of one etcd take turns
		c.compactor = etcd3.NewCompactor(client.Client, compaction, clock.RealClock{}, nil)
	}
	if r.clients == nil {
		r.clients = map[string]*etcdClient{}
	}
	r.clients[key] = c
	return c, nil
}

// close ends the connections, and so the watches of storages that are not destroyed yet.
func (r *rawStorages) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clients {
		if c.compactor != nil {
			c.compactor.Stop()
		}
		_ = c.Close()
	}
	r.clients = nil
}

func dialEtcd(t storagebackend.TransportConfig) (*kubernetes.Client, error) {
	wait := backoff.DefaultConfig
	wait.MaxDelay = etcdBackoff
	config := clientv3.Config{
		Endpoints: t.ServerList, Logger: zap.NewNop(), // gRPC logs failed connections
		DialKeepAliveTime: etcdKeepaliveTime, DialKeepAliveTimeout: etcdKeepaliveTimeout,
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: wait, MinConnectTimeout: etcdDialTimeout}),
			grpc.WithStatsHandler(otelgrpc.NewClientHandler(
				otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
				otelgrpc.WithPropagators(tracing.Propagators()), otelgrpc.WithTracerProvider(t.TracerProvider))),
		},
	}
	if t.CertFile != "" || t.KeyFile != "" || t.TrustedCAFile != "" {
		files := transport.TLSInfo{CertFile: t.CertFile, KeyFile: t.KeyFile, TrustedCAFile: t.TrustedCAFile}
		var err error
		if config.TLS, err = files.ClientConfig(); err != nil {
			return nil, err
		}
	}
	return kubernetes.New(config)
}
