package load

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// bombs: large objects of many small ones, whose trees take a hundred times their size.
func bombs(l *load) {
	s := l.launch(l.withMemory(maxMemory))
	n := l.neighbour(s, "neighbour", 10)
	l.register(s, "default", schemaCRD("Bomb", `{type: object, properties: {spec: {type: array, items:
    {type: object, properties: {a: {type: integer, default: 1}}}}}}`))
	l.isolation(s, n)
}

func attackBombs(ctx context.Context, l *load, address, _ string) error {
	bomb := object("Bomb", "["+repeated("{}", l.size(900_000, 450_000), ",")+"]")
	request := &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_NONE}}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(bomb)}}}},
	}
	return forever(ctx, l.size(48, 16), func(ctx context.Context) error {
		return oneCall(ctx, address, func(conn grpc.ClientConnInterface) error {
			_, err := crdevalv1.NewEvaluationServiceClient(conn).Validate(ctx, request)
			return err
		})
	})
}

// oneCall makes a call on a connection of its own.
func oneCall(ctx context.Context, address string, call func(grpc.ClientConnInterface) error) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return call(conn)
}
