package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/webhook"
)

const reviewKind = "ConversionReview"

// reviewVersions are the supported versions of reviews. Reviews of these versions have the same fields.
var reviewVersions = []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"}

// maxShown is the maximum length of a client's text in a message, in code points.
const maxShown = 100

// maxReviewObjects bounds the objects of a review. An API server sends at most the objects of one page of a list.
const maxReviewObjects = 1 << 20

// readConversion reads a ConversionReview. The objects are slices of the body and are not parsed, so an error in an
// object is not an error of the body. The error is a status.
func readConversion(body []byte) (*webhook.Conversion, error) {
	r, s := &webhook.Conversion{}, &scanner{src: body}
	kind, found := "", false
	err := s.start()
	if err == nil {
		err = s.elements('{', '}', "a "+reviewKind, func(int) error {
			name, err := s.key()
			if err != nil {
				return err
			}
			switch string(name) {
			case "apiVersion":
				return s.text(&r.APIVersion)
			case "kind":
				return s.text(&kind)
			case "request":
				found = true
				return s.readConversionRequest(r)
			}
			return s.skip()
		})
	}
	if err == nil {
		err = s.end()
	}
	// Check the version first: in another version, fields can have other types.
	known := slices.Contains(reviewVersions, r.APIVersion) && kind == reviewKind
	switch {
	case known && err == nil:
		return r, checkConversion(r, found)
	case !known && (err == nil || r.APIVersion != "" && kind != ""):
		return nil, malformed(fmt.Sprintf("the body has apiVersion %q and kind %q, but crdeval answers only %s of %s: "+
			`set conversionReviewVersions: ["v1"] in spec.conversion.webhook of the CRD`,
			webhook.Cut(r.APIVersion, maxShown), webhook.Cut(kind, maxShown), reviewKind, strings.Join(reviewVersions, " and ")))
	}
	if limit, is := errors.AsType[*api.Error](err); is {
		return nil, limit
	}
	return nil, malformed(err.Error())
}

// checkConversion rejects a request that lacks a field that API servers always set.
func checkConversion(r *webhook.Conversion, found bool) error {
	switch {
	case !found:
		return malformed("the " + reviewKind + " has no request")
	case r.UID == "":
		return malformed("request.uid is empty: the answer must repeat it")
	case r.DesiredAPIVersion == "":
		return malformed("request.desiredAPIVersion is empty")
	}
	return nil
}

func (s *scanner) readConversionRequest(r *webhook.Conversion) error {
	return s.elements('{', '}', "the request of a "+reviewKind, func(int) error {
		name, err := s.key()
		if err != nil {
			return err
		}
		switch string(name) {
		case "uid":
			return s.text(&r.UID)
		case "desiredAPIVersion":
			return s.text(&r.DesiredAPIVersion)
		case "objects":
			return s.readObjects(r)
		}
		return s.skip()
	})
}

// readObjects reads the objects of a review, or null.
func (s *scanner) readObjects(r *webhook.Conversion) error {
	if r.Objects != nil {
		return s.fail("there are two lists of objects")
	}
	if s.peek() == 'n' {
		return s.skip()
	}
	return s.elements('[', ']', "a list of objects", func(i int) error {
		if i == maxReviewObjects {
			return api.LimitExceeded("max_review_objects", maxReviewObjects,
				"the %s has more objects than the limit max_review_objects, which is %d", reviewKind, maxReviewObjects)
		}
		object, err := s.value()
		r.Objects = append(r.Objects, object)
		return err
	})
}

// text reads a string.
func (s *scanner) text(into *string) error {
	text, err := s.string()
	*into = string(text)
	return err
}

// skip skips a value. It returns an error if the value is not JSON.
func (s *scanner) skip() error {
	s.space()
	start := s.pos
	text, err := s.value()
	if err == nil && !json.Valid(text) {
		s.pos = start
		err = s.fail("the value is not JSON")
	}
	return err
}
