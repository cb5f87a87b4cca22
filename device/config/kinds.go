package config

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/language"
	"conch/device/pattern"
	"conch/device/printable"
	"conch/gpio"
	"conch/mqtt"
)

// How a key is read, checked and shown, by what it is.

func choice(name string, field *string, about string, allowed ...string) key {
	return key{name: name, about: about, allowed: orList(allowed), choices: allowed, set: func(v any) error {
		s, ok := v.(string)
		if !ok || !slices.Contains(allowed, s) {
			return refusedError{}
		}
		*field = s
		return nil
	}, show: func() string { return strconv.Quote(*field) }}
}

// knowing is a key some of whose values can be named.
func knowing(choices []string, k key) key {
	k.choices = choices
	return k
}

// Choices are the values of a key that can be named, for who completes a word; nil: none.
func Choices(name string) []string {
	c := Default()
	all := keys(&c)
	if i := slices.IndexFunc(all, func(k key) bool { return k.name == name }); i >= 0 {
		return all[i].choices
	}
	return nil
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n)
	case string: // environment and flags
		f, err := strconv.ParseFloat(n, 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

func integer(name string, field *int, low, high int, why, about string) key {
	return key{name: name, about: about, allowed: fmt.Sprintf("a whole number, %d to %d", low, high), why: why, set: func(v any) error {
		f, ok := number(v)
		if !ok || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
			return refusedError{}
		}
		*field = int(f)
		return nil
	}, show: func() string { return strconv.Itoa(*field) }}
}

// orZero is a number that may be 0 as well.
func orZero(field *int, k key) key {
	set := k.set
	k.allowed = "0, or " + k.allowed
	k.set = func(v any) error {
		if f, ok := number(v); ok && f == 0 {
			*field = 0
			return nil
		}
		return set(v)
	}
	return k
}

// pin is a pin of the header. Whether it is free is for Misfits to say, which knows the board.
func pin(name string, field *int, about string) key {
	return integer(name, field, 0, 27, "the BCM number, not the position on the header", about)
}

// board is a name in the table of boards.
func board(name string, field *string, about string) key {
	k := checkedText(name, field, maxLine, "empty, or a board that conch gpio list --boards names", about, oneLine)
	for _, b := range gpio.Boards {
		k.choices = append(k.choices, b.Name)
	}
	check := k.set
	k.set = func(v any) error {
		if list, ok := v.([]any); ok { // two of them, as a person may write it: Misfits tells
			v = strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
		}
		if err := check(v); err != nil {
			return err
		}
		return checkBoard(*field)
	}
	return k
}

// list has a key of several words take a list of them as well as one text with commas between them, and show the list.
func list(k key, field *string) key {
	set := k.set
	k.set = func(v any) error {
		words, ok := v.([]any)
		if !ok {
			return set(v)
		}
		all := make([]string, len(words))
		for i, w := range words {
			switch w := w.(type) {
			case string:
				if strings.Contains(w, ",") || strings.TrimSpace(w) == "" {
					return refusedError{}
				}
				all[i] = w
			case int64:
				all[i] = strconv.FormatInt(w, 10)
			default:
				return refusedError{}
			}
		}
		return set(strings.Join(all, ","))
	}
	k.show = func() string {
		var all []string
		for _, w := range strings.Split(*field, ",") {
			if w = strings.TrimSpace(w); w != "" {
				all = append(all, Quote(w))
			}
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return k
}

var keyWords = pattern.New(`\b(KEY|BTN)_[A-Z0-9_]+`)

// keyNames are names of keys of an input device.
func keyNames(name string, field *string, about string) key {
	k := checkedText(name, field, maxLine, `a list of keys' names, as in ["KEY_PHONE"]`, about, oneLine)
	check := k.set
	k.set = func(v any) error {
		if err := check(v); err != nil {
			return err
		}
		if _, err := gpio.ParseKeys(*field); err != nil {
			text, known, _ := strings.Cut(strings.TrimPrefix(err.Error(), "gpio: "), "; a number of ")
			hint := "conch gpio list shows the keys that are here"
			if near := Nearest(*field, keyWords().FindAllString(known, -1)); near != "" {
				hint = "did you mean " + near + "?"
			}
			return refusedError{text + " (" + hint + ")"}
		}
		return nil
	}
	return list(k, field)
}

func duration(name string, field *time.Duration, unit time.Duration, low, high float64, why, about string) key {
	return key{name: name, about: about, allowed: fmt.Sprintf("%g to %g", low, high), why: why, set: func(v any) error {
		f, ok := number(v)
		if !ok || f < low || f > high {
			return refusedError{}
		}
		*field = time.Duration(math.Round(f * float64(unit)))
		return nil
	}, show: func() string { return strconv.FormatFloat(float64(*field)/float64(unit), 'g', -1, 64) }}
}

func millis(name string, field *time.Duration, low, high float64, why, about string) key {
	return duration(name, field, time.Millisecond, low, high, why, about+", in milliseconds")
}

func seconds(name string, field *time.Duration, low, high float64, about string) key {
	return duration(name, field, time.Second, low, high, "", about+", in seconds")
}

func price(name string, field *float64, about string) key {
	return key{name: name, about: about, allowed: "0 to 100000", set: func(v any) error {
		f, ok := number(v)
		if !ok || f < 0 || f > 100000 {
			return refusedError{}
		}
		*field = f
		return nil
	}, show: func() string { return strconv.FormatFloat(*field, 'f', -1, 64) }}
}

func boolean(name string, field *bool, about string) key {
	return key{name: name, about: about, allowed: "true or false", choices: []string{"true", "false"}, set: func(v any) error {
		switch v {
		case true, "true":
			*field = true
		case false, "false":
			*field = false
		default:
			return refusedError{}
		}
		return nil
	}, show: func() string { return strconv.FormatBool(*field) }}
}

// checkedText is text of at most limit bytes that check, if there is one, accepts.
func checkedText(name string, field *string, limit int, allowed, about string, check func(string) bool) key {
	return key{name: name, about: about, allowed: allowed, set: func(v any) error {
		s, ok := v.(string)
		if !ok || len(s) > limit || !utf8.ValidString(s) || strings.ContainsRune(s, 0) || (check != nil && !check(s)) {
			return refusedError{}
		}
		*field = s
		return nil
	}, show: func() string { return Quote(*field) }}
}

func oneLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func text(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, fmt.Sprintf("one line of text, at most %d bytes", maxLine), about, oneLine)
}

func required(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, fmt.Sprintf("one line of text, 1 to %d bytes", maxLine), about,
		func(s string) bool { return strings.TrimSpace(s) != "" && oneLine(s) })
}

func long(name string, field *string, about string) key {
	allowed := fmt.Sprintf("text of at most %d bytes, without control characters but tabs and ends of lines", maxText)
	return checkedText(name, field, maxText, allowed, about, func(s string) bool {
		return !strings.ContainsFunc(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	})
}

func nameChar(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
}

func label(name string, field *string, about string) key {
	allowed := fmt.Sprintf("1 to %d letters, digits, - and _ (it becomes part of a topic)", maxName)
	return checkedText(name, field, maxName, allowed, about, func(s string) bool {
		for i := range len(s) {
			if !nameChar(s[i]) {
				return false
			}
		}
		return s != ""
	})
}

// mostLanguages of one household.
const mostLanguages = 4

// languages are those that people speak, with commas between; the first is the device's own.
func languages(name string, field *[]string, otherwise *language.Language, about string) key {
	var choices, own []string
	for _, l := range language.All() {
		choices = append(choices, string(l))
		own = append(own, fmt.Sprintf("%s (%s)", string(l), l.Name()))
	}
	allowed := fmt.Sprintf(`empty, or up to %d codes of languages with commas between, as in "de" or "de,en" (conch itself speaks %s)`,
		mostLanguages, orList(own))
	return key{name: name, about: about, allowed: allowed, choices: choices, set: func(v any) error {
		text, ok := v.(string)
		var all []string
		for part := range strings.SplitSeq(text, ",") {
			code := language.Code(part)
			if text == "" {
				break
			}
			if ok = ok && code != "" && len(strings.TrimSpace(part)) == len(code) && !slices.Contains(all, code); !ok {
				return refusedError{}
			}
			all = append(all, code)
		}
		if !ok || len(all) > mostLanguages {
			return refusedError{}
		}
		*field = all
		return nil
	}, show: func() string { return strconv.Quote(cmp.Or(strings.Join(*field, ","), string(*otherwise))) }}
}

// deviceName is what people call a device, in any script: topics have its id.
func deviceName(name string, field *string, about string) key {
	allowed := fmt.Sprintf("empty, or a name of at most %d bytes, in any script and with spaces, that can be shown on one line and is no id", maxDevice)
	return checkedText(name, field, maxDevice, allowed, about, func(s string) bool {
		return s == "" || printable.IsName(s) && mqtt.CheckDevice(round.DeviceID(s)) != nil
	})
}

// nameList is a list of names as people write them: any letters, commas between.
func nameList(name string, field *string, about string) key {
	allowed := fmt.Sprintf(`a list of names, as in ["Ada", "Ben"], at most %d bytes each`, maxName)
	return list(checkedText(name, field, maxLine, allowed, about, func(s string) bool {
		for _, n := range strings.Split(s, ",") {
			if n = strings.TrimSpace(n); n == "" || len(n) > maxName || !printable.IsName(n) {
				return false
			}
		}
		return true
	}), field)
}

// pinList is BCM numbers.
func pinList(name string, field *string, about string) key {
	k := list(checkedText(name, field, maxName, "a list of up to 3 numbers from 0 to 27, as in [25, 24, 23]", about, func(s string) bool {
		pins, err := ParsePins(s)
		return err == nil && len(pins) <= 3
	}), field)
	show := k.show
	k.show = func() string { return strings.ReplaceAll(show(), `"`, "") }
	return k
}

// ParsePins reads BCM numbers with commas between them.
func ParsePins(s string) ([]int, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var pins []int
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(field)), "GPIO"))
		if err != nil || n < 0 || n > 27 {
			return nil, fmt.Errorf("%q is no pin of the header", strings.TrimSpace(field))
		}
		pins = append(pins, n)
	}
	return pins, nil
}

// hours is a span of the day, which may go past midnight.
func hours(name string, field *string, about string) key {
	return checkedText(name, field, maxName, "empty, or two times of the day, as in 22:00-07:00", about, func(s string) bool {
		_, _, err := ParseHours(s)
		return s == "" || err == nil
	})
}

// ParseHours reads "22:00-07:00" as times since midnight.
func ParseHours(s string) (from, to time.Duration, err error) {
	a, b, _ := strings.Cut(s, "-")
	for text, into := range map[string]*time.Duration{a: &from, b: &to} {
		at, err := time.Parse("15:04", strings.TrimSpace(text))
		if err != nil {
			return 0, 0, fmt.Errorf("%q is no time of the day", text)
		}
		*into = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	return from, to, nil
}

// memberIDs is a list of devices' ids: a name that slipped in would be nobody's, and its device ignored without a word.
func memberIDs(name string, field *string, about string) key {
	allowed := fmt.Sprintf("a list of devices' ids, as conch room id prints them (20 letters a-z and digits 2-7), at most %d", maxMembers)
	k := checkedText(name, field, maxMembers*(len("01234567890123456789")+2), allowed, about, func(s string) bool {
		ids := Room{Members: s}.IDs()
		return oneLine(s) && len(ids) <= maxMembers && !slices.ContainsFunc(ids, func(d round.DeviceID) bool { return mqtt.CheckDevice(d) != nil })
	})
	check := k.set
	k.set = func(v any) error {
		err := check(v)
		if s, ok := v.(string); ok && err != nil {
			for _, d := range (Room{Members: s}).IDs() {
				if mqtt.CheckDevice(d) != nil {
					return refusedError{fmt.Sprintf("%s is no device's id; must be %s", Quote(clip(string(d), 40)), allowed)}
				}
			}
		}
		return err
	}
	return list(k, field)
}

// maxMembers is as many devices as a room may have (companions/round).
const maxMembers = 64

// maxBrokers is as many nodes as a cluster has at a home or an office, and more.
const maxBrokers = 8

func broker(name string, field *string, about string) key {
	allowed := fmt.Sprintf("empty, embedded, mqtt://HOST:PORT, mqtts://…, ws://… or wss://…; or a list of the nodes of one cluster, at most %d",
		maxBrokers)
	k := checkedText(name, field, maxBrokers*100, allowed, about, func(s string) bool {
		all := Room{Broker: s}.Brokers()
		return s == "" || s == "embedded" || oneLine(s) && len(all) <= maxBrokers &&
			!slices.ContainsFunc(all, func(s string) bool { return !brokerURL(s) })
	})
	k = ported(k)
	one, several := k.show, list(k, field)
	several.show = func() string {
		if strings.Contains(*field, ",") {
			return list(k, field).show()
		}
		return one()
	}
	return several
}

func brokerURL(s string) bool {
	u, err := url.Parse(s)
	return oneLine(s) && err == nil && u.Host != "" && u.User == nil && slices.Contains([]string{"mqtt", "tcp", "mqtts", "ssl", "ws", "wss"}, u.Scheme)
}

// foreignBroker is one that is none of conch's.
func foreignBroker(name string, field *string, about string) key {
	return ported(checkedText(name, field, maxLine, "empty, mqtt://HOST:PORT, mqtts://…, ws://… or wss://…", about,
		func(s string) bool { return s == "" || brokerURL(s) }))
}

// ported has a key whose value holds addresses, with spaces or commas between, refuse a port that no server can have.
func ported(k key) key {
	set := k.set
	k.set = func(v any) error {
		s, _ := v.(string)
		for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
			if wrong := wrongHost(word); wrong != "" {
				return refusedError{wrong}
			}
		}
		return set(v)
	}
	return k
}

// wrongHost says what is wrong with host and port of an address with a scheme; empty: nothing.
func wrongHost(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host := rest
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		host = rest[:at]
	}
	if strings.Count(host, ":") > 1 && !strings.ContainsAny(host, "[@") {
		return "an address of IPv6 stands in brackets, as in [::1]:8080"
	}
	u, err := url.Parse(address)
	if err != nil || u.Port() == "" || rest == "" {
		return ""
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return fmt.Sprintf("there is no port %s; ports are 1 to 65535", clip(u.Port(), 40))
	}
	return ""
}

// address is where a server of this machine listens.
func address(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "HOST:PORT, as in 127.0.0.1:1883", about, hostPort)
}

func hostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	n, bad := strconv.Atoi(port)
	return oneLine(s) && err == nil && bad == nil && n >= 0 && n <= 65535
}

// maybeAddress is one of a server that need not be.
func maybeAddress(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "empty, or HOST:PORT, as in 127.0.0.1:7485", about, func(s string) bool { return s == "" || hostPort(s) })
}

var busAndSelect = pattern.New(`^[0-9]{1,3}\.[0-9]{1,3}$`)

func spiBus(name string, field *string, about string) key {
	return checkedText(name, field, maxName, "BUS.SELECT, as in 0.0", about, busAndSelect().MatchString)
}

func chatServer(name string, field *string, about string) key {
	return ported(checkedText(name, field, maxLine, "empty, http://HOST… or https://HOST…", about, func(s string) bool {
		u, err := url.Parse(s)
		return s == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
	}))
}

func voiceServer(name string, field *string, about string) key {
	return ported(checkedText(name, field, maxLine, "ws://HOST…, wss://HOST…, http://HOST… or https://HOST…", about, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) && u.Host != "" && u.User == nil
	}))
}

func directory(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "an absolute path, or empty", about,
		func(s string) bool { return oneLine(s) && (s == "" || filepath.IsAbs(s)) })
}
