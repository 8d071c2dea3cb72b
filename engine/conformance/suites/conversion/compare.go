package conversion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/served"
)

// pair is a CRD compiled by both sides.
type pair struct {
	upstream, calling *oracle.Definition
	lister            *lister
	ours              *ours.Definition
	hook              *hook
}

func (p *pair) namespaced() bool { return p.ours.Engine().Scope() == apiextensionsv1.NamespaceScoped }

// result is what both sides answer.
type result struct {
	upstream oracle.Answer
	// received is what the webhook received from upstream. done counts what it did by behaviour.
	received map[string]bool
	done     map[string]int
	diffs    []string
}

// compare evaluates a request on both sides. check also looks for contradictions between the engine's own calls.
func (p *pair) compare(q question, check bool) (r result) {
	p.hook.record()
	r.upstream = p.ask(q)
	r.received, r.done = p.hook.record()
	var mine oracle.Answer
	switch q.how {
	case list:
		mine = p.table(q)
	case get, getScale:
		mine = p.read(q)
	case toVersion:
		mine = p.convert(q)
	default:
		mine = p.ours.Answer(q.Request)
	}
	received, _ := p.hook.record()
	r.diffs = differences(q, r.upstream, mine)
	if len(r.diffs) == 0 && (p.hook == nil || p.hook.rules == nil) {
		r.diffs = unlikeReceived(q, r.upstream, r.received, received)
	}
	if check && len(r.diffs) == 0 && q.how != list && q.how != get && q.how != getScale && q.how != toVersion {
		r.diffs = p.ours.Check(q.Request)
	}
	return r
}

// ask returns upstream's answer.
func (p *pair) ask(q question) (a oracle.Answer) {
	defer func() {
		if recover() != nil {
			a = oracle.Answer{Rejection: &oracle.Rejection{Code: 500, Message: served.Panicked}}
		}
	}()
	switch q.how {
	case list:
		table, status, err := p.lister.table(q)
		if err != nil {
			panic(err) // the handler did not answer
		}
		if status != nil {
			return oracle.Answer{Rejection: &oracle.Rejection{
				Code: status.Code, Reason: string(status.Reason), Message: status.Message,
			}}
		}
		return oracle.Answer{Object: table}
	case get:
		return p.upstream.Get(q.Request)
	case getScale:
		return p.upstream.GetScale(q.Request)
	case toVersion:
		object, err := p.calling.Converted(q.Body, q.Target)
		if err != nil {
			return oracle.Answer{Rejection: &oracle.Rejection{Code: 500, Message: err.Error()}}
		}
		return oracle.Answer{Object: object}
	}
	return p.upstream.Answer(q.Request)
}

// rejection returns an error of the engine as the rejection of an API server. For failed calls and rejected objects it
// has the text of an API server after what locates the object.
func rejection(err error, where *regexp.Regexp) *oracle.Rejection {
	r := &oracle.Rejection{
		Code: 500, Reason: string(engine.ReasonOf(err)), Message: where.ReplaceAllString(err.Error(), ""),
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Rejection != nil {
		r.Code, r.Reason, r.Message = e.Rejection.Code, e.Rejection.Reason, e.Rejection.Message
	}
	return r
}

var (
	nowhere  = regexp.MustCompile(`^$`)
	inList   = regexp.MustCompile(`^objects\[\d+\]: `)
	inObject = regexp.MustCompile(`^old object: `)
)

func (p *pair) read(q question) oracle.Answer {
	ctx, d := context.Background(), p.ours.Engine()
	read, err := d.Read(ctx, engine.JSON(q.Old), engine.ReadOptions{TargetVersion: q.Version})
	if err != nil {
		return oracle.Answer{Rejection: rejection(err, nowhere)}
	}
	if q.how == get {
		return oracle.Answer{Object: read.Object}
	}
	object, err := publish.GetScale(ctx, d, q.Version, engine.JSON(read.Object))
	if err != nil {
		return oracle.Answer{Rejection: rejection(err, nowhere)}
	}
	return oracle.Answer{Object: object}
}

func (p *pair) convert(q question) oracle.Answer {
	made, err := p.ours.Engine().Convert(context.Background(), engine.JSON(q.Body), q.Target, engine.TransformOptions{})
	if err != nil {
		return oracle.Answer{Rejection: rejection(err, nowhere)}
	}
	return oracle.Answer{Object: made.Object}
}

var rowObjects = map[string]publish.RowObject{
	"": publish.RowMetadata, "Metadata": publish.RowMetadata, "None": publish.RowNone, "Object": publish.RowWhole,
}

func (p *pair) table(q question) oracle.Answer {
	var docs []engine.Document
	for _, o := range q.Objects {
		docs = append(docs, engine.JSON(o))
	}
	made, err := publish.TableOf(context.Background(), p.ours.Engine(), q.Version, docs,
		publish.TableOptions{Object: rowObjects[q.Include], ResourceVersion: fmt.Sprint(revision)})
	if err != nil {
		return oracle.Answer{Rejection: rejection(err, inList)}
	}
	return oracle.Answer{Object: made.JSON()}
}

// unconverted are the reasons of errors of calls that an API server answers without a reason.
var unconverted = map[string]bool{
	string(engine.ReasonConversionUnavailable): true, string(engine.ReasonConversionFailed): true,
}

// failed matches the text of a call that failed.
var failed = regexp.MustCompile(`^conversion webhook for [^ ]+, Kind=[^ ]* failed: `)

// differences compares the answers.
func differences(q question, upstream, mine oracle.Answer) []string {
	if up, our := upstream.Rejection, mine.Rejection; up != nil && our != nil {
		reason, where := our.Reason, our.Message
		our.Message = inObject.ReplaceAllString(our.Message, "")
		old := where != our.Message
		if call := failed.MatchString(up.Message); call != unconverted[reason] {
			return []string{fmt.Sprintf("reason: %q for %q", reason, up.Message)}
		}
		if unconverted[reason] || old && reason == string(engine.ReasonObjectRejected) {
			our.Reason, upstream.Status, mine.Status = "", nil, nil
			// An error of the engine contains nothing else.
			upstream.Decoded, upstream.OldDecoded, mine.Decoded, mine.OldDecoded = nil, nil, nil, nil
			mine.Warnings = upstream.Warnings
		}
		if q.how == toVersion && reason == string(engine.ReasonVersionNotFound) {
			our.Reason = ""
		}
		up.Message, our.Message = plain(up.Message), plain(our.Message)
		upstream.Status, mine.Status = []byte(plain(string(upstream.Status))), []byte(plain(string(mine.Status)))
		if q.how == list {
			up.Message, our.Message = counts.ReplaceAllString(up.Message, "N"), counts.ReplaceAllString(our.Message, "N")
		}
	}
	switch {
	case upstream.Rejection != nil && upstream.Rejection.Message == served.Panicked && mine.Rejection != nil:
		return nil
	case q.how == get && upstream.Rejection != nil && strings.HasSuffix(upstream.Rejection.Message, notGot):
		return nil
	case q.how == getScale && upstream.Rejection != nil && strings.HasSuffix(upstream.Rejection.Message, notInteger):
		return nil
	case q.how == get || q.how == getScale || q.how == toVersion:
		upstream.Status = nil
	case q.how == list && upstream.Rejection == nil && mine.Rejection == nil:
		if !sameTable(upstream.Object, mine.Object) {
			return []string{fmt.Sprintf("table: upstream %s, ours %s", upstream.Object, mine.Object)}
		}
		return nil
	}
	return oracle.CompareWhole(upstream, mine, true)
}

// notGot is the end of an API server's answer to a GET of an object with a field items at its root: it takes the object
// for a list.
const notGot = "is not a list: no Items field in this object"

// notInteger is the end of an API server's answer to a GET of the Scale of an object whose replicas are 1.0. GetScale
// takes the JSON of the object that Read returned, which has 1.
const notInteger = "is of the type float64, expected int64"

var (
	// counts matches the counts of objects in a call: an API server converts a list object by object.
	counts = regexp.MustCompile(`returned \d+ objects, expected \d+`)
	// uids and times are what a server generates. stamps are their members, which the oracle removes from texts.
	stamps = regexp.MustCompile(`\\?"creationTimestamp\\?":\\?"TIME\\?",|,\\?"uid\\?":\\?"UID\\?"`)
	uids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(fmt.Sprintf(`(?:%d|%d)-\d\d-\d\dT\d\d:\d\d:\d\dZ`,
		time.Now().UTC().Year(), time.Now().UTC().Year()+1))
	// random is the end of a generated name.
	random = regexp.MustCompile(`\bx-[0-9a-z]{5}\b`)
)

// plain replaces what a server generates.
func plain(text string) string {
	text = times.ReplaceAllString(uids.ReplaceAllString(text, "UID"), "TIME")
	return random.ReplaceAllString(stamps.ReplaceAllString(text, ""), "x-RANDOM")
}

// unlikeReceived compares what the webhook received from both sides. An API server converts the objects of a list in
// turn until one fails; the engine sends all of them in one call.
func unlikeReceived(q question, upstream oracle.Answer, theirs, received map[string]bool) (diffs []string) {
	for _, part := range []struct {
		who       string
		some, all map[string]bool
	}{{"upstream", theirs, received}, {"ours", received, theirs}} {
		if part.who == "ours" && q.how == list && upstream.Rejection != nil {
			continue
		}
		for _, text := range slices.Sorted(maps.Keys(part.some)) {
			if !part.all[text] {
				diffs = append(diffs, fmt.Sprintf("request of %s alone: %s", part.who, text))
			}
		}
	}
	return diffs
}
