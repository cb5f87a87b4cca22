package rehearsal

import "testing"

// What a person says to call somebody, as it is typed and as pocketsphinx hears it.
func TestRulesOfTheIntercom(t *testing.T) {
	tools := []string{"call_device", "answer", "hang_up", "who_can_be_called", "stop"}
	for _, c := range []struct{ said, tool, args string }{
		{"call the kitchen", "call_device", `{"name":"kitchen"}`},
		{"Ada, please call kitchen.", "call_device", `{"name":"kitchen"}`},
		{"phone the living room", "call_device", `{"name":"living room"}`},
		{"answer the call", "answer", "{}"},
		{"answer it", "answer", "{}"},
		{"hang up", "hang_up", "{}"},
		{"who can I call", "who_can_be_called", "{}"},
	} {
		r := Rules{}.Think(Thought{Words: c.said, Tools: tools, Instructions: "You are Ada, a companion."})
		if len(r.Calls) != 1 || r.Calls[0].Name != c.tool || r.Calls[0].Args != c.args {
			t.Errorf("%q calls %v; want %s %s", c.said, r.Calls, c.tool, c.args)
		}
	}
	if r := (Rules{}).Think(Thought{Words: "call echo with hello", Tools: append(tools, "test_echo")}); len(r.Calls) != 1 || r.Calls[0].Name != "test_echo" {
		t.Errorf("a tool that is named is not called: %v", r.Calls)
	}
	for _, said := range []string{"call the kitchen", "hang up", "answer it"} {
		if r := (Rules{}).Think(Thought{Words: said, Tools: []string{"stop"}}); len(r.Calls) > 0 {
			t.Errorf("%q calls %v where there is no intercom", said, r.Calls)
		}
	}
}
