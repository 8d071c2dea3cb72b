package playground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/server/editor/playground/page"
)

// Call evaluates a body, see Evaluate, Explain, Complete and Hover.
type Call func(ctx context.Context, body []byte) ([]byte, error)

// Calls returns the calls by their name in the URL.
func (p *Playground) Calls() map[string]Call {
	return map[string]Call{"evaluate": p.Evaluate, "explain": p.Explain, "complete": p.Complete, "hover": p.Hover}
}

// Pages returns the files by their name in the URL, and the page itself also as "".
func (p *Playground) Pages() map[string]http.Handler {
	pages := map[string]http.Handler{"": p.files[index]}
	for name, f := range p.files {
		pages[name] = f
	}
	return pages
}

// handler serves the playground at the root, without authentication.
type handler struct {
	pages map[string]http.Handler
	calls map[string]Call
	seats chan struct{} // bounds concurrent evaluations
}

// Handler returns a handler that serves the playground at the root, without authentication. The number of concurrent
// evaluations is the number of processors.
func (p *Playground) Handler() http.Handler {
	return &handler{pages: p.Pages(), calls: p.Calls(), seats: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	name := strings.TrimPrefix(r.URL.Path, "/")
	page, call := h.pages[name], h.calls[name]
	switch isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case page == nil && call == nil:
		writeError(w, http.StatusNotFound, "the playground has no page "+strconv.Quote(r.URL.Path))
	case page != nil && isRead:
		page.ServeHTTP(w, r)
	case call != nil && r.Method == http.MethodPost:
		h.call(w, r, call)
	default:
		allowed := "GET, HEAD"
		if call != nil {
			allowed = "POST"
		}
		w.Header().Set("Allow", allowed)
		writeError(w, http.StatusMethodNotAllowed, "the method is "+r.Method+": use "+allowed)
	}
}

func (h *handler) call(w http.ResponseWriter, r *http.Request, call Call) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != kinds[".json"] {
		writeError(w, http.StatusUnsupportedMediaType, "the Content-Type is not application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, page.MaxRequestBytes))
	if err != nil {
		code := http.StatusBadRequest
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			code = http.StatusRequestEntityTooLarge
			err = fmt.Errorf("the body exceeds the limit of %d bytes: use smaller documents", page.MaxRequestBytes)
		case errors.Is(err, os.ErrDeadlineExceeded):
			code = http.StatusRequestTimeout
			err = errors.New("the body arrived too slowly: send it again over a faster connection")
		}
		writeError(w, code, err.Error())
		return
	}
	select {
	case h.seats <- struct{}{}:
		defer func() { <-h.seats }()
	case <-r.Context().Done():
		return
	}
	answer, err := call(r.Context(), body)
	if err != nil {
		code := http.StatusInternalServerError
		if errors.As(err, new(*RequestError)) {
			code = http.StatusBadRequest
		}
		writeError(w, code, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func writeError(w http.ResponseWriter, code int, message string) {
	text, _ := encode(map[string]string{"message": message}) // texts always encode
	writeJSON(w, code, text)
}

func writeJSON(w http.ResponseWriter, code int, text []byte) {
	h := w.Header()
	h.Set("Content-Type", kinds[".json"])
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text)
}
