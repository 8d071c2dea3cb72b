// Command server serves REST in a build with coverage, and records the functions that one Validate executes.
//
// Usage: server CRD DIRECTORY…. It writes the counters of one request into each directory.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"runtime/coverage"
	"time"

	"github.com/crdeval/crdeval/server/app"
)

const object = `{"items":[{"create":{"object":{"apiVersion":"stable.example.com/v1","kind":"CronTab",` +
	`"metadata":{"name":"nightly","namespace":"default"},"spec":{"cronSpec":"0 3 * * *","image":"a","replicas":1}}}}]}`

// settle is how long the server needs to end a call after the client has its response. It is less than the 100 ms after
// which the scheduler checks the time of items, which is not on the path of each call.
const settle = 20 * time.Millisecond

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

func run(crd string, directories []string) error {
	ctx := context.Background()
	c, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory")
	if err != nil {
		return err
	}
	a, err := app.Start(ctx, c, app.Build{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	go func() { _ = a.Run(ctx) }()
	url := "http://" + a.HTTPAddresses()[0].String() + "/v1/catalogs/default"
	manifest, err := os.ReadFile(crd)
	if err != nil {
		return err
	}
	if err := post(url+"/crds", "application/yaml", manifest); err != nil {
		return err
	}
	if err := post(url+":validate", "application/json", []byte(object)); err != nil { // compiles and fills pools
		return err
	}
	for _, directory := range directories {
		// The limiter measures in windows of 100 ms. This request ends one, so that the next request does not.
		if err := post(url+":validate", "application/json", []byte(object)); err != nil {
			return err
		}
		time.Sleep(settle)
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if err := post(url+":validate", "application/json", []byte(object)); err != nil {
			return err
		}
		time.Sleep(settle)
		if err := coverage.WriteMetaDir(directory); err != nil {
			return err
		}
		if err := coverage.WriteCountersDir(directory); err != nil {
			return err
		}
	}
	return nil
}

func post(url, media string, body []byte) error {
	answer, err := http.Post(url, media, bytes.NewReader(body)) //nolint:noctx,gosec // of this process
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"error"`))) {
		err = fmt.Errorf("%s: HTTP %d %s", url, answer.StatusCode, text)
	}
	return err
}
