package bench

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestLines tests the format against a golden file.
func TestLines(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{timeLine("admit/httproute-large", figure{0.00061, 310}, figure{0.01710, 117592}, 1),
			"admit/httproute-large  ours 0.61 ms 310 allocs  upstream 17.10 ms 117592 allocs  speedup 28.0x allocs 379x  GOMAXPROCS=1"},
		{timeLine("structural/crontab", figure{0.0000021, 0}, figure{0.000112, 719}, 1),
			"structural/crontab  ours 0.00210 ms 0 allocs  upstream 0.11 ms 719 allocs  speedup 53.3x allocs 719x  GOMAXPROCS=1"},
		{heapLine("heap/prometheus", 210*1024, 3626*1024, 14.7*1024, 3, 1),
			"heap/prometheus  ours 210 KiB upstream 3626 KiB ratio 17.3x  patterns 3 of 14.7 KiB  GOMAXPROCS=1"},
		{rateLine("grpc/crontab", 128840.4, 8747.2, 2),
			"grpc/crontab  ours 128840 objects/s  upstream 8747 objects/s  speedup 14.7x  GOMAXPROCS=2"},
	} {
		if c.got != c.want {
			t.Errorf("\ngot  %s\nwant %s", c.got, c.want)
		}
	}
}

// anyLine matches the line of a case. On a busy machine, brief measurements can be zero or negative.
var anyLine = regexp.MustCompile(`^[a-z0-9-]+/[a-z-]+  ours -?[0-9.]+ (ms [0-9]+ allocs |KiB|objects/s ) upstream ` +
	`.*(speedup|ratio) ([-+]?[0-9.]+|[-+]Inf|NaN)x.*  GOMAXPROCS=[12]$`)

var streamLine = regexp.MustCompile(`^stream/crontab  20000 objects  ours [0-9]+ objects/s  bar 16667 objects/s  client [0-9]+ MiB server [0-9]+ MiB together [0-9]+ MiB  bar 200 MiB  GOMAXPROCS=2$`)

var convertedLine = regexp.MustCompile(`^convert/[a-z]+  50 objects of [0-9]+ bytes  ours .* speedup [0-9.]+x \(processor .*x\)  bars? .*  GOMAXPROCS=2$`)

// TestCases runs each case that needs no other module once, briefly. The case stream, which builds and starts a server,
// runs in make conformance only: server/loadtest/load has tests of its own.
func TestCases(t *testing.T) {
	pattern, count := "^([^s]|structural).*/crontab(-crd)?$|^convert", len(kinds)+len(convertings)
	if testenv.Volume(1) > 1 {
		pattern, count = "/crontab(-crd)?$|^convert", count+1
	}
	o := Options{Folder: "../testdata/bench", Rounds: 1, Turn: time.Millisecond, Copies: 2, Streamed: 20_000, Converted: 50}
	var out bytes.Buffer
	if err := Run(regexp.MustCompile(pattern), &out, o); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != count {
		t.Errorf("%d lines for %d cases:\n%s", len(lines), count, out.String())
	}
	for _, line := range lines {
		if !anyLine.MatchString(line) && !streamLine.MatchString(line) && !convertedLine.MatchString(line) {
			t.Errorf("a line that looks like no other: %s", line)
		}
	}
}

func TestNoSuchCase(t *testing.T) {
	if err := Run(regexp.MustCompile("nothing"), &bytes.Buffer{}, Options{}); err == nil || !strings.Contains(err.Error(), "structural/crontab") {
		t.Errorf("an unknown case: %v", err)
	}
}

// TestAllocations limits the allocations of a whole write: only the new bytes if it is accepted, and little more than
// the texts if it is rejected.
func TestAllocations(t *testing.T) {
	rejected := map[string]float64{"crontab": 75, "httproute-small": 75, "httproute-large": 320, "prometheus": 160, "certificate": 70}
	for i := range objects {
		obj, err := load("../testdata/bench", i)
		if err != nil {
			t.Fatal(err)
		}
		us, err := newOurs(obj)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := us.create(obj.body); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("admit/%s: %v allocations", obj.name, n)
		}
		old, body, err := obj.versions()
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := us.update(old, body); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("update/%s: %v allocations", obj.name, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			if _, _, err := us.rejected(obj.faulty); err != nil {
				t.Fatal(err)
			}
		}); n > rejected[obj.name] {
			t.Errorf("reject/%s: %v allocations, more than %v", obj.name, n, rejected[obj.name])
		}
	}
}

// updates is the number of updates per iteration of BenchmarkOurs. It makes the cost of preparing the versions
// negligible.
const updates = 1000

// BenchmarkOurs runs our side of the cases alone, for profiles.
func BenchmarkOurs(b *testing.B) {
	for name, do := range map[string]func(*ours, *object) error{
		"admit": func(us *ours, obj *object) error { _, err := us.create(obj.body); return err },
		"update": func(us *ours, obj *object) error {
			old, body, err := obj.versions()
			for n := 0; n < updates && err == nil; n++ {
				_, err = us.update(old, body)
			}
			return err
		},
		"reject": func(us *ours, obj *object) error { _, _, err := us.rejected(obj.faulty); return err },
	} {
		for i := range objects {
			b.Run(name+"/"+objects[i].name, func(b *testing.B) {
				obj, err := load("../testdata/bench", i)
				if err != nil {
					b.Fatal(err)
				}
				us, err := newOurs(obj)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := do(us, obj); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkStructural runs our side of the structural cases alone, for profiles.
func BenchmarkStructural(b *testing.B) {
	for i := range objects {
		b.Run(objects[i].name, func(b *testing.B) {
			obj, err := load("../testdata/bench", i)
			if err != nil {
				b.Fatal(err)
			}
			us, err := newOurs(obj)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := us.structural(obj.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBatch runs our side of the server cases alone, for profiles. One operation is a batch.
func BenchmarkBatch(b *testing.B) {
	for name, caller := range map[string]func(*service, []byte) side{"grpc": (*service).grpcCall, "rest": (*service).restCall} {
		for i := range objects {
			b.Run(name+"/"+objects[i].name, func(b *testing.B) {
				obj, err := load("../testdata/bench", i)
				if err != nil {
					b.Fatal(err)
				}
				s, err := startService(obj)
				if err != nil {
					b.Fatal(err)
				}
				call := caller(s, obj.body)
				b.SetParallelism(callers / 2)
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.StopTimer()
				if err := s.close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}

// BenchmarkRegister runs our side of the register cases alone, for profiles.
func BenchmarkRegister(b *testing.B) {
	for i := range objects {
		b.Run(objects[i].name, func(b *testing.B) {
			obj, err := load("../testdata/bench", i)
			if err != nil {
				b.Fatal(err)
			}
			manifest, err := kubectlYAML(obj.text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := registerOurs(manifest, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("largest", func(b *testing.B) {
		manifests, err := largestManifests(Options{}, "largest")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, manifest := range manifests {
				if _, _, err := registerOurs(manifest, nil); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkConvert runs our side of the convert cases alone, for profiles. One operation is a review of 10,000 objects.
func BenchmarkConvert(b *testing.B) {
	for i := range convertings {
		c := &convertings[i]
		b.Run(c.name, func(b *testing.B) {
			s, url, err := c.serve("../testdata/bench")
			if err != nil {
				b.Fatal(err)
			}
			review := c.review(10_000)
			b.ReportAllocs()
			for b.Loop() {
				if err := postReview(http.DefaultClient, url, review, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			http.DefaultClient.CloseIdleConnections()
			if err := s.close(); err != nil {
				b.Error(err)
			}
		})
	}
}
