package settings

import "testing"

func TestBytes(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  Bytes
		print string // "" if text is an error
	}{
		{"0", 0, "0"}, {"1", 1, "1"}, {"1023", 1023, "1023"}, {"1024", 1024, "1KiB"}, {"512KiB", 512 * 1024, "512KiB"}, {"256MiB", 268435456, "256MiB"},
		{"64Mi", 67108864, "64MiB"}, {"2 GiB", 2147483648, "2GiB"}, {"1GB", 1000000000, "1000000000"}, {"3kB", 3000, "3000"}, {"5B", 5, "5"}, {" 7MB ", 7000000, "7000000"},
		{"", 0, ""}, {"-1", 0, ""}, {"1.5GiB", 0, ""}, {"1kb", 0, ""}, {"lots", 0, ""}, {"9223372036854775808", 0, ""}, {"9007199254740993KiB", 0, ""}, {"GiB", 0, ""},
	} {
		var b Bytes
		err := b.UnmarshalText([]byte(tc.text))
		if (err == nil) != (tc.print != "") || b != tc.want || err == nil && b.String() != tc.print {
			t.Errorf("%q: %d, %v, %v", tc.text, b, b, err)
		}
	}
	if MiB != 1024*KiB || GiB != 1024*MiB || KiB != 1024 {
		t.Error("the units are wrong")
	}
}
