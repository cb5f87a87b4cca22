package home

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"conch/companions/skills"
)

// house is a house whose broker answers with err, and keeps a value.
func house(err error, kept string) (said *[]string, h *skills.Home) {
	said = new([]string)
	return said, &skills.Home{
		Things: []skills.Thing{
			{Name: "kitchen lamp", Topic: "k/set", Payloads: map[string]string{"on": "ON", "off": "OFF"}, Numbers: true, High: 100, Read: "k"},
			{Name: "outside", Read: "o"},
			{Name: "siren", Topic: "s/set", Payloads: map[string]string{"test": "1"}},
		},
		Publish: func(_ context.Context, topic, payload string) error {
			*said = append(*said, topic+"="+payload)
			return err
		},
		Read: func(context.Context, string) (string, error) { return kept, err },
	}
}

func TestAHouseIsSwitchedAndRead(t *testing.T) {
	for _, row := range []struct {
		tool, args, want string
		kept             string
		err              error
		said             string
		failed           bool
	}{
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":"on"}`, said: "k/set=ON", want: "The kitchen lamp was told: on."},
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":" Off"}`, said: "k/set=OFF", want: "The kitchen lamp was told: off."},
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":"40%"}`, said: "k/set=40", want: "The kitchen lamp was told: 40%."},
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":"101"}`, failed: true, want: `the kitchen lamp cannot be "101"; it can be: off, on, 0 to 100`},
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":"NaN"}`, failed: true, want: "cannot be"},
		{tool: "set_home", args: `{"thing":"kitchen lamp","value":"ON\"}"}`, failed: true, want: "cannot be"},
		{tool: "set_home", args: `{"thing":"siren","value":"0"}`, failed: true, want: "it can be: test"},
		{tool: "set_home", args: `{"thing":"door","value":"on"}`, failed: true, want: `there is no "door" in this house`},
		{tool: "set_home", args: `{"thing":"siren","value":"test"}`, said: "s/set=1", err: errors.New("the connection broke"), failed: true,
			want: "nobody knows whether the siren is test now: the connection broke"},
		{tool: "set_home", args: `{"thing":"siren","value":"test"}`, said: "s/set=1", err: skills.UnsentError{Why: errors.New("the broker is not there")}, failed: true,
			want: "nothing was sent, and the siren is as it was: the broker is not there"},
		{tool: "set_home", args: `{"thing":"siren","value":"test"}`, said: "s/set=1", err: context.DeadlineExceeded, failed: true, want: "did not answer in time"},
		{tool: "read_home", args: `{"thing":"outside"}`, kept: "7.5 °C", want: "The outside is: 7.5 °C"},
		{tool: "read_home", args: `{"thing":"kitchen lamp"}`, kept: "OFF", want: "The kitchen lamp is: off"},
		{tool: "read_home", args: `{"thing":"outside"}`, err: errors.New("gone"), failed: true, want: "the outside cannot be read: gone"},
	} {
		said, h := house(row.err, row.kept)
		for _, x := range New(skills.Host{Home: h}).Tools() {
			if x.Name != row.tool {
				continue
			}
			r, err := x.Handler(skills.Context{Context: t.Context()}, json.RawMessage(row.args))
			got := r.Output
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, row.want) || (err != nil) != row.failed || strings.Join(*said, " ") != row.said {
				t.Errorf("%s %s: %q, said %q; want %q, said %q", row.tool, row.args, got, *said, row.want, row.said)
			}
		}
	}
}

// JSON is not spoken: of what stands at a topic the field that is named is told, or else what tells most.
func TestJSONIsNotReadAloud(t *testing.T) {
	lamp := `{"brightness":120,"color":{"hue":30,"x":0.4},"linkquality":77,"state":"ON","update":{"state":"idle"}}`
	for _, row := range []struct{ kept, field, want string }{
		{lamp, "", "is: on"}, {lamp, "brightness", "is: 120"}, {lamp, "color.hue", "is: 30"}, {lamp, "state", "is: on"}, {lamp, "update", "is: idle"},
		{lamp, "heat", "cannot be read: it tells no heat, but brightness, color, linkquality, state, update"},
		{lamp, "color.heat", "it tells no color.heat, but"},
		{`{"temperature":-3.5,"humidity":40,"battery_low":false,"last_seen":"2026"}`, "", "is: battery low no, humidity 40, temperature -3.5"},
		{`{"Time":"2026","POWER":"OFF","Dimmer":5}`, "", "is: off"}, {` {"value": 1e3}`, "", "is: 1e3"}, {`"ON"`, "", "is: on"}, {`"open"`, "", "is: open"},
		{`[1,"two",{}]`, "", "is: 1, two"}, {`{"a":{"b":1}}`, "", "has no value that can be said"}, {`{}`, "", "has no value"}, {`null`, "", "has no value"},
		{`21.5`, "", "is: 21.5"}, {`21.5`, "temperature", "is: 21.5"}, {`21.5 °C`, "temperature", "is: 21.5 °C"}, {`[on]`, "", "is: [on]"}, {lamp, "state.on", "it tells no state.on"}, {`{not JSON`, "", "is neither a value nor JSON"},
		{"ON", "", "is: on"}, {`true`, "", "is: yes"},
	} {
		_, h := house(nil, row.kept)
		h.Things[0].Field, h.Things[0].Payloads = row.field, map[string]string{"on": `{"state":"ON"}`, "off": "OFF"}
		got, err := Skill{h}.read(skills.Context{Context: t.Context()}, json.RawMessage(`{"thing":"kitchen lamp"}`))
		text := got.Output
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, row.want) {
			t.Errorf("%s, field %q: %q; want %q", row.kept, row.field, text, row.want)
		}
	}
}

// A model is told what there is, and nothing that it may not touch.
func TestAModelIsToldWhatThereIs(t *testing.T) {
	_, h := house(nil, "")
	tools := New(skills.Host{Home: h}).Tools()
	if len(tools) != 2 || !strings.Contains(tools[0].Description, `"kitchen lamp: off, on, 0 to 100"; "siren: test"`) ||
		!strings.Contains(string(tools[0].Schema), `"enum":["kitchen lamp","siren"]`) || !strings.Contains(string(tools[1].Schema), `"enum":["kitchen lamp","outside"]`) {
		t.Errorf("%+v", tools)
	}
	if New(skills.Host{}) != nil || New(skills.Host{Home: &skills.Home{}}) != nil {
		t.Error("a house without anything has tools")
	}
	h.Things = h.Things[1:2]
	if tools := New(skills.Host{Home: h}).Tools(); len(tools) != 1 || tools[0].Name != "read_home" {
		t.Errorf("of a house that is only read: %+v", tools)
	}
}
