package transport

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// gRPC allocates messages from a pool and clears them each time. Its default pool has five sizes, the largest being
// 32 KiB and 1 MiB, so a batch of 40 KiB clears 1 MiB several times. This pool has every power of two from 256 bytes to
// 4 MiB. gRPC has one pool for all clients and servers of a process, and requires it to be set during initialization.
func init() {
	var sizes []uint8
	for exponent := uint8(8); exponent <= 22; exponent++ {
		sizes = append(sizes, exponent)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		panic(err) // cannot happen: the exponents are small
	}
	experimental.SetDefaultBufferPool(pool)
}
