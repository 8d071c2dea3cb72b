package hint

import (
	"math/rand/v2"
	"strings"
	"testing"
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
		if got <= samePlural {
			continue
		}
		want := far
		x, y := string(plain(a, nil)), string(plain(b, nil))
		short, long := x, y
		if len(short) > len(long) {
			short, long = long, short
		}
		if short == "" {
			want = far
		} else if d := slowDistance(x, y); d <= slips(len(short)) {
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
	if got, how := f.nearest("imag", names, nil); got != "image" || how != oneOff {
		t.Errorf("%s, %d", got, how)
	}
	if got, _ := f.nearest("imag", names, func(name string) bool { return name == "image" }); got != "Image" {
		t.Errorf("%s", got)
	}
	if got, how := f.nearest("replicas", names, nil); got != "" || how != far {
		t.Errorf("%s, %d", got, how)
	}
	f.work = maxWork
	if got, how := f.nearest("image", names, nil); got != "" || how != far {
		t.Errorf("%s, %d", got, how)
	}
}
