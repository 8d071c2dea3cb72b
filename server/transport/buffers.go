package transport

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// gRPC takes the memory of a message from a pool, and has it zeroed each time. Its own pool knows five sizes, of which the largest two are 32 KiB and
// 1 MiB: a batch of 40 KiB would have a whole mebibyte zeroed, several times on its way. This one has every power of two from 256 bytes to 4 MiB.
//
// gRPC wants it set while the program starts, for all its clients and servers at once, since its codec cannot be told otherwise.
func init() {
	var sizes []uint8
	for exponent := uint8(8); exponent <= 22; exponent++ {
		sizes = append(sizes, exponent)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		panic(err) // the exponents are small
	}
	experimental.SetDefaultBufferPool(pool)
}
