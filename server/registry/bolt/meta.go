package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// bbolt alternates between two meta pages: each commit first syncs its data, then overwrites the page with the older
// state. It opens a file with the newest valid page and does not report the other. After Close both pages are valid. A
// process or machine that stops in the middle of a commit can leave a torn page, whose commit was not acknowledged. If a
// page was damaged otherwise, the last acknowledged commit can be missing. The state of the valid page is complete in
// both cases, because the next commit does not reuse pages of that state.
//
// These are the offsets and constants of bbolt's file format, in the byte order of the machine.
const (
	metaBytes     = 80 // the page header and the meta data
	metaAt        = 16
	pageSizeAt    = metaAt + 8
	highPageAt    = metaAt + 40
	transactionAt = metaAt + 48
	checksumAt    = metaAt + 56

	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	minPage       = 1 << 10
	maxPage       = 16 << 20
	metaPageCount = 2
)

// metaPage is a valid meta page.
type metaPage struct {
	pageSize, size int64 // of a page, and of the part of the file that the state uses
	transaction    uint64
}

// readMeta returns the meta page at an offset, nil if it is not valid.
func readMeta(f io.ReaderAt, offset int64) (*metaPage, error) {
	b := make([]byte, metaBytes)
	if n, err := f.ReadAt(b, offset); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[metaAt:checksumAt]) // a Hash returns no errors
	order := binary.NativeEndian
	if order.Uint32(b[metaAt:]) != metaMagic || order.Uint32(b[metaAt+4:]) != metaVersion ||
		order.Uint64(b[checksumAt:]) != sum.Sum64() {
		return nil, nil //nolint:nilnil // there is no valid page
	}
	size := int64(order.Uint32(b[pageSizeAt:]))
	return &metaPage{size, int64(order.Uint64(b[highPageAt:])) * size, order.Uint64(b[transactionAt:])}, nil
}

// inspect reads the meta pages of a file. damaged describes a missing or invalid one, and is empty if all are valid. The
// error is ErrCorrupt for a file that bbolt cannot open because it is truncated. An empty or missing file is a new one.
func inspect(path string) (damaged string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.IsDir() || info.Size() == 0 {
		return "", err
	}
	first, err := readMeta(f, 0)
	if err != nil {
		return "", err
	}
	var second *metaPage
	if first != nil {
		second, err = readMeta(f, first.pageSize)
	} else {
		for at := int64(minPage); second == nil && err == nil && at <= maxPage; at *= 2 {
			if second, err = readMeta(f, at); second != nil && second.pageSize != at {
				second = nil // of another file
			}
		}
	}
	if err != nil || first == nil && second == nil {
		return "", err // bbolt reports it
	}
	newest, number := first, 1
	if first == nil || second != nil && second.transaction > first.transaction {
		newest = second
	}
	if second == nil {
		number = metaPageCount
	}
	if info, err = f.Stat(); err != nil { // a writer extends the file before it writes a meta page
		return "", err
	}
	if info.Size() < max(newest.size, metaPageCount*newest.pageSize) {
		return "", corrupt(path, fmt.Errorf("it is truncated to %d of %d bytes", info.Size(), newest.size))
	}
	if first == nil || second == nil {
		damaged = fmt.Sprintf("meta page %d of %s is damaged; the other has the state after transaction %d",
			number, path, newest.transaction)
	}
	return damaged, nil
}
