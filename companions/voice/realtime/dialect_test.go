package realtime

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"conch/coordinator/turn"
)

// testdata/sessions/ga.jsonl holds what a server of that dialect sends, as lines {"on": a client's event, "send": [...]};
// "#2" means its second. $PCM:n stands for n samples of audio. It is valid by the official types
// (TestServerSessionIsOfficial). What other servers do differently is in testdata/servers (TestServers).

type rule struct {
	On   string            `json:"on"`
	Send []json.RawMessage `json:"send"`
}

func session(t testing.TB, dialect string) []rule {
	t.Helper()
	b, err := os.ReadFile("testdata/sessions/" + dialect + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r rule
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s.jsonl: %v", dialect, err)
		}
		for i, s := range r.Send {
			r.Send[i] = withAudio(s)
		}
		rules = append(rules, r)
	}
	return rules
}

func withAudio(b []byte) []byte {
	s := string(b)
	if i := strings.Index(s, "$PCM:"); i >= 0 {
		j := i + strings.IndexByte(s[i:], '"')
		n, _ := strconv.Atoi(s[i+5 : j])
		s = s[:i] + b64(n) + s[j:]
	}
	return []byte(s)
}

// play answers the client from the rules.
func play(rules []rule) func(p *peer, ev map[string]any) {
	seen := map[string]int{}
	return func(p *peer, ev map[string]any) {
		on := "open"
		if ev != nil {
			on = ev["type"].(string)
		}
		seen[on]++
		for _, r := range rules {
			if r.On == on || r.On == fmt.Sprintf("%s#%d", on, seen[on]) {
				for _, b := range r.Send {
					p.sendRaw(b)
				}
			}
		}
	}
}

// evening is a question, a question with a tool, an interruption, a question.
func evening(w *world) {
	w.want("ready")
	w.say("t-1", 4800)
	w.c.Do(turn.CommitInput{Turn: "t-1"})
	w.c.Do(turn.CreateResponse{Turn: "t-1"})
	w.want("committed t-1", "heard t-1 What time is it?", "started t-1 resp_1", "delta t-1 resp_1 7200", "done t-1 resp_1 completed")
	w.say("t-2", 4800)
	w.c.Do(turn.CommitInput{Turn: "t-2"})
	w.c.Do(turn.CreateResponse{Turn: "t-2"})
	w.want("committed t-2", "heard t-2 And in London?", "started t-2 resp_2", `call t-2 call_1 clock({"zone":"UTC"})`, "done t-2 resp_2 completed")
	w.c.Do(turn.SendToolOutput{Turn: "t-2", Call: "call_1", Output: `{"time":"12:00"}`})
	w.c.Do(turn.CreateResponse{Turn: "t-2"})
	w.want("started t-2 resp_3", "delta t-2 resp_3 24000")
	w.c.Do(turn.CancelResponse{Turn: "t-2", Response: "resp_3"})
	w.c.Do(turn.TruncateItem{Turn: "t-2", Item: "item_a2", Heard: 12000})
	w.say("t-3", 4800)
	w.c.Do(turn.CommitInput{Turn: "t-3"})
	w.c.Do(turn.CreateResponse{Turn: "t-3"})
	w.want("done t-2 resp_3 cancelled", "committed t-3", "heard t-3 Stop. Are you there?", "started t-3 resp_4", "delta t-3 resp_4 2400", "done t-3 resp_4 completed")
	if want := "It is noon.One two three four.Yes."; w.said != want {
		w.t.Errorf("the words were %q; want %q", w.said, want)
	}
}

func inDialect(t *testing.T, name string, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, err := DialectByName(name)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(c *Config) { c.Dialect = d })
		w.c.Tools([]turn.ToolSpec{{Name: "clock", Description: "the time", Schema: []byte(`{"type":"object"}`)}})
		w.auto, w.onEvent = false, play(session(t, name))
		w.run()
		defer w.stop()
		f(w)
	})
}

// An evening with the real one's protocol, and every event that it asks for.
func TestAnEvening(t *testing.T) {
	ask := []string{"clear", "append", "commit", "response.create"}
	tool := []string{"conversation.item.create", "response.create"}
	session := `{"type":"realtime","instructions":"You are Ada.","output_modalities":["audio"],"audio":{"input":{"format":{"type":"audio/pcm","rate":24000},"transcription":{"model":"scribe"},"turn_detection":null},"output":{"format":{"type":"audio/pcm","rate":24000},"voice":"marin"}},"tools":[{"type":"function","name":"clock","description":"the time","parameters":{"type":"object"}}]}`
	inDialect(t, "ga", func(w *world) {
		evening(w)
		p := w.peer(0)
		p.want(slices.Concat([]string{"session.update"}, ask, ask, tool, []string{"response.cancel", "conversation.item.truncate"}, ask)...)
		if n := p.samples(); n != 4800 {
			t.Errorf("the server heard %d samples; want 4800", n)
		}
		var up struct{ Session json.RawMessage }
		if err := json.Unmarshal(p.raw[0], &up); err != nil || string(up.Session) != session {
			t.Errorf("session = %s\nwant      %s", up.Session, session)
		}
	})
}
