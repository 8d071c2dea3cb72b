package admission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Upstream's bounds on the texts of Warning headers, in code points.
const (
	maxWarningRunes = 4096 // in total; longer warnings are cut
	maxCutRunes     = 256  // of each warning that is cut
)

// Notice is the prefix of crdeval's own notes. API servers do not send them.
const Notice = "crdeval: "

const notice = Notice

// Sent returns the warnings that reach a client as headers. API servers drop texts with control characters or invalid
// UTF-8, and cut or drop warnings beyond a total length. texts has no duplicates and is not changed.
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
	if whole && total <= maxWarningRunes {
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

// warned collects the warnings that are sent.
type warned struct {
	sent  []string
	runes int
	cut   bool
}

// add sends a text. The first text beyond the total length causes all earlier ones to be sent again, cut.
func (w *warned) add(text string, before []string) {
	switch {
	case w.cut && w.runes >= maxWarningRunes:
		return
	case w.cut:
		w.write(firstRunes(text, maxCutRunes))
		return
	case !fitsHeader(text):
		return
	case w.runes+utf8.RuneCountInString(text) <= maxWarningRunes:
		w.write(text)
		return
	}
	*w = warned{cut: true}
	for _, t := range append(before[:len(before):len(before)], text) {
		if !strings.HasPrefix(t, Notice) {
			w.write(firstRunes(t, maxCutRunes))
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

// firstRunes cuts a text. Invalid bytes in a cut text become U+FFFD, as upstream does it.
func firstRunes(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
