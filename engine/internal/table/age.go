package table

import (
	"strconv"
	"time"
)

// appendSince appends the age of a time as a server prints it in a table: "<unknown>" for no time, "<invalid>" for an
// invalid or future time.
//
// Upstream: metav1.Time.UnmarshalQueryParameter, meta/table ConvertToHumanReadableDateType.
func appendSince(dst []byte, text string, now time.Time) []byte {
	if text == "" || text == "null" {
		return append(dst, unknownAge...)
	}
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return append(dst, invalidAge...)
	case t.IsZero():
		return append(dst, unknownAge...)
	}
	return appendAge(dst, now.Sub(t))
}

const (
	unknownAge = "<unknown>"
	invalidAge = "<invalid>"
)

// appendAge appends a duration in one unit, or in two if one is too coarse: 119s, 2m, 9m59s, 179m, 3h, 7h59m, 47h, 2d,
// 7d23h, 729d, 2y, 7y364d.
//
// Upstream: apimachinery pkg/util/duration HumanDuration.
func appendAge(dst []byte, d time.Duration) []byte {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	switch {
	case d <= -2*time.Second:
		return append(dst, invalidAge...) // tolerates a clock skew of less than 2s
	case d < 0:
		return append(dst, "0s"...)
	case d < 2*time.Minute:
		return appendUnits(dst, d, time.Second, 's', 0, 0)
	case d < 10*time.Minute:
		return appendUnits(dst, d, time.Minute, 'm', time.Second, 's')
	case d < 3*time.Hour:
		return appendUnits(dst, d, time.Minute, 'm', 0, 0)
	case d < 8*time.Hour:
		return appendUnits(dst, d, time.Hour, 'h', time.Minute, 'm')
	case d < 2*day:
		return appendUnits(dst, d, time.Hour, 'h', 0, 0)
	case d < 8*day:
		return appendUnits(dst, d, day, 'd', time.Hour, 'h')
	case d < 2*year:
		return appendUnits(dst, d, day, 'd', 0, 0)
	case d < 8*year:
		return appendUnits(dst, d, year, 'y', day, 'd')
	}
	return appendUnits(dst, d, year, 'y', 0, 0)
}

// appendUnits appends a number of units, and the remainder in a smaller unit unless it is 0.
func appendUnits(dst []byte, d, unit time.Duration, letter byte, smaller time.Duration, its byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(d/unit), 10), letter)
	if smaller != 0 && d%unit/smaller > 0 {
		dst = append(strconv.AppendInt(dst, int64(d%unit/smaller), 10), its)
	}
	return dst
}
