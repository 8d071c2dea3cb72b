package admission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// warn adds texts without duplicates, as API servers send each once. It drops upstream's texts that Sent would drop for
// those before them.
func (p *pass) warn(texts ...string) {
	if len(texts) == 0 {
		return
	}
	if p.warned == nil {
		p.warned = make(map[string]struct{}, len(p.out.Warnings)+len(texts))
		for _, text := range p.out.Warnings {
			p.warned[text] = struct{}{}
		}
	}
	for _, text := range texts {
		own := strings.HasPrefix(text, Notice)
		if p.sentRunes > maxWarningRunes && !own {
			continue
		}
		if _, there := p.warned[text]; !there {
			p.warned[text] = struct{}{}
			p.out.Warnings = append(p.out.Warnings, text)
			if !own && fitsHeader(text) {
				p.sentRunes += min(utf8.RuneCountInString(text), maxCutRunes)
			}
		}
	}
}

// Upstream's bounds on the texts of Warning headers, in code points.
const (
	maxWarningRunes = 4096 // in total; longer warnings are cut
	maxCutRunes     = 256  // of each warning that is cut
)

// Notice is the prefix of crdeval's own notes. API servers do not send them.
const Notice = "crdeval: "

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
	var notes, upstream []string
	for _, text := range texts {
		if strings.HasPrefix(text, Notice) {
			notes = append(notes, text)
		} else {
			upstream = append(upstream, text)
		}
	}
	var sent []string
	total = 0
	for i, text := range upstream {
		if !fitsHeader(text) {
			continue
		}
		if total += utf8.RuneCountInString(text); total > maxWarningRunes {
			return append(cut(upstream, i), notes...)
		}
		sent = append(sent, text)
	}
	return append(sent, notes...)
}

// cut returns the warnings up to index first, and further ones up to the total length, each of them cut.
func cut(texts []string, first int) (sent []string) {
	total := 0
	for i, text := range texts {
		if i > first && total >= maxWarningRunes {
			break
		}
		if utf8.RuneCountInString(text) > maxCutRunes {
			text = string([]rune(text)[:maxCutRunes]) // invalid bytes become U+FFFD, as upstream does it
		}
		if fitsHeader(text) {
			sent = append(sent, text)
			total += utf8.RuneCountInString(text)
		}
	}
	return sent
}

func fitsHeader(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
