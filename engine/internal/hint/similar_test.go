package hint

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"replicas", "Replicas", sameLetters},
		{"cron-spec", "cronSpec", sameLetters},
		{"cron_spec", "cron-spec", sameLetters},
		{"host", "hosts", 1},
		{"policies", "policy", different},
		{"class", "classes", shortened},
		{"replcas", "replicas", 1},
		{"recplias", "replicas", 2},
		{"imgae", "image", 1},
		{"iamge", "image", 1},
		{"xmage", "image", 1},
		{"ab", "ac", different},
		{"nam", "name", 1},
		{"successfulJobHistoryLmit", "successfulJobsHistoryLimit", 2},
		{"desc", "description", shortened},
		{"serviceAccountName", "service", shortened},
		{"de", "description", different},
		{"image", "replicas", different},
		{"", "name", different},
		{strings.Repeat("x", 65), strings.Repeat("x", 64), different},
		{strings.Repeat("x", 65), strings.Repeat("X", 65), sameLetters},
		{strings.Repeat("Ⱥ", 30) + "a", strings.Repeat("Ⱥ", 30) + "b", 1},
		{"größe", "GRÖSSE", different},
		{"größen", "Größe", 1},
		{"ÄNDERUNG", "äderung", 2},
		{"1.10", "1.20", different},
		{"1.10", "1.1", different},
		{"1-10", "110", different},
		{"0640", "0644", different},
		{"-10", "10", different},
		{"2026-01-02", "20260102", different},
		{"10s", "10m", different},
		{"1Gi", "1gi", different},
		{"v1alpha1", "v1alpha2", different},
		{"v1", "v1beta1", different},
		{"v1.10", "v11.0", different},
		{"http", "http2", different},
		{"1.10", "1.10", sameLetters},
		{"v1beta1", "V1Beta1", sameLetters},
		{"m5.large", "m5-lagre", 1},
	} {
		f := &Finder{}
		if got := f.difference(c.a, c.b); got != c.want || f.difference(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if f.work == 0 {
			t.Error("nothing was counted")
		}
	}
}

// TestDifferenceIsSymmetrical, whatever was compared before, and is what it would be by the letters alone.
func TestDifferenceIsSymmetrical(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := []rune("aAbBcCsyieé-_")
	word := func() string {
		b := make([]rune, r.IntN(8))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	f := &Finder{}
	for range 3_000 {
		a, b := word(), word()
		got := f.difference(a, b)
		if back := f.difference(b, a); back != got {
			t.Fatalf("%q and %q: %d, and %d", a, b, got, back)
		}
		if got == sameLetters {
			continue
		}
		want := different
		x, y := string(appendPlain(nil, a)), string(appendPlain(nil, b))
		short, long := x, y
		if len(short) > len(long) {
			short, long = long, short
		}
		if short == "" {
			want = different
		} else if d := slowDistance(x, y); d <= min(len(short)/3, 1)+min(len(short)/6, 1)+min(len(short)/12, 1) {
			want = d
		} else if len(short) >= 3 && strings.HasPrefix(long, short) {
			want = shortened
		}
		if got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}

// TestDistance holds it against the definition.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 20_000 {
		a, b := word(), word()
		want := slowDistance(a, b)
		if got := distance([]byte(a), []byte(b)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}

// slowDistance is the distance as it is defined.
func slowDistance(a, b string) int {
	switch {
	case a == "":
		return len(b)
	case b == "":
		return len(a)
	}
	change := slowDistance(a[1:], b[1:])
	if a[0] == b[0] {
		return change
	}
	least := min(change, slowDistance(a[1:], b), slowDistance(a, b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, slowDistance(a[2:], b[2:]))
	}
	return least + 1
}

func TestNearest(t *testing.T) {
	f := &Finder{}
	for _, c := range []struct {
		to    string
		names []string
		best  int
		least int
	}{
		{"imag", []string{"image", "images", "imagine"}, 0, 1},
		{"replicas", []string{"image", "images"}, -1, different},
		{"leg", []string{"log", "lag", "level"}, -1, 1},
		{"IMAGE", []string{"images", "image", "Image"}, -1, sameLetters},
		{"imag", []string{"image", "image"}, 0, 1},
	} {
		if best, least := f.nearest(c.to, c.names); best != c.best || least != c.least {
			t.Errorf("%s in %q: %d, %d, want %d, %d", c.to, c.names, best, least, c.best, c.least)
		}
	}
	f.work = maxWork
	if best, least := f.nearest("image", []string{"image"}); best != -1 || least != different {
		t.Errorf("beyond the bound: %d, %d", best, least)
	}
}
