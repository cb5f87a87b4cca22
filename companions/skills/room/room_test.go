package room

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"conch/companions/skills"
)

func TestToolsOfTheRoom(t *testing.T) {
	var set [2]string
	s := Skill{skills.Room{
		Members: func() string { return "Ada in kitchen." },
		Why:     func(companion string) string { return "Because of " + companion + "." },
		Manners: func(companion, involvement string) error {
			if companion == "nobody" {
				return errors.New("there is no nobody here")
			}
			set = [2]string{companion, involvement}
			return nil
		},
	}}
	call := func(name, args string) (string, error) {
		for _, tool := range s.Tools() {
			if tool.Name == name {
				r, err := tool.Handler(skills.Context{Turn: "t-1", Companion: "ada"}, json.RawMessage(args))
				return r.Output, err
			}
		}
		t.Fatalf("no tool %s", name)
		return "", nil
	}
	for _, c := range []struct{ name, args, want string }{
		{"who_is_here", `{}`, "Ada in kitchen."},
		{"why_did_you_speak", `{}`, "Because of ada."},
		{"set_involvement", `{"involvement":"low","companion":"ada"}`, "Involvement of ada is low now."},
		{"set_involvement", `{"involvement":"off"}`, "Involvement of everybody here is off now."},
	} {
		got, err := call(c.name, c.args)
		if err != nil || got != c.want {
			t.Errorf("%s(%s) = %q, %v; want %q", c.name, c.args, got, err, c.want)
		}
	}
	if set != [2]string{"", "off"} {
		t.Errorf("set %q, want the whole room to off", set)
	}
	if _, err := call("set_involvement", `{"involvement":"low","companion":"nobody"}`); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an unknown companion gave %v, want the error of the room", err)
	}
}

// Who is alone can tell why it spoke, and nothing of others.
func TestToolOfALoneCompanion(t *testing.T) {
	tools := New(skills.Host{Room: &skills.Room{Why: func(string) string { return "It is the only one." }}}).Tools()
	if len(tools) != 1 || tools[0].Name != "why_did_you_speak" {
		t.Fatalf("%+v", tools)
	}
	if r, err := tools[0].Handler(skills.Context{}, nil); err != nil || r.Output != "It is the only one." {
		t.Errorf("%+v %v", r, err)
	}
}
