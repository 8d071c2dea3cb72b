package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// The bars of the cases.
const (
	barEcho        = 1.33 // CPU time of the server, as a multiple of that of the echo handler
	barMultiplexed = 40 * time.Microsecond
	barBatch       = 1.5 // CPU time of a REST batch, as a multiple of that of a gRPC batch
)

// unaries are the cases with a server in a process of its own.
var unaries = []struct {
	name string
	run  func(f *unary, o Options, name string) (string, error)
}{
	{"validate-tcp", func(f *unary, o Options, name string) (string, error) {
		return f.single(o, name, f.server.tcp, f.validate)
	}},
	{"validate-unix", func(f *unary, o Options, name string) (string, error) {
		return f.single(o, name, f.server.unix, f.validate)
	}},
	{"admit-tcp", func(f *unary, o Options, name string) (string, error) {
		return f.single(o, name, f.server.tcp, f.finish)
	}},
	{"admit-unix", func(f *unary, o Options, name string) (string, error) {
		return f.single(o, name, f.server.unix, f.finish)
	}},
	{"admit-multiplexed", (*unary).multiplexed},
	{"batch", (*unary).batches},
}

// unary has a server and the baseline with the CRD of CronTab, and clients in this process.
type unary struct {
	server, baseline *process
	service          *service // of the server
	decoded          []byte   // a CronTab after ADMISSION_STAGE_DECODE
	object           []byte
}

// runUnary runs a case with the default configuration of the server and its telemetry.
func runUnary(i int) func(Options, string, *object) (string, error) {
	return func(o Options, name string, _ *object) (string, error) {
		f := &unary{}
		err := f.start(o)
		line := ""
		if err == nil {
			line, err = unaries[i].run(f, o, name)
		}
		return line, errors.Join(err, f.close())
	}
}

func (f *unary) start(o Options) error {
	obj, err := load(o.Folder, 0)
	if err != nil {
		return err
	}
	manifest, err := obj.manifest()
	if err != nil {
		return err
	}
	root, err := mainModule()
	if err != nil {
		return err
	}
	http, err := freeAddress()
	if err != nil {
		return err
	}
	f.server, err = startProcess(root, "./server/cmd/crdeval", func(p *process) []string {
		return []string{"serve", "--grpc-address=" + p.tcp + "," + p.unix, "--http-address=" + http,
			"--data-dir=" + filepath.Join(p.dir, "data"), "--log-level=warn"}
	})
	if err != nil {
		return err
	}
	crd, err := filepath.Abs(filepath.Join(o.Folder, "crontab-crd.yaml"))
	if err != nil {
		return err
	}
	f.baseline, err = startProcess(filepath.Join(root, "engine", "conformance"), "./cmd/baseline", func(p *process) []string {
		return []string{crd, p.tcp, p.unix}
	})
	if err != nil {
		return err
	}
	f.service = &service{http: "http://" + http, stop: func() error { return nil }}
	waiting := grpc.WithDefaultCallOptions(grpc.WaitForReady(true)) // until the server listens
	if f.service.client, err = crdeval.Dial(f.server.tcp, crdeval.WithDialOptions(waiting)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err = f.service.client.RegisterCRD(ctx, manifest); err != nil {
		return err
	}
	f.object = obj.body
	results, err := f.service.client.AdmitItems(ctx, []*crdevalv1.WriteItem{crdeval.Create(obj.body)},
		crdeval.AdmitOptions{Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE})
	if err != nil {
		return err
	}
	f.decoded = results[0].Object()
	return results[0].Err
}

func (f *unary) close() error {
	var err error
	if f.service != nil && f.service.client != nil {
		err = f.service.close()
	}
	for _, p := range []*process{f.server, f.baseline} {
		if p != nil {
			err = errors.Join(err, p.close())
		}
	}
	return err
}

// exchange is a unary call: method, request, and a function that returns an empty response. check checks a response.
type exchange struct {
	method   string
	request  proto.Message
	response func() proto.Message
	check    func(proto.Message) error
}

// validate returns a call of Validate with default options.
func (f *unary) validate() exchange {
	return exchange{
		method: crdevalv1.EvaluationService_Validate_FullMethodName,
		request: &crdevalv1.ValidateRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(f.object)}}}},
		},
		response: func() proto.Message { return &crdevalv1.ValidateResponse{} },
		check:    checkAllowed,
	}
}

// finish returns a call of Admit for the last stage, as a server with its own mutating admission sends it.
func (f *unary) finish() exchange {
	return exchange{
		method: crdevalv1.EvaluationService_Admit_FullMethodName,
		request: &crdevalv1.AdmitRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{crdeval.Create(f.decoded)},
			Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH,
		},
		response: func() proto.Message { return &crdevalv1.AdmitResponse{} },
		check:    checkAllowed,
	}
}

func checkAllowed(m proto.Message) error {
	r := m.(interface { //nolint:forcetypeassert // both calls return such a message
		GetResults() []*crdevalv1.VerdictResult
	}).GetResults()
	if len(r) != 1 || !r[0].GetVerdict().GetAllowed() {
		return fmt.Errorf("not allowed: %v", m)
	}
	return nil
}

// echoing returns the call of the echo handler with messages of the same sizes as those of x.
func (f *unary) echoing(x exchange, response proto.Message) exchange {
	request := make([]byte, payload(x.request))
	binary.BigEndian.PutUint32(request, uint32(payload(response))) //nolint:gosec // small
	size := proto.Size(response)
	return exchange{
		method: "/bench.Echo/Echo", request: wrapperspb.Bytes(request),
		response: func() proto.Message { return &wrapperspb.BytesValue{} },
		check: func(m proto.Message) error {
			if got := proto.Size(m); got < size-1 || got > size+1 {
				return fmt.Errorf("the echo handler returned %d bytes, want %d", got, size)
			}
			return nil
		},
	}
}

// payload returns the length of a BytesValue that is as large as m.
func payload(m proto.Message) int {
	size := proto.Size(m)
	return size - protowire.SizeTag(1) - protowire.SizeVarint(uint64(size)) //nolint:gosec // not negative
}

// call returns a function that makes a call over a connection.
func (x exchange) call(conn *grpc.ClientConn) side {
	return func() error {
		response := x.response()
		if err := conn.Invoke(context.Background(), x.method, x.request, response); err != nil {
			return err
		}
		return x.check(response)
	}
}

// single compares the CPU time of the server for a call with those of the baseline for an echo, and for the same
// evaluation with the same result.
func (f *unary) single(o Options, name, address string, of func() exchange) (string, error) {
	x := of()
	ours, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer func() { _ = ours.Close() }() // no call is in flight
	response := x.response()
	if err := ours.Invoke(context.Background(), x.method, x.request, response, grpc.WaitForReady(true)); err != nil {
		return "", err
	}
	target := f.baseline.tcp
	if address == f.server.unix {
		target = f.baseline.unix
	}
	theirs, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		return "", err
	}
	defer func() { _ = theirs.Close() }()
	least := x.response()
	if err := theirs.Invoke(context.Background(), x.method, x.request, least); err != nil {
		return "", err
	}
	if !proto.Equal(response, least) {
		return "", fmt.Errorf("the baseline returned %v, want %v", least, response)
	}
	costs, err := compareCosts(o, cost{f.server, x.call(ours)}, cost{f.baseline, f.echoing(x, response).call(theirs)},
		cost{f.baseline, x.call(theirs)})
	if err != nil {
		return "", err
	}
	a, b, c := costs[0].server, costs[1].server, costs[2].server
	return fmt.Sprintf("%s  server %.1f µs  echo %.1f µs  ratio %.2f  bar %.2f  (evaluation alone: %.1f µs, ratio to the echo %.2f; client %.1f and %.1f µs)  callers=%d",
		name, micros(a), micros(b), a/b, barEcho, micros(c), c/b, micros(costs[0].client), micros(costs[1].client), callers), nil
}

// multiplexed prints the CPU time of both processes for an Admit on a shared stream, beside unary calls.
func (f *unary) multiplexed(o Options, name string) (string, error) {
	item := crdeval.Create(f.decoded)
	var sides []cost
	for _, options := range [][]crdeval.Option{{crdeval.WithMultiplexing(crdeval.MultiplexOptions{})}, nil} {
		c, err := crdeval.Dial(f.server.unix, options...)
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }() // no call is in flight
		sides = append(sides, cost{f.server, func() error {
			r, err := c.AdmitItems(context.Background(), []*crdevalv1.WriteItem{item},
				crdeval.AdmitOptions{Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH})
			if err == nil && !r[0].Allowed() {
				err = fmt.Errorf("not allowed: %v", r[0])
			}
			return err
		}})
	}
	costs, err := compareCosts(o, sides...)
	if err != nil {
		return "", err
	}
	m, u := costs[0], costs[1]
	return fmt.Sprintf("%s  both processes %.1f µs  bar %.0f µs  (server %.1f client %.1f µs; unary calls: server %.1f client %.1f µs)  callers=%d",
		name, micros(m.server+m.client), micros(barMultiplexed.Seconds()), micros(m.server), micros(m.client),
		micros(u.server), micros(u.client), callers), nil
}

// batches compares the CPU time of the server for a CronTab in a REST batch with that in a gRPC batch.
func (f *unary) batches(o Options, name string) (string, error) {
	costs, err := compareCosts(o, cost{f.server, f.service.restCall(f.object)}, cost{f.server, f.service.grpcCall(f.object)})
	if err != nil {
		return "", err
	}
	rest, inGRPC := costs[0].server/batch, costs[1].server/batch
	return fmt.Sprintf("%s  REST %.2f µs an object  gRPC %.2f µs  ratio %.2f  bar %.2f  callers=%d", name,
		micros(rest), micros(inGRPC), rest/inGRPC, barBatch, callers), nil
}

func micros(seconds float64) float64 { return seconds * 1e6 }
