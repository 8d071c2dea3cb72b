package crdeval

import (
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// withToken makes a call see what this client wrote. A token of the caller's own goes first; o is not changed.
func (c *Client) withToken(o *crdevalv1.EvaluationOptions) *crdevalv1.EvaluationOptions {
	token := c.atLeast()
	if token == "" || o.GetAtLeast() != "" {
		return o
	}
	mine := &crdevalv1.EvaluationOptions{AtLeast: token}
	proto.Merge(mine, o)
	return mine
}

// batch is how many of the items go into the next call: at least one, no more than the server takes, and no more bytes than
// half a message, which leaves room for what is not items.
func batch(items []*crdevalv1.Item, limits *crdevalv1.Limits) int {
	n, bytes := 0, int64(0)
	for _, item := range items {
		bytes += int64(proto.Size(item))
		if n > 0 && (n >= int(limits.GetMaxBatchItems()) || bytes > limits.GetMaxMessageBytes()/2) {
			break
		}
		n++
	}
	return n
}
