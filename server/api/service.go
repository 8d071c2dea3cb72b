package api

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Options are what the handlers are made of.
type Options struct {
	// Registry has the CRDs. Required.
	Registry Registry
	// Limits are checked and published. Documents must be those that the registry compiles with.
	Limits Limits
	// Version and Commit are what GetServerInfo says of the server. Default: "devel" and nothing.
	Version, Commit string
	// Draining, once closed, ends the watches and refuses new ones: they would hold up a server that waits for the calls in flight. Nil: never.
	Draining <-chan struct{}
	// ItemFailed is told of each item of an evaluation that is answered with an error, by its reason: most of them never reach the engine and its
	// Observer. Nil: nobody is told.
	ItemFailed func(reason string)
	// Refused is told of each call that is answered with OVERLOADED, streams included that end with it, unless the server shuts down. Nil: nobody is told.
	Refused func()
	// UnderPressure says that memory is short: streams wait then, since what they hold was not refused when their call came in. Nil: nobody looks.
	UnderPressure func() bool
	// StillTime is for how long nothing has to have moved on a stream before another may take its place, where there is no free one. Default: a minute.
	StillTime time.Duration
	// Log gets the errors that are faults. Default: slog.Default().
	Log *slog.Logger
}

// Register makes the services of the API answer at r, a gRPC server.
func Register(r grpc.ServiceRegistrar, o Options) {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	f := faults{log: o.Log, item: o.ItemFailed, refused: o.Refused}
	crdevalv1.RegisterRegistryServiceServer(r, &registryService{
		registry: o.Registry, limits: o.Limits, faults: f, watches: newWatches(o.Limits.MaxWatches, o.Draining),
	})
	crdevalv1.RegisterEvaluationServiceServer(r, &evaluationService{
		registry: o.Registry, limits: o.Limits, faults: f, streams: newStreams(o),
	})
	crdevalv1.RegisterPresentationServiceServer(r, &presentationService{
		registry: o.Registry, limits: o.Limits, faults: f, etags: newETags(), room: &documentRoom{max: documentMessages * int64(o.Limits.MaxMessageBytes)},
	})
	crdevalv1.RegisterServerServiceServer(r, &serverService{info: info(o)})
}

// given turns a Document of a request into the engine's; absent stays absent.
func given(d *crdevalv1.Document) engine.Document {
	switch c := d.GetContent().(type) {
	case *crdevalv1.Document_Json:
		if c.Json == nil {
			return engine.JSON([]byte{})
		}
		return engine.JSON(c.Json)
	case *crdevalv1.Document_Yaml:
		if c.Yaml == nil {
			return engine.YAML([]byte{})
		}
		return engine.YAML(c.Yaml)
	}
	return engine.Document{}
}

// json is a Document of an answer; nil bytes are an absent one.
func json(text []byte) *crdevalv1.Document {
	if text == nil {
		return nil
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}

// serverService tells what the server is.
type serverService struct {
	crdevalv1.UnsafeServerServiceServer
	info *crdevalv1.GetServerInfoResponse
}

// GetServerInfo answers version, features and limits.
func (s *serverService) GetServerInfo(context.Context, *crdevalv1.GetServerInfoRequest) (*crdevalv1.GetServerInfoResponse, error) {
	return s.info, nil
}

// kubernetesVersion is the version whose behaviour is reproduced.
const kubernetesVersion = "1.37"

func info(o Options) *crdevalv1.GetServerInfoResponse {
	m := &crdevalv1.GetServerInfoResponse{
		Version: o.Version, Commit: o.Commit, KubernetesVersion: kubernetesVersion, Limits: o.Limits.message(),
	}
	for minor := int32(engine.OldestMinor); minor <= engine.LatestMinor; minor++ {
		m.KubernetesMinors = append(m.KubernetesMinors, minor)
	}
	return m
}
