package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/server/app"
)

// converting is a case convert/NAME: reviews from v1beta1 to v1 over HTTP on loopback, to the server and to a webhook
// that is written by hand. The CRD and the rules are in testdata/bench/convert. Figures are by the clock, and in time of
// the processor, of client and server together.
type converting struct {
	name   string
	object func(i int) []byte // at v1beta1
	byHand func(raw []byte) ([]byte, error)
	bars   string
}

var convertings = []converting{
	{"crontab", cronTab, cronTabByHand, "bar 10 µs"},
	{"workload", workload, workloadByHand, "bars 100 µs memory 3.0x speedup 5.0x"}, // 10,000 objects of 10 kB in a second
}

// review returns a ConversionReview of n objects.
func (c *converting) review(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"` + reviewUID +
		`","desiredAPIVersion":"example.com/v1","objects":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(c.object(i))
	}
	b.WriteString(`]}}`)
	return bytes.Clone(b.Bytes())
}

const reviewUID = "8ecd6d4c-1f8e-4d9f-9b0e-0e8b0f9d0a11"

// run compares both sides, a review at a time.
func (c *converting) run(o Options, name string, _ *object) (string, error) {
	s, url, err := c.serve(o.Folder)
	if err != nil {
		return "", err
	}
	byHand := httptest.NewServer(handWritten(c.byHand))
	defer byHand.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	post := func(url string, review []byte, to io.Writer) error { return postReview(client, url, review, to) }
	line, err := func() (string, error) {
		if err := c.agree(post, url, byHand.URL); err != nil {
			return "", err
		}
		n := cmp.Or(o.Converted, 10_000)
		review := c.review(n)
		ours := worker{do: func() error { return post(url, review, io.Discard) }}
		theirs := worker{do: func() error { return post(byHand.URL, review, io.Discard) }, plain: true}
		figures, err := compareReviews(o, ours, theirs)
		if err != nil {
			return "", err
		}
		for i, side := range []worker{ours, theirs} {
			o.progress("memory of %s", [2]string{"ours", "the other side"}[i])
			peak, err := peakOf(side)
			if err != nil {
				return "", err
			}
			figures[i].memory = peak / float64(len(review))
			figures[i].elapsed, figures[i].processor = figures[i].elapsed/float64(n), figures[i].processor/float64(n)
		}
		return convertLine(name, n, len(c.object(0)), figures, c.bars, runtime.GOMAXPROCS(0)), nil
	}()
	return line, errors.Join(err, s.close())
}

// reviewFigure is the cost of a review, or of an object of one.
type reviewFigure struct {
	elapsed, processor float64 // seconds
	memory             float64 // as a multiple of the review's size
}

// compareReviews runs both sides in turns, a review each, and returns the medians. Reviews of 100 MB take seconds on the
// other side, so there are at most five rounds.
func compareReviews(o Options, sides ...worker) ([2]reviewFigure, error) {
	var elapsed, processor [2][]float64
	for round := range min(o.Rounds, 5) + 1 { // the first one to warm up
		for turn := range sides {
			i := (round + turn) % 2
			runtime.GC()
			restore := sides[i].collector()
			begin, start := time.Now(), processorTime()
			err := sides[i].do()
			took, used := time.Since(begin).Seconds(), (processorTime() - start).Seconds()
			restore()
			if err != nil {
				return [2]reviewFigure{}, err
			}
			if round > 0 {
				elapsed[i], processor[i] = append(elapsed[i], took), append(processor[i], used)
			}
		}
	}
	return [2]reviewFigure{
		{elapsed: median(elapsed[0]), processor: median(processor[0])}, {elapsed: median(elapsed[1]), processor: median(processor[1])},
	}, nil
}

// convertLine prints a case of conversions, with the figures of an object.
func convertLine(name string, n, size int, f [2]reviewFigure, bars string, procs int) string {
	return fmt.Sprintf("%s  %d objects of %d bytes  ours %.1f µs (processor %.1f µs) memory %.1fx  by hand %.1f µs (processor %.1f µs) memory %.1fx"+
		"  speedup %s (processor %s)  %s  GOMAXPROCS=%d", name, n, size, 1e6*f[0].elapsed, 1e6*f[0].processor, f[0].memory,
		1e6*f[1].elapsed, 1e6*f[1].processor, f[1].memory, times(f[1].elapsed/f[0].elapsed), times(f[1].processor/f[0].processor), bars, procs)
}

// serve starts a server with the CRD and the rules, and returns the URL of its conversion webhook.
func (c *converting) serve(folder string) (*service, string, error) {
	config, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--store=memory", "--drain-timeout=2s",
		"--max-message-bytes=256MiB")
	if err != nil {
		return nil, "", err
	}
	s, err := startApp(config)
	if err != nil {
		return nil, "", err
	}
	base := s.http
	for _, step := range []struct{ path, file string }{
		{"/v1/catalogs/default/crds", c.name + "-crd.yaml"},
		{"/v1/catalogs/default/crds/" + c.name + "s.example.com:setConversion", c.name + "-rules.yaml"},
	} {
		text, err := os.ReadFile(filepath.Join(folder, "convert", step.file))
		if err == nil {
			err = postAccepted(base+step.path, text)
		}
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("bench: %s: %w", step.file, err), s.close())
		}
	}
	return s, base + "/webhooks/catalogs/default/convert", nil
}

// postAccepted sends YAML and checks that the answer says that it was accepted.
func postAccepted(url string, text []byte) error {
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	var answer bytes.Buffer
	if err := postReview(http.DefaultClient, url, text, &answer); err != nil {
		return err
	}
	var got struct {
		Accepted bool `json:"accepted"`
	}
	if err := json.Unmarshal(answer.Bytes(), &got); err != nil || !got.Accepted {
		return fmt.Errorf("%w: %s", err, &answer)
	}
	return nil
}

func postReview(client *http.Client, url string, review []byte, to io.Writer) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(review))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, response.Body)
	_ = response.Body.Close() // read completely, or the error is returned
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return err
}

// agree checks that both sides convert objects to the same ones.
func (c *converting) agree(post func(string, []byte, io.Writer) error, urls ...string) error {
	const n = 20
	var all [2][]any
	for i, url := range urls {
		var text bytes.Buffer
		if err := post(url, c.review(n), &text); err != nil {
			return err
		}
		var review apiextensionsv1.ConversionReview
		if err := json.Unmarshal(text.Bytes(), &review); err != nil {
			return err
		}
		r := review.Response
		if r == nil || r.UID != reviewUID || r.Result.Status != metav1.StatusSuccess || len(r.ConvertedObjects) != n {
			return fmt.Errorf("bench: not converted: %.500s", &text)
		}
		for _, o := range r.ConvertedObjects {
			var object any
			if err := json.Unmarshal(o.Raw, &object); err != nil {
				return err
			}
			all[i] = append(all[i], object)
		}
	}
	for i := range n {
		if !reflect.DeepEqual(all[0][i], all[1][i]) {
			return fmt.Errorf("bench: the sides differ:\n%v\n%v", all[0][i], all[1][i])
		}
	}
	return nil
}

// peakOf returns the largest memory in bytes during an operation, beyond that before it: used spans of the heap, which
// include garbage, and stacks. The samples are a millisecond apart.
func peakOf(w worker) (float64, error) {
	defer w.collector()()
	if err := w.do(); err != nil { // fills pools
		return 0, err
	}
	runtime.GC()
	runtime.GC()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}
	used := func() (n float64) {
		metrics.Read(samples)
		for _, s := range samples {
			n += float64(s.Value.Uint64())
		}
		return n
	}
	before, peak := used(), 0.0
	done := make(chan error, 1)
	go func() { done <- w.do() }()
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-done:
			tick.Stop()
			return max(peak, used()) - before, err
		case <-tick.C:
			peak = max(peak, used())
		}
	}
}

// cronTab returns a CronTab of the documentation of Kubernetes, as an API server stores it.
func cronTab(i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":%s,"hostPort":"host-%d.example.com:%d"}`,
		storedMetadata("crontab", i, ""), i, 1024+i%1000)
}

// workload returns a Workload of 10,000 bytes.
func workload(i int) []byte {
	const size = 10_000
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":"example.com/v1beta1","kind":"Workload","metadata":%s,"spec":{"host":"h%d.example.com","address":"a%d:%d",`+
		`"mode":%q,"legacy":"yes","ports":[`, storedMetadata("workload", i, managedFields), i, i, 1024+i%1000, [2]string{"fast", "slow"}[i%2])
	for k := range 8 {
		fmt.Fprintf(&b, `%s{"name":"port-%d","port":%d,"protocol":"TCP"}`, strings.Repeat(",", min(k, 1)), k, 8000+k)
	}
	b.WriteString(`],"containers":[`)
	for k := range 4 {
		fmt.Fprintf(&b, `%s{"name":"c%d","image":"registry.example.com/team/app-%d:v1.2.3","command":["/bin/app","--verbose","--port=%d"],"env":[`,
			strings.Repeat(",", min(k, 1)), k, k, 8000+k)
		for e := range 20 {
			fmt.Fprintf(&b, `%s{"name":"SETTING_%d_%d","value":"the value of setting %d of container %d"}`, strings.Repeat(",", min(e, 1)), k, e, e, k)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`],"description":"`)
	const end = `"},"status":{"ready":3,"phase":"Running"}}`
	for b.Len() < size-len(end)-64 {
		b.WriteString(`a line of the description, as users write it\n`)
	}
	b.WriteString(strings.Repeat("x", size-len(end)-b.Len()))
	b.WriteString(end)
	return b.Bytes()
}

const managedFields = `,"managedFields":[{"manager":"kubectl","operation":"Apply","apiVersion":"example.com/v1beta1","time":"2026-01-02T03:04:05Z",` +
	`"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:host":{},"f:address":{},"f:mode":{},"f:ports":{"k:{\"name\":\"port-0\"}":{".":{},"f:name":{},"f:port":{}}}}}}]`

// storedMetadata returns metadata with the fields that an API server sets.
func storedMetadata(kind string, i int, more string) string {
	return fmt.Sprintf(`{"name":"%s-%d","namespace":"default","uid":"7a1c52de-6a0c-4f0b-9f1b-%012d","resourceVersion":"%d","generation":1,`+
		`"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"%s"}%s}`, kind, i, i, 1000+i, kind, more)
}
