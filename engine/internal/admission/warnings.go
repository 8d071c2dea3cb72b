package admission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Upstream's bounds on the texts of Warning headers, in code points.
const (
	mostWarned    = 4096 // all of them; if they are longer, they are cut
	longestWarned = 256  // each that is cut
)

// Notice is how crdeval's own notes begin: no client of an API server is sent those.
const Notice = "crdeval: "

const notice = Notice

// Sent returns what of the warnings reaches a client as headers. Texts with control characters or invalid UTF-8 do not; and
// beyond a total length they are cut, and the last ones left out. No text stands twice in texts, which is not changed.
//
// Upstream: endpoints/filters/warning.go, AddWarning; apimachinery, util/net/http.go, NewWarningHeader.
func Sent(texts []string) []string {
	whole, total := true, 0
	for _, text := range texts {
		if !strings.HasPrefix(text, Notice) {
			whole = whole && fitsHeader(text)
			total += utf8.RuneCountInString(text)
		}
	}
	if whole && total <= mostWarned {
		return texts
	}
	var r warned
	var notes []string
	for i, text := range texts {
		if strings.HasPrefix(text, Notice) {
			notes = append(notes, text)
		} else {
			r.add(text, texts[:i])
		}
	}
	return append(r.sent, notes...)
}

// warned is what was sent so far.
type warned struct {
	sent  []string
	runes int
	cut   bool
}

// add sends a text. The first one that is too much has all those before it sent again, cut.
func (w *warned) add(text string, before []string) {
	switch {
	case w.cut && w.runes >= mostWarned:
		return
	case w.cut:
		w.write(firstRunes(text, longestWarned))
		return
	case !fitsHeader(text):
		return
	case w.runes+utf8.RuneCountInString(text) <= mostWarned:
		w.write(text)
		return
	}
	*w = warned{cut: true}
	for _, t := range append(before[:len(before):len(before)], text) {
		if !strings.HasPrefix(t, Notice) {
			w.write(firstRunes(t, longestWarned))
		}
	}
}

func (w *warned) write(text string) {
	if fitsHeader(text) {
		w.sent = append(w.sent, text)
		w.runes += utf8.RuneCountInString(text)
	}
}

func fitsHeader(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// firstRunes cuts as upstream does, which makes U+FFFD of invalid bytes in what it cuts.
func firstRunes(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
