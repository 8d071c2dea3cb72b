package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/app"
)

const (
	batch   = 100 // objects per call
	callers = 8   // concurrent calls
)

// service is a server in this process on loopback, with the CRD of one object.
type service struct {
	app    *app.App
	http   string // URL of REST
	client *crdeval.Client
	stop   func() error
}

func startService(obj *object) (*service, error) {
	config, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory", "--drain-timeout=2s")
	if err != nil {
		return nil, err
	}
	s, err := startApp(config)
	if err != nil {
		return nil, err
	}
	manifest, err := obj.manifest()
	if err == nil {
		s.client, err = crdeval.Dial(s.app.GRPCAddresses()[0].String())
	}
	if err == nil {
		_, err = s.client.RegisterCRD(context.Background(), manifest)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// startApp starts a server without CRDs and without a client.
func startApp(config app.Config) (*service, error) {
	a, err := app.Start(context.Background(), config, app.Build{Version: "bench"}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return &service{app: a, http: "http://" + a.HTTPAddresses()[0].String(), stop: func() error { cancel(); return <-ended }}, nil
}

func (s *service) close() error {
	if s.client != nil {
		_ = s.client.Close() // no call is in flight
	}
	return s.stop()
}

// overGRPC compares objects per second: ours in batches through client, network and server in this process, upstream's
// as function calls, on the same cores. Both sides do whole creates with rules.
func overGRPC(o Options, name string, obj *object) (string, error) {
	return overNetwork(o, name, obj, (*service).grpcCall)
}

// overREST is overGRPC through the REST gateway.
func overREST(o Options, name string, obj *object) (string, error) {
	return overNetwork(o, name, obj, (*service).restCall)
}

func overNetwork(o Options, name string, obj *object, caller func(*service, []byte) side) (string, error) {
	them, err := newUpstream(obj)
	if err != nil {
		return "", err
	}
	s, err := startService(obj)
	if err != nil {
		return "", err
	}
	procs := runtime.GOMAXPROCS(0)
	ours, upstream, err := compareRates(o,
		worker{goroutines: callers, objects: batch, do: caller(s, obj.body)},
		worker{goroutines: procs, objects: 1, do: func() error { _, err := them.create(obj.body); return err }, plain: true})
	if ended := s.close(); err == nil {
		err = ended
	}
	return rateLine(name, ours, upstream, procs), err
}

// grpcCall sends one batch over gRPC and checks every verdict. It requests only the verdict, because upstream returns
// nothing else.
func (s *service) grpcCall(body []byte) side {
	options := &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_NONE}
	return func() error {
		items := make([]*crdevalv1.WriteItem, batch)
		for i := range items {
			items[i] = &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(body)}}}
		}
		results, err := s.client.ValidateItems(context.Background(), items, options)
		if err != nil {
			return err
		}
		for _, r := range results {
			if !r.Allowed() {
				return errors.Join(fmt.Errorf("not allowed: %v", r.Verdict), r.Err)
			}
		}
		return nil
	}
}

// restCall sends one batch over REST and counts the verdicts. It requests the same as grpcCall.
func (s *service) restCall(body []byte) side {
	var request bytes.Buffer
	request.WriteString(`{"context":{"options":{"view":"OBJECT_VIEW_NONE"}},"items":[`)
	for i := range batch {
		if i > 0 {
			request.WriteByte(',')
		}
		request.WriteString(`{"create":{"object":`)
		request.Write(body)
		request.WriteString(`}}`)
	}
	request.WriteString(`]}`)
	url := s.http + "/v1/catalogs/default:validate"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	return func() error {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(request.Bytes()))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // read completely, or the error is returned
		if err != nil {
			return err
		}
		if n := bytes.Count(answer, []byte(`"allowed":true`)); n != batch {
			return fmt.Errorf("%s: %d of %d allowed: %.300s", response.Status, n, batch, answer)
		}
		return nil
	}
}

// worker is work that several goroutines do concurrently.
type worker struct {
	goroutines int
	objects    int // one operation
	do         side
	plain      bool // uses Go's default of the garbage collector, not the server's
}

// collector sets the garbage collector for a turn, and returns a function that restores it. GOGC in the environment
// applies to both sides.
func (w worker) collector() (restore func()) {
	if !w.plain || os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(100)
	return func() { debug.SetGCPercent(before) }
}

// compareRates runs both sides in turns and returns the medians of their objects per second.
func compareRates(o Options, ours, upstream worker) (a, b float64, err error) {
	workers := [2]worker{ours, upstream}
	for _, w := range workers { // to warm up, and to check the result
		if _, err := w.rate(o.Turn); err != nil {
			return 0, 0, err
		}
	}
	var rates, busy [2][]float64
	for round := range o.Rounds {
		for turn := range workers {
			i := (round + turn) % 2
			runtime.GC()
			restore := workers[i].collector()
			start, begin := processorTime(), time.Now()
			rate, err := workers[i].rate(5 * o.Turn)
			restore()
			if err != nil {
				return 0, 0, err
			}
			rates[i] = append(rates[i], rate)
			busy[i] = append(busy[i], (processorTime()-start).Seconds()/time.Since(begin).Seconds())
		}
	}
	// On a busy machine, this shows the share of the machine that each side got.
	o.progress("cores busy: ours %.2f, upstream %.2f", median(busy[0]), median(busy[1]))
	return median(rates[0]), median(rates[1]), nil
}

// rate runs for the duration of a turn and returns objects per second.
func (w worker) rate(while time.Duration) (float64, error) {
	var done atomic.Int64
	errs := make(chan error, w.goroutines)
	var group sync.WaitGroup
	start := time.Now()
	for range w.goroutines {
		group.Go(func() {
			for {
				if err := w.do(); err != nil {
					errs <- err
					return
				}
				done.Add(int64(w.objects))
				if time.Since(start) >= while {
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(done.Load()) / took.Seconds(), nil
	}
}
