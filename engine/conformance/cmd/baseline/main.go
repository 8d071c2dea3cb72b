// Command baseline is a gRPC server whose calls cost as little as possible. The cases unary of cmd/bench compare the
// server of crdeval with it. Echo reads a message and sends a message of the requested size. Validate and Admit only
// decode the request, evaluate its first object with the CRD of a file, and encode the result.
//
//	baseline crd.yaml localhost:9090 unix:///tmp/baseline
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func main() {
	if err := serve(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves on all addresses until one fails.
func serve(crd string, addresses []string) error {
	manifest, err := os.ReadFile(crd)
	if err != nil {
		return err
	}
	definition, _, err := engine.Compile(context.Background(), engine.YAML(manifest), engine.Options{})
	if err != nil {
		return err
	}
	if definition == nil {
		return fmt.Errorf("an API server would reject the CRD in %s", crd)
	}
	s := grpc.NewServer()
	crdevalv1.RegisterEvaluationServiceServer(s, &evaluator{definition: definition})
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Echo",
			// The first four bytes of a request are the size of the response.
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var in wrapperspb.BytesValue
				if err := decode(&in); err != nil {
					return nil, err
				}
				return wrapperspb.Bytes(make([]byte, binary.BigEndian.Uint32(in.GetValue()))), nil
			},
		}},
	}, nil)
	failed := make(chan error)
	for _, address := range addresses {
		network := "tcp"
		if path, is := strings.CutPrefix(address, "unix://"); is {
			network, address = "unix", path
		}
		l, err := new(net.ListenConfig).Listen(context.Background(), network, address)
		if err != nil {
			return err
		}
		go func() { failed <- s.Serve(l) }()
	}
	return <-failed
}

// evaluator has no limits, no fairness, no authentication, no telemetry and no other options.
type evaluator struct {
	crdevalv1.UnimplementedEvaluationServiceServer
	definition *engine.Definition
}

func (e *evaluator) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	v, err := e.definition.Validate(ctx, item(r.GetItems()), engine.ValidateOptions{})
	if err != nil {
		return nil, err
	}
	return &crdevalv1.ValidateResponse{Results: result(v)}, nil
}

// Admit evaluates the stage FINISH.
func (e *evaluator) Admit(ctx context.Context, r *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	v, err := e.definition.Finish(ctx, item(r.GetItems()), engine.AdmitOptions{})
	if err != nil {
		return nil, err
	}
	return &crdevalv1.AdmitResponse{Results: result(v)}, nil
}

func item(items []*crdevalv1.WriteItem) engine.Create {
	return engine.Create{Version: "v1", Object: engine.JSON(items[0].GetCreate().GetObject().GetJson())}
}

func result(v *engine.Verdict) []*crdevalv1.VerdictResult {
	m := &crdevalv1.Verdict{Allowed: v.Allowed, Revision: v.Revision}
	if v.Object != nil {
		m.Object = document(v.Object)
	}
	for _, c := range v.Defaulted {
		if m.Changes == nil {
			m.Changes = &crdevalv1.ObjectChanges{}
		}
		m.Changes.Defaulted = append(m.Changes.Defaulted,
			&crdevalv1.FieldChange{Path: c.Path, Pointer: c.Pointer, Value: document(c.Value)})
	}
	return []*crdevalv1.VerdictResult{{Result: &crdevalv1.VerdictResult_Verdict{Verdict: m}}}
}

func document(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}
