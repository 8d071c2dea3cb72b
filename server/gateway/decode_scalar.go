package gateway

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// scalar reads a boolean, number, string, or name of an enum. Numbers may stand in quotes, as protobuf's JSON has them.
func (d *decoder) scalar(f *field) (protoreflect.Value, error) {
	d.space()
	start := d.pos
	var none protoreflect.Value
	if f.kind == scalarString {
		text, err := d.string()
		return protoreflect.ValueOfString(text), err
	}
	var text string
	quoted := d.peek() == '"'
	if quoted {
		var err error
		if text, err = d.string(); err != nil {
			return none, err
		}
	} else {
		raw, err := d.value()
		if err != nil {
			return none, err
		}
		text = string(raw)
	}
	v, want := parseScalar(f, text, quoted)
	if want != "" {
		d.pos = start
		return none, d.fail("%s is expected", want)
	}
	return v, nil
}

// parseScalar makes a value of f from text, or says what it wants.
func parseScalar(f *field, text string, quoted bool) (v protoreflect.Value, want string) {
	switch f.kind {
	case scalarBool:
		if !quoted && (text == "true" || text == "false") {
			return protoreflect.ValueOfBool(text == "true"), ""
		}
		return v, "true or false"
	case scalarInt32:
		if n, ok := parseInt(text, 32); ok {
			return protoreflect.ValueOfInt32(int32(n)), ""
		}
		return v, "an integer within 32 bits"
	case scalarInt64:
		if n, ok := parseInt(text, 64); ok {
			return protoreflect.ValueOfInt64(n), ""
		}
		return v, "an integer within 64 bits"
	case scalarUint32:
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			return protoreflect.ValueOfUint32(uint32(n)), ""
		}
		return v, "an integer from 0 within 32 bits"
	case scalarUint64:
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return protoreflect.ValueOfUint64(n), ""
		}
		return v, "an integer from 0 within 64 bits"
	case scalarFloat, scalarDouble:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || (!quoted && (math.IsNaN(n) || math.IsInf(n, 0))) {
			return v, "a number"
		}
		if f.kind == scalarFloat {
			return protoreflect.ValueOfFloat32(float32(n)), ""
		}
		return protoreflect.ValueOfFloat64(n), ""
	case scalarBytes:
		if b, err := base64.StdEncoding.DecodeString(text); quoted && err == nil {
			return protoreflect.ValueOfBytes(b), ""
		}
		return v, "a string in base64"
	case scalarEnum:
		return parseEnum(f.enum, text, quoted)
	}
	return v, "another value"
}

// parseInt takes what JSON can spell an integer as: 3, 3.0, 3e0. Signs and digits alone take the exact way.
func parseInt(text string, bits int) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, bits); err == nil {
		return n, text[0] != '+'
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return 0, false
	}
	return int64(x), true
}

func parseEnum(ed protoreflect.EnumDescriptor, text string, quoted bool) (v protoreflect.Value, want string) {
	if quoted {
		if ev := ed.Values().ByName(protoreflect.Name(text)); ev != nil {
			return protoreflect.ValueOfEnum(ev.Number()), ""
		}
	} else if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), ""
	}
	var names bytes.Buffer
	for i := range ed.Values().Len() {
		if i > 0 {
			names.WriteString(", ")
		}
		names.WriteString(string(ed.Values().Get(i).Name()))
	}
	return v, "one of " + names.String()
}
