package mqtt

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// TestVersion1IsRead: what devices of version 1 sent (recorded from two of them at a foreign broker: a press, a question, a whisper, a control, a
// goodbye) is taken for what it was, under its own signature; and what we say of the same packet still says all of it, under the same names.
func TestVersion1IsRead(t *testing.T) {
	f, err := os.Open("testdata/version1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	methods := map[string]bool{}
	for lines.Scan() {
		var r struct{ Topic, Payload string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		l, refused := look("home", r.Topic, []byte(r.Payload))
		if refused != nil {
			t.Errorf("%s: %v", r.Topic, refused)
			continue
		}
		methods[l.Method] = true
		e, refused := l.open("home")
		if refused != nil {
			t.Errorf("%s: %v\n%s", l.Method, refused, r.Payload)
			continue
		}
		if e.Packet == nil || l.Method == methodHistory { // a hello is this package's; a history is told with its envelopes now (TestHistoryIsProved)
			continue
		}
		_, params, err := pack(l.from, e.Packet, extra{})
		if err != nil {
			t.Errorf("%s: %v", l.Method, err)
			continue
		}
		var then, now any
		if err := json.Unmarshal(l.Params, &then); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(params, &now); err != nil {
			t.Fatal(err)
		}
		if where := missing(l.Method, then, now); where != "" {
			t.Errorf("%s is not what it was:\nthen %s\nnow  %s", where, l.Params, params)
		}
	}
	if len(methods) < 10 {
		t.Errorf("only %v: this shows little", methods)
	}
}

// missing says what of then is not in now; more may be there.
func missing(where string, then, now any) string {
	switch then := then.(type) {
	case map[string]any:
		now, _ := now.(map[string]any)
		for k, v := range then {
			if w := missing(where+"."+k, v, now[k]); w != "" {
				return w
			}
		}
		return ""
	case []any:
		now, _ := now.([]any)
		if len(now) < len(then) {
			return where
		}
		for i, v := range then {
			if w := missing(where, v, now[i]); w != "" {
				return w
			}
		}
		return ""
	}
	if !reflect.DeepEqual(then, now) && !empty(then) {
		return where
	}
	return ""
}

// empty says whether a value is as good as none.
func empty(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }
