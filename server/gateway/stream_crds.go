package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// streamBody is the body of a stream before its items are read.
type streamBody struct {
	request *http.Request
	control *http.ResponseController
	most    int64 // bytes in a piece
	held    *room
	paced   *pacedBody
}

// reader returns what reads the items. Nothing is read yet.
func (b *streamBody) reader(yaml, bare bool) *streamReader {
	b.paced = b.held.of.newPaced(b.request, b.control)
	b.paced.off = true
	pieces := newLines(b.paced, b.most, b.held)
	r := &streamReader{body: b.request.Body, held: b.held, records: make(chan record, recordsAhead), from: pieces, yaml: yaml, bare: bare}
	if yaml {
		r.from = newDocuments(pieces)
	}
	return r
}

// broughtCRDs are the CRDs at the beginning of a body.
type broughtCRDs struct {
	documents []*crdevalv1.Document
	bytes     int64
}

// crds reads the first n pieces of a body. They have to come in the time that a body has which is no stream: the stream begins behind them. Errors are statuses.
func (b *streamBody) crds(from *streamReader, n int, limit ListLimit) (all broughtCRDs, err error) {
	if n == 0 {
		return all, nil
	}
	if limit.Maximum > 0 && n > limit.Maximum {
		return all, failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
			fmt.Sprintf("the query parameter \"crds\" is %d, and the limit %s is %d", n, limit.Name, limit.Maximum),
			map[string]string{"limit": limit.Name, "maximum": fmt.Sprint(limit.Maximum)})
	}
	from.begun, b.paced.off = true, false
	defer func() {
		b.paced.off = true
		b.paced.done()
	}()
	for len(all.documents) < n {
		p, err := from.from.next()
		_, ours := status.FromError(err)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return all, refusedParameter("the query parameter \"crds\" is %d, and the body has no more than %d lines or documents", n, len(all.documents))
		case errors.Is(err, os.ErrDeadlineExceeded):
			return all, b.paced.late(fmt.Sprintf("the CRDs at the beginning of the body came too slowly: they have %s, and a second more for each %d bytes", b.held.of.patience, bodyPace))
		case ours:
			return all, err
		default:
			return all, unreadable(err)
		}
		if all.bytes += int64(len(p.text)); all.bytes > b.most/2 {
			return all, failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
				fmt.Sprintf("the CRDs at the beginning of the body have more bytes than half of the limit max_message_bytes, which is %d", b.most),
				map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(b.most)})
		}
		document := &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: p.text}}
		if !from.yaml {
			document = newDocument(bytes.TrimSpace(p.text))
		}
		all.documents = append(all.documents, document)
	}
	return all, nil
}

// giveBack gives back the room of the CRDs, when the server has them.
func (c *broughtCRDs) giveBack(held *room) { held.give(c.bytes) }
