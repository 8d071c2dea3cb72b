package transport

import "time"

// Limits of calls over gRPC and REST.
const (
	// DefaultMaxMessageBytes bounds a message in either direction. The default of gRPC is 4 MiB.
	DefaultMaxMessageBytes = 64 << 20
	// MaxRequestID bounds a request ID in bytes.
	MaxRequestID = 128

	// MessageTimeout is the time to receive a message, without a second for every BytesPerSecond: over gRPC of the largest
	// message, over REST of the received bytes.
	MessageTimeout = 30 * time.Second
	BytesPerSecond = 512 << 10
	// DrainTimeout is the time for incomplete messages from the begin of draining.
	DrainTimeout = 2 * time.Second

	// MinProgress is how much of its responses a client must read in WritePatience, unless their rest is smaller.
	MinProgress   = 64 << 10
	WritePatience = time.Minute
	// FastBytes is how much of its responses a client must read in a second. Otherwise, others can take their memory.
	FastBytes = 512 << 10
	// StreamPatience is the time to read a message of a stream, because clients may process each message first. Over gRPC,
	// WritePatience is added.
	StreamPatience = 5 * time.Minute
)
