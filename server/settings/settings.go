// Package settings declares flags by the tags of structs, and reads their values from arguments, environment variables
// and YAML files. A flag takes precedence over a variable, a variable over a file, and a file over the default.
//
// settings.go has the tags, value.go parses values, and file.go reads files. Libraries for configuration (viper, koanf)
// were not used, because they lose the lines of a file, which errors name.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Set has the settings and the arguments of a struct. Values that cannot be parsed are collected, so that Err reports
// all of them. Their settings have the default.
//
// Each exported field is a setting, or an argument if it has the tag arg. Fields of embedded structs are fields of the
// struct. The type of a field is string, bool, int, int32, uint64, float64, time.Duration, []string, map[string]string,
// or implements encoding.TextUnmarshaler. An empty flag, argument or value in a file is an error, because it often comes
// from a variable that is not set. An empty environment variable sets nothing. Fields can have these tags:
//
//	name         the name of the flag. Default: the name of the field in lower case, with hyphens.
//	short        a letter for the flag
//	help         what the flag does
//	placeholder  the name of the value in the help. FILE and DIR also say how shells complete it.
//	ext          comma-separated extensions of the files that shells complete
//	default      the value without a flag
//	alone        the value of the flag without a value
//	enum         comma-separated accepted values
//	sep          none: the items of a list are not separated with commas. The flag can be repeated.
//	group        the heading in the help. An embedded struct can have it for its fields.
//	env          -: no environment variable
//	file         -: not in files
//	hidden       not in the help
//	arg          an argument, not a flag. Only the last one can be a list.
//	optional     the argument can be missing
type Set struct {
	Settings  []*Setting // in the order of the fields
	Arguments []*Argument

	prefix string
	errs   []error
}

// Setting is a field that a flag, a variable and a file can set. It implements pflag.Value.
type Setting struct {
	Name        string
	Short       string
	Help        string
	Placeholder string
	Extensions  []string
	Default     string
	Alone       string
	Enum        []string
	Group       string
	Variable    string // the environment variable, or ""
	InFile      bool   // files can set it
	Hidden      bool

	set       *Set
	field     reflect.Value
	separated bool // with commas
	origin    origin
	place     string // the variable, or the position in a file
}

// Argument is a field for arguments that are not flags.
type Argument struct {
	Name       string
	Help       string
	Extensions []string
	Enum       []string
	Optional   bool

	field reflect.Value
}

// origin is what has set a Setting, in the order of precedence.
type origin int

const (
	fromDefault origin = iota
	fromFile
	fromVariable
	fromFlag
)

// Declare returns the settings of a struct, and sets its fields to their defaults. target is a pointer to it. prefix
// begins the names of environment variables. Declare panics if a tag is wrong.
func Declare(target any, prefix string) *Set {
	s := &Set{prefix: prefix}
	s.declare(reflect.ValueOf(target).Elem(), "")
	return s
}

// CopyTo returns the settings of another struct of the same type. They have the values of s, and what has set them.
func (s *Set) CopyTo(target any) *Set {
	c := Declare(target, s.prefix)
	for i, o := range s.Settings {
		c.Settings[i].field.Set(o.field)
		c.Settings[i].origin, c.Settings[i].place = o.origin, o.place
	}
	return c
}

func (s *Set) declare(v reflect.Value, group string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get
		_, isArgument := f.Tag.Lookup("arg")
		switch {
		case f.Anonymous:
			s.declare(v.Field(i), cmp.Or(tag("group"), group))
		case !f.IsExported():
		case isArgument:
			_, optional := f.Tag.Lookup("optional")
			s.Arguments = append(s.Arguments, &Argument{Name: strings.ToUpper(cmp.Or(tag("name"), f.Name)), Help: tag("help"),
				Extensions: list(tag("ext")), Enum: list(tag("enum")), Optional: optional, field: v.Field(i)})
		default:
			s.Settings = append(s.Settings, s.setting(f, v.Field(i), group))
		}
	}
}

// setting returns the setting of a field, which gets its default.
func (s *Set) setting(f reflect.StructField, v reflect.Value, group string) *Setting {
	tag := f.Tag.Get
	_, hidden := f.Tag.Lookup("hidden")
	o := &Setting{
		Name: cmp.Or(tag("name"), nameOf(f.Name)), Short: tag("short"), Help: tag("help"), Placeholder: tag("placeholder"),
		Extensions: list(tag("ext")), Default: tag("default"), Alone: tag("alone"), Enum: list(tag("enum")),
		Group: cmp.Or(tag("group"), group), InFile: tag("file") != "-" && !hidden, Hidden: hidden,
		set: s, field: v, separated: tag("sep") != "none",
	}
	if o.IsBool() {
		o.Alone = "true"
	}
	if tag("env") != "-" {
		o.Variable = s.prefix + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
	}
	if o.Default != "" {
		if err := o.assign(o.split(o.Default), false); err != nil {
			panic(fmt.Sprintf("the default of --%s: %v", o.Name, err))
		}
	}
	return o
}

// nameOf returns the name of the flag for the name of a field: MaxWait is max-wait.
func nameOf(field string) string {
	var b strings.Builder
	for i, r := range field {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// list returns the parts of a tag.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// AddTo adds the flags to a set of flags.
func (s *Set) AddTo(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, o := range s.Settings {
		flags.AddFlag(o.flag())
	}
}

// flag returns the flag of a setting.
func (o *Setting) flag() *pflag.Flag {
	f := &pflag.Flag{Name: o.Name, Shorthand: o.Short, Usage: o.Help, Value: o, DefValue: o.Default, NoOptDefVal: o.Alone,
		Hidden: o.Hidden}
	if o.IsBool() && o.Default == "" {
		f.DefValue = "false"
	}
	return f
}

// Lookup returns the setting with a name, or nil.
func (s *Set) Lookup(name string) *Setting {
	for _, o := range s.Settings {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// IsFlag reports whether a flag has set the setting.
func (o *Setting) IsFlag() bool { return o.origin == fromFlag }

// IsDefault reports whether nothing has set the setting.
func (o *Setting) IsDefault() bool { return o.origin == fromDefault }

// IsInFile reports whether a file has set the setting.
func (o *Setting) IsInFile() bool { return o.origin == fromFile }

// IsBool reports whether the value is true or false.
func (o *Setting) IsBool() bool { return o.field.Kind() == reflect.Bool }

// IsList reports whether the value has items.
func (o *Setting) IsList() bool {
	return o.field.Kind() == reflect.Slice || o.field.Kind() == reflect.Map
}

// ReadArguments sets the fields of arguments that are not flags. It returns the words for which there is no field.
func (s *Set) ReadArguments(words []string) (rest []string, err error) {
	for _, a := range s.Arguments {
		isList := a.field.Kind() == reflect.Slice
		switch {
		case len(words) == 0 && !a.Optional:
			return nil, fmt.Errorf("the argument %s is missing: %s", a.Name, lower(a.Help))
		case len(words) == 0:
		case words[0] == "", isList && slices.Contains(words, ""):
			return nil, fmt.Errorf("the argument %s is empty: %s", a.Name, lower(a.Help))
		case isList:
			a.field.Set(reflect.ValueOf(words))
			words = nil
		case a.Enum != nil && !contains(a.Enum, words[0]):
			return nil, fmt.Errorf("%s: %q is not %s", a.Name, words[0], oneOf(a.Enum))
		default:
			a.field.SetString(words[0])
			words = words[1:]
		}
	}
	return words, nil
}

// Usage describes the argument: FILE..., or [FILE...] if it can be missing.
func (a *Argument) Usage() string {
	usage := a.Name
	if a.Enum != nil {
		usage = strings.Join(a.Enum, "|")
	}
	if a.field.Kind() == reflect.Slice {
		usage += "..."
	}
	if a.Optional {
		usage = "[" + usage + "]"
	}
	return usage
}

// ReadEnvironment sets settings that no flag has set to the values of environment variables that are not empty. lookup
// is like os.LookupEnv.
func (s *Set) ReadEnvironment(lookup func(string) (string, bool)) {
	for _, o := range s.Settings {
		if text, _ := lookup(o.Variable); text != "" && o.Variable != "" {
			o.take(fromVariable, o.Variable, o.split(text))
		}
	}
}

// Err returns the errors of all values that could not be parsed.
func (s *Set) Err() error { return errors.Join(s.errs...) }

// Explain adds to errors about settings the variables and the positions in files that set them. It returns nil for nil.
func (s *Set) Explain(err error) error {
	if err == nil {
		return nil
	}
	if of, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(of.Unwrap()...).Error() == err.Error() {
		var all []error
		for _, e := range of.Unwrap() {
			all = append(all, s.Explain(e))
		}
		return errors.Join(all...)
	}
	for _, o := range s.Settings {
		if o.place == "" || !regexp.MustCompile("--"+o.Name+`([^-\w]|$)`).MatchString(err.Error()) {
			continue
		}
		if o.origin == fromVariable {
			err = fmt.Errorf("%w (set by the variable %s)", err, o.place)
		} else {
			err = fmt.Errorf("%w (%s sets %s)", err, o.place, o.Name)
		}
	}
	return err
}

// durationType is the type of durations.
var durationType = reflect.TypeFor[time.Duration]()
