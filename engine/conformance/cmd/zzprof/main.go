// Temporary: profile of rest batches.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/server/app"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	crd := flag.String("crd", "", "")
	obj := flag.String("obj", "", "")
	d := flag.Duration("d", 5*time.Second, "")
	n := flag.Int("n", 0, "")
	prof := flag.String("prof", "", "")
	callers := flag.Int("callers", 8, "")
	flag.Parse()
	config, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory", "--drain-timeout=2s")
	if err != nil {
		panic(err)
	}
	a, err := app.Start(context.Background(), config, app.Build{Version: "bench"}, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	go a.Run(context.Background())
	m, err := os.ReadFile(*crd)
	if err != nil {
		panic(err)
	}
	c, _ := crdeval.Dial(a.GRPCAddresses()[0].String())
	if _, err := c.RegisterCRD(context.Background(), m); err != nil {
		panic(err)
	}
	body, _ := os.ReadFile(*obj)
	var request bytes.Buffer
	request.WriteString(`{"options":{"view":"OBJECT_VIEW_NONE"},"items":[`)
	for i := range 100 {
		if i > 0 {
			request.WriteByte(',')
		}
		request.WriteString(`{"object":`)
		request.Write(body)
		request.WriteByte('}')
	}
	request.WriteString(`]}`)
	url := "http://" + a.HTTPAddresses()[0].String() + "/v1/catalogs/default:validate"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	do := func() {
		r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(request.Bytes()))
		r.Header.Set("Content-Type", "application/json")
		response, err := client.Do(r)
		if err != nil {
			panic(err)
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if k := bytes.Count(answer, []byte(`"allowed":true`)); k != 100 || err != nil {
			panic(fmt.Sprintf("%d %v %.300s", k, err, answer))
		}
	}
	for range 20 {
		do()
	}
	runtime.GC()
	if *prof != "" {
		f, _ := os.Create(*prof)
		pprof.StartCPUProfile(f)
		defer f.Close()
	}
	var ms0, ms1 runtime.MemStats
	runtime.ReadMemStats(&ms0)
	t0, c0 := time.Now(), cpu()
	var done atomic.Int64
	var g sync.WaitGroup
	for range *callers {
		g.Go(func() {
			for time.Since(t0) < *d && (*n == 0 || int(done.Load()) < *n) {
				do()
				done.Add(1)
			}
		})
	}
	g.Wait()
	el, c1 := time.Since(t0), cpu()
	runtime.ReadMemStats(&ms1)
	pprof.StopCPUProfile()
	k := float64(done.Load() * 100)
	fmt.Printf("%.0f objects/s, %.2f us cpu/object, %.0f B/object, %.2f allocs/object, %d gcs, heap %d MiB\n", k/el.Seconds(), float64((c1-c0).Microseconds())/k,
		float64(ms1.TotalAlloc-ms0.TotalAlloc)/k, float64(ms1.Mallocs-ms0.Mallocs)/k, ms1.NumGC-ms0.NumGC, ms1.HeapAlloc>>20)
}
