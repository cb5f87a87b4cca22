package homeassistant

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/control"
	"conch/device/pattern"
	"conch/device/printable"
)

// maxPayload bounds what is read of a command, in bytes. Our choice: some minutes of speech.
const maxPayload = 4 << 10

// request is what the control socket is asked for.
type request struct {
	entity string
	path   string
	body   any
	quiet  bool // it makes the device quieter, or hear less: it has a queue and a limit of its own, so that nothing stands before it
	words  string
	holds  bool // it presses the button
	lets   bool // it lets go
}

// problem is why a command is not obeyed; empty: it is.
type problem string

// Problems.
const (
	tooLong    problem = "too long"
	noText     problem = "not text"
	noValue    problem = "not a value of this entity"
	noEntity   problem = "no such entity"
	mayNot     problem = "homeassistant.may_listen is false"
	isRetained problem = "retained"
	tooMany    problem = "too many"
	said       problem = "just said"
	queued     problem = "too many are waiting"
	tooLate    problem = "others were said for too long"
)

// decode reads a command. It only computes: what the device is asked for, or why not.
func (a about) decode(all []entity, topic string, payload []byte) (request, problem) {
	key, ok := strings.CutPrefix(topic, a.base()+"/")
	if ok {
		key, ok = strings.CutSuffix(key, "/set")
	}
	if !ok {
		return request{}, noEntity
	}
	for _, e := range all {
		if e.key != key || e.command == nil {
			continue
		}
		switch {
		case len(payload) > maxPayload:
			return request{}, tooLong
		case !utf8.Valid(payload):
			return request{}, noText
		}
		r, why := e.command(string(payload))
		r.entity = key
		return r, why
	}
	return request{}, noEntity
}

// hushPath answers with control.Hushed.
const hushPath = "/hush"

func stop(payload string) (request, problem) {
	if payload != press {
		return request{}, noValue
	}
	return request{path: hushPath, quiet: true}, ""
}

func microphone(r rules) func(string) (request, problem) {
	return func(payload string) (request, problem) {
		switch payload {
		case off:
			return request{path: "/mute", body: map[string]bool{"muted": true}, quiet: true}, ""
		case on:
			if !r.mayListen {
				return request{}, mayNot
			}
			return request{path: "/mute", body: map[string]bool{"muted": false}}, ""
		}
		return request{}, noValue
	}
}

func talk(payload string) (request, problem) {
	switch payload {
	case on:
		return request{path: "/press", holds: true}, ""
	case off:
		return request{path: "/release", quiet: true, lets: true}, ""
	}
	return request{}, noValue
}

func volume(payload string) (request, problem) {
	f, err := strconv.ParseFloat(payload, 64)
	if err != nil || !(f >= 0 && f <= 100) || len(payload) > 32 {
		return request{}, noValue
	}
	percent := int(math.Round(f))
	return request{path: "/volume", body: control.VolumeRequest{Percent: &percent}}, ""
}

func involve(of round.CompanionID) func(string) (request, problem) {
	return func(payload string) (request, problem) {
		for _, i := range involvements {
			if payload == i {
				to := round.Involvement(i)
				return request{path: "/room/control", body: round.Control{Companion: of, Involvement: &to}}, ""
			}
		}
		return request{}, noValue
	}
}

// object is the beginning of one in JSON.
var object = pattern.New(`^\s*\{\s*["}]`)

// say takes plain text, or {"text": …, "priority": …, "ttl": …} as control.SayRequest has them. What begins like that and is nothing of the
// kind is a template that went wrong, and not read aloud.
func say(most int) func(string) (request, problem) {
	return func(payload string) (request, problem) {
		q := control.SayRequest{Text: payload}
		if object().MatchString(payload) {
			q = control.SayRequest{}
			d := json.NewDecoder(strings.NewReader(payload))
			d.DisallowUnknownFields()
			if d.Decode(&q) != nil || d.Decode(new(any)) != io.EOF {
				return request{}, noValue
			}
		}
		q.Text, q.Key = strings.TrimSpace(printable.Text(q.Text)), ""
		if q.Text == "" {
			return request{}, noText
		}
		if utf8.RuneCountInString(q.Text) > most {
			return request{}, tooLong
		}
		if _, err := q.Injection(); err != nil {
			return request{}, noValue
		}
		return request{path: "/say", body: q, words: q.Text}, ""
	}
}

// Limits of what comes from there. Our choices: a slider that is drawn sends some in a second, and a person wants no more.
const (
	perSecond = 5
	burst     = 20
	repeats   = 2 * time.Second // within which the same words are those of a broker that delivered twice
)

// bucket is a limit. The zero value is full. It only computes.
type bucket struct {
	used float64
	last time.Duration
}

func (b *bucket) take(now time.Duration) bool {
	b.used = max(0, b.used-perSecond*(now-b.last).Seconds())
	b.last = now
	if b.used+1 > burst {
		return false
	}
	b.used++
	return true
}

// gate is what a command has to pass after it was understood. The zero value is open. It only computes.
type gate struct {
	quiet, rest bucket
	words       string
	at          time.Duration
}

func (g *gate) pass(r request, now time.Duration) problem {
	b := &g.rest
	if r.quiet {
		b = &g.quiet
	}
	if !b.take(now) {
		return tooMany
	}
	if r.words == "" {
		return ""
	}
	again := r.words == g.words && now-g.at < repeats
	if !again {
		g.words, g.at = r.words, now
	}
	if again {
		return said
	}
	return ""
}
