package intercom

import (
	"encoding/json"
	"errors"
	"testing"

	"conch/companions/skills"
)

func tools(t *testing.T, i skills.Intercom) map[string]skills.Tool {
	t.Helper()
	all := map[string]skills.Tool{}
	for _, tool := range New(skills.Host{Intercom: &i}).Tools() {
		all[tool.Name] = tool
	}
	return all
}

func TestIntercomSkill(t *testing.T) {
	if New(skills.Host{}) != nil {
		t.Error("there is a skill where nobody can be called")
	}
	called, rings := "", errors.New("nobody is calling")
	all := tools(t, skills.Intercom{
		Names: func() []string { return []string{"kitchen", "hall"} },
		Call: func(name string) (skills.InputClaim, error) {
			called = name
			if name == "moon" {
				return skills.InputClaim{}, errors.New("there is no moon to call")
			}
			return skills.InputClaim{}, nil
		},
		Answer: func() (skills.InputClaim, error) { return skills.InputClaim{}, rings },
		HangUp: func() bool { return false },
	})
	use := func(name, args string) (skills.Result, error) {
		return all[name].Handler(skills.Context{Context: t.Context()}, json.RawMessage(args))
	}
	if r, err := use("call_device", `{"name":"kitchen"}`); err != nil || called != "kitchen" {
		t.Errorf("called %q: %v", called, err)
	} else if _, ok := r.Effect.(skills.InputClaim); !ok {
		t.Errorf("a call is %T", r.Effect)
	}
	for _, args := range []string{`{"name":"moon"}`, `{"name":"  "}`, `{"name":7}`} {
		if r, err := use("call_device", args); err == nil || r.Effect != nil {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if _, err := use("answer", "{}"); !errors.Is(err, rings) {
		t.Errorf("where nothing rings: %v", err)
	}
	rings = nil
	if r, err := use("answer", "{}"); err != nil || r.Effect == nil {
		t.Errorf("where it rings: %+v, %v", r, err)
	}
	if r, _ := use("hang_up", "{}"); r.Output != "There is no call any more." {
		t.Errorf("without a call: %q", r.Output)
	}
	if r, _ := use("who_can_be_called", "{}"); r.Output != "kitchen, hall." {
		t.Errorf("who can be called: %q", r.Output)
	}
}
