package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"conch/device/pattern"
)

// The keys of --json are in snake_case. What also goes over wires or into files (members, messages, what a card granted) has keys of its
// own: those are still printed, for one release, beside the ones that stay.

// asJSON is v as --json prints it: nothing is [], and every key has its name in snake_case.
func asJSON(v any) ([]byte, error) {
	data, err := json.Marshal(full(v))
	if err != nil {
		return nil, err
	}
	return snakeBeside(data), nil
}

// full is v with empty lists where there are none.
func full(v any) any {
	if v == nil {
		return nil
	}
	c := reflect.New(reflect.TypeOf(v)).Elem()
	c.Set(reflect.ValueOf(v))
	fill(c, 0)
	return c.Interface()
}

// fill does so in place, as deep as anything here is.
func fill(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), depth+1)
		}
	}
}

var (
	oldKey = pattern.New(`^[A-Za-z][A-Za-z0-9]*$`)
	humps  = pattern.New(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
)

// snake is the name of a key that stays; the same, if it is one already.
func snake(key string) string {
	if !oldKey().MatchString(key) {
		return key
	}
	return strings.ToLower(humps().ReplaceAllString(key, "${1}${3}_${2}${4}"))
}

// snakeBeside puts, in each object, the name that stays before each key that has an older one. What is no JSON stays as it is.
func snakeBeside(data []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var b bytes.Buffer
	if err := snakeValue(d, &b); err != nil {
		return data
	}
	return b.Bytes()
}

func snakeValue(d *json.Decoder, b *bytes.Buffer) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, isDelim := token.(json.Delim)
	if !isDelim {
		text, err := json.Marshal(token)
		b.Write(text)
		return err
	}
	b.WriteRune(rune(open))
	type member struct{ key, value []byte }
	var members []member
	names := map[string]bool{}
	for first := true; d.More(); first = false {
		if open == '[' {
			if !first {
				b.WriteByte(',')
			}
			if err := snakeValue(d, b); err != nil {
				return err
			}
			continue
		}
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		var value bytes.Buffer
		if err := snakeValue(d, &value); err != nil {
			return err
		}
		members = append(members, member{[]byte(name), value.Bytes()})
		names[name] = true
	}
	first := true
	write := func(name string, value []byte) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		quoted, _ := json.Marshal(name) // a string always can be
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(value)
	}
	for _, m := range members {
		if s := snake(string(m.key)); !names[s] {
			names[s] = true
			write(s, m.value)
		}
		write(string(m.key), m.value)
	}
	end, err := d.Token()
	if err == nil {
		b.WriteRune(rune(end.(json.Delim))) //nolint:forcetypeassert // the decoder has checked it
	}
	return err
}
