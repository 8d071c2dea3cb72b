package hint

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/spelling"
)

func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want nearness
	}{
		{"replicas", "Replicas", sameLetters},
		{"cron-spec", "cronSpec", samePlain},
		{"cron_spec", "cron-spec", samePlain},
		{"host", "hosts", samePlural},
		{"policies", "policy", samePlural},
		{"class", "classes", samePlural},
		{"replcas", "replicas", oneOff},
		{"recplias", "replicas", twoOff},
		{"imgae", "image", oneOff},
		{"iamge", "image", oneOff},
		{"xmage", "image", oneOff},
		{"ab", "ac", far},
		{"nam", "name", oneOff},
		{"successfulJobHistoryLmit", "successfulJobsHistoryLimit", twoOff},
		{"desc", "description", shortened},
		{"serviceAccountName", "service", shortened},
		{"de", "description", far},
		{"image", "replicas", far},
		{"", "name", far},
		{strings.Repeat("x", 65), strings.Repeat("x", 64), far},
		{strings.Repeat("x", 65), strings.Repeat("X", 65), sameLetters},
		{strings.Repeat("Ⱥ", 30) + "a", strings.Repeat("Ⱥ", 30) + "b", far}, // whose small letters are longer
		{"größe", "GRÖSSE", twoOff},
		{"größen", "Größe", oneOff},
		{"ÄNDERUNG", "äderung", oneOff},
	} {
		f := &Finder{}
		if got := f.near(c.a, c.b); got != c.want || f.near(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if f.work == 0 {
			t.Error("nothing was counted")
		}
	}
}

// TestNearIsSymmetrical, whatever was compared before, and is what it would be by the letters alone.
func TestNearIsSymmetrical(t *testing.T) {
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
		got := f.near(a, b)
		if back := f.near(b, a); back != got {
			t.Fatalf("%q and %q: %d, and %d", a, b, got, back)
		}
		if a == "" || b == "" || got <= samePlural {
			continue
		}
		want := far
		x, y := strings.ToLower(a), strings.ToLower(b)
		short, long := x, y
		if len(short) > len(long) {
			short, long = long, short
		}
		if d := slowDistance(x, y); d <= slips(len(short)) {
			want = oneOff + nearness(d-1)
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
		for most := 1; most <= 3; most++ {
			if max(len(a), len(b))-min(len(a), len(b)) > most {
				continue
			}
			if got, _ := distance([]byte(a), []byte(b), most); got != want && (got <= most || want <= most) {
				t.Fatalf("%q and %q, at most %d: %d, want %d", a, b, most, got, want)
			}
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
	names := []string{"image", "images", "imagine", "Image"}
	if got, how := f.nearest("imag", names, nil, nil); got != "image" || how != oneOff {
		t.Errorf("%s, %d", got, how)
	}
	if got, _ := f.nearest("imag", names, nil, func(name string) bool { return name == "image" }); got != "Image" {
		t.Errorf("%s", got)
	}
	if got, how := f.nearest("replicas", names, nil, nil); got != "" || how != far {
		t.Errorf("%s, %d", got, how)
	}
	f.work = maxWork
	if got, how := f.nearest("image", names, nil, nil); got != "" || how != far {
		t.Errorf("%s, %d", got, how)
	}
}

// TestNearestByIndex: of many names an index finds what looking at each of them does, in less work.
func TestNearestByIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	letters := []rune("aAbBcCsyieé-_.K\u212a\u017f")
	word := func(most int) string {
		b := make([]rune, r.IntN(most))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
			if b[i] > 'z' && r.IntN(8) > 0 {
				b[i] = 'x'
			}
		}
		return string(b)
	}
	found := 0
	for range 300 {
		most := 2 + r.IntN(80)
		seen := map[string]bool{}
		for len(seen) < 60+r.IntN(100) && len(seen) < most*most {
			seen[word(most)] = true
		}
		names := slices.Sorted(maps.Keys(seen))
		index := spelling.New(names)
		for range 30 {
			to := word(most)
			if r.IntN(2) == 0 {
				to = mistyped(r, names[r.IntN(len(names))])
			}
			all, some := &Finder{}, &Finder{}
			skip := func(name string) bool { return len(name)%5 == 1 }
			want, wantHow := all.nearest(to, names, nil, skip)
			got, how := some.nearest(to, names, index, skip)
			if got != want || how != wantHow {
				t.Fatalf("%q: %q, %d, and of each of %q it is %q, %d", to, got, how, names, want, wantHow)
			}
			if want != "" {
				found++
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d were near to any", found)
	}
}

// mistyped is a word with up to three slips of the pen.
func mistyped(r *rand.Rand, word string) string {
	b := []byte(word)
	for range r.IntN(4) {
		if len(b) < 2 {
			break
		}
		switch i := r.IntN(len(b) - 1); r.IntN(5) {
		case 0:
			b = slices.Delete(b, i, i+1)
		case 1:
			b = slices.Insert(b, i, 'q')
		case 2:
			b[i] = "-_.xS"[r.IntN(5)]
		case 3:
			b[i], b[i+1] = b[i+1], b[i]
		case 4:
			b = append(b, "ies"[i%3:]...)
		}
	}
	return string(b)
}
