package settings

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set implements pflag.Value. It does not return errors of values: see Set.Err. A word that is the name of a flag is
// not a value.
func (o *Setting) Set(text string) error {
	for _, other := range o.set.Settings {
		if text == "--"+other.Name || other.Short != "" && text == "-"+other.Short {
			o.fail(" has no value: " + text + " is a flag")
			return nil
		}
	}
	o.take(fromFlag, "", o.split(text))
	return nil
}

// String implements pflag.Value.
func (o *Setting) String() string {
	if o.origin == fromDefault {
		return o.Default
	}
	return fmt.Sprint(o.field.Interface())
}

// Type implements pflag.Value: it returns what the help shows as the value. pflag shows nothing for bool.
func (o *Setting) Type() string {
	const maxShown = 16 // letters of an enum
	switch values := strings.Join(o.Enum, "|"); {
	case o.IsBool():
		return "bool"
	case o.Placeholder != "":
		return o.Placeholder
	case values != "" && len(values) <= maxShown:
		return values
	case o.field.Type() == durationType:
		return "DURATION"
	case o.field.CanInt() || o.field.CanUint() || o.field.CanFloat():
		return "N"
	}
	return "VALUE"
}

// GetSlice implements a part of pflag.SliceValue, from which cobra knows that a flag can be repeated.
func (o *Setting) GetSlice() []string {
	all, _ := o.field.Interface().([]string)
	return all
}

// split returns the values in a text: the items of a list, or one.
func (o *Setting) split(text string) []string {
	if !o.IsList() || !o.separated {
		return []string{text}
	}
	return strings.Split(text, ",")
}

// take sets the field, unless something with precedence has set it. A repeated flag appends to a list. place says where
// the values are from.
func (o *Setting) take(from origin, place string, texts []string) {
	if from < o.origin {
		return
	}
	again := from == fromFlag && o.origin == fromFlag
	o.origin, o.place = from, place
	if slices.Contains(texts, "") {
		o.fail(" is empty: give a value, or leave it out")
	} else if err := o.assign(texts, again); err != nil {
		o.fail(": " + err.Error())
	}
}

// fail adds an error of the value. problem continues the name of the flag.
func (o *Setting) fail(problem string) {
	o.set.errs = append(o.set.errs, errors.New("--"+o.Name+problem))
}

// assign parses texts and sets the field. After an error, the field is unchanged.
func (o *Setting) assign(texts []string, appends bool) error {
	switch v := o.field; v.Kind() {
	case reflect.Slice:
		if appends {
			texts = append(slices.Clone(o.GetSlice()), texts...)
		}
		v.Set(reflect.ValueOf(texts))
	case reflect.Map:
		all := map[string]string{}
		if old, ok := v.Interface().(map[string]string); ok && appends {
			all = old
		}
		for _, text := range texts {
			key, value, found := strings.Cut(text, "=")
			if !found {
				return fmt.Errorf("%q is not %s", text, o.Type())
			}
			all[key] = value
		}
		v.Set(reflect.ValueOf(all))
	default:
		value := reflect.New(v.Type()).Elem()
		err := parse(value, texts[0])
		if v.Kind() == reflect.String && o.Enum != nil && !contains(o.Enum, texts[0]) || err != nil && o.Enum != nil {
			err = fmt.Errorf("%q is not %s", texts[0], oneOf(o.Enum))
		}
		if err != nil {
			return err
		}
		v.Set(value)
	}
	return nil
}

// parse sets a value that is not a list to the meaning of a text.
func parse(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	problem := ""
	switch kind := v.Kind(); {
	case v.Type() == durationType:
		var d time.Duration
		if d, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is not a duration: use numbers with units, such as 500ms, 20s or 1m30s", text)
		}
		v.SetInt(int64(d))
	case kind == reflect.String:
		v.SetString(text)
	case kind == reflect.Bool:
		var b bool
		problem = "true or false"
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case v.CanInt():
		var n int64
		problem = "a whole number"
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		problem = "a whole number of 0 or more"
		n, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
	case v.CanFloat():
		var f float64
		problem = "a number"
		f, err = strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("the type %v of a setting", v.Type()))
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range", text)
	case err != nil:
		return fmt.Errorf("%q is not %s", text, problem)
	}
	return nil
}

// Accepted lists the values of the enum: a, b or c.
func (o *Setting) Accepted() string { return oneOf(o.Enum) }

// oneOf lists the values of an enum: a, b or c.
func oneOf(enum []string) string {
	if len(enum) == 1 {
		return enum[0]
	}
	last := len(enum) - 1
	return strings.Join(enum[:last], ", ") + " or " + enum[last]
}

func contains(enum []string, text string) bool { return slices.Contains(enum, text) }

// capitals matches a text that begins with a word in capitals.
var capitals = regexp.MustCompile(`^[A-Z]{2}`)

// lower returns a sentence as the continuation of another. A first word in capitals, such as TYPE, is unchanged.
func lower(sentence string) string {
	sentence = strings.TrimSuffix(sentence, ".")
	if capitals.MatchString(sentence) || sentence == "" {
		return sentence
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
