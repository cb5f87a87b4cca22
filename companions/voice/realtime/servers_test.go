package realtime

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// fixture is what a server's own source shows of it (testdata/servers): what it takes and refuses, and what it does. The
// fake that it drives is strict: it refuses what the real one refuses.
type fixture struct {
	Source  string            `json:"source"`
	Open    []json.RawMessage `json:"open"`
	Knows   []string          `json:"knows"`
	Unknown json.RawMessage   `json:"unknown"` // absent: nothing is said
	Refuses map[string]json.RawMessage
	Session []fieldRule `json:"session"` // of the first session.update
	Create  []fieldRule `json:"create"`  // of response.create

	Hears           string          `json:"hears"` // commit, commit answers, silence
	Rate            int             `json:"rate"`
	Transcript      string          `json:"transcript"` // same, other: the item it comes under
	Hypotheses      bool            `json:"hypotheses"`
	NeedsTranscript bool            `json:"needs_transcript"`
	Metadata        bool            `json:"metadata"`
	EventIDs        string          `json:"event_ids"`
	Item            string          `json:"item"`
	Beta            bool            `json:"beta"`
	Replaces        bool            `json:"replaces"` // response.create ends a live answer
	Active          string          `json:"active"`   // code of its refusal beside one
	ActiveAsType    bool            `json:"active_as_type"`
	Cancel          string          `json:"cancel"`   // kept, forgotten, refused: what becomes of a cancelled answer
	Truncate        string          `json:"truncate"` // cuts, clears, ignored
	NoItem          json.RawMessage `json:"no_item"`
	Fails           json.RawMessage `json:"fails"` // how an answer fails without response.done
}

type fieldRule struct {
	Path   string          `json:"path"`
	Must   json.RawMessage `json:"must"`
	Not    json.RawMessage `json:"not"`
	Absent bool            `json:"absent"`
	Error  json.RawMessage `json:"error"` // what the real one says; absent: it does something else than wanted
	Note   json.RawMessage `json:"note"`  // said although it is taken
}

// said is an entry of the server's conversation.
type said struct{ id, role, text string }

// fake is a server that does what a fixture says. Its answers are known: the first in full, the second calls a tool, the
// third goes on until it is ended, all later ones in full.
type fake struct {
	fixture
	t *testing.T
	p *peer

	mu       sync.Mutex
	n        int
	errors   []string // that the client earned
	talk     []said
	pcm      []int16
	silence  int // ms that end an utterance, at a server that hears the end
	heard    int // utterances
	created  int
	live     string // the answer under way
	liveItem string
	epoch    int // of generations: a later one makes an earlier one stale
	failing  bool
	asked    []said // what the latest answer was given to see
}

func newFake(t *testing.T, name string) *fake {
	t.Helper()
	b, err := os.ReadFile("testdata/servers/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f.fixture); err != nil {
		t.Fatalf("%s.json: %v", name, err)
	}
	if f.Rate == 0 {
		f.Rate = rate
	}
	return f
}

func (f *fake) id(kind string) string { f.n++; return kind + "_" + strconv.Itoa(f.n) }

// say sends an event under the names that the server uses.
func (f *fake) say(ev map[string]any) {
	if f.Beta {
		for old, now := range aliases {
			if ev["type"] == now && now != "conversation.item.added" {
				ev["type"] = old
			}
		}
	}
	switch f.EventIDs {
	case "unique":
		ev["event_id"] = f.id("event")
	default: // a constant where the source has one; deltas have none
		if !strings.HasPrefix(ev["type"].(string), "response.") {
			ev["event_id"] = f.EventIDs
		}
	}
	b, _ := json.Marshal(ev)
	f.p.sendRaw(b)
}

// refuse sends an error of the fixture, and remembers that the client earned one.
func (f *fake) refuse(what string, raw json.RawMessage, ev map[string]any) {
	f.errors = append(f.errors, what)
	if len(raw) > 0 {
		f.p.sendRaw(f.fill(raw, ev))
	}
}

func (f *fake) fill(raw json.RawMessage, ev map[string]any) []byte {
	id, _ := ev["event_id"].(string)
	return []byte(strings.NewReplacer("$type", fmt.Sprint(ev["type"]), "$event", id).Replace(string(raw)))
}

func at(v any, path string) (any, bool) {
	for _, key := range strings.Split(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			e, ok := m[key]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(m) {
				return nil, false
			}
			v = m[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// checked holds an object to the rules of the fixture.
func (f *fake) checked(rules []fieldRule, obj any, ev map[string]any) bool {
	good := true
	for _, r := range rules {
		v, ok := at(obj, r.Path)
		b, _ := json.Marshal(v)
		var want any
		_ = json.Unmarshal(r.Must, &want)
		bad := r.Absent && ok || r.Must != nil && (!ok || !reflect.DeepEqual(v, want)) || r.Not != nil && (!ok || string(b) == string(r.Not))
		if bad {
			f.refuse(fmt.Sprintf("%s: %s = %s", ev["type"], r.Path, b), r.Error, ev)
			good = false
		} else if r.Note != nil {
			f.p.sendRaw(f.fill(r.Note, ev))
		}
	}
	return good
}

func (f *fake) on(p *peer, ev map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.p = p
	if ev == nil {
		f.talk, f.live, f.pcm = nil, "", nil
		for _, b := range f.Open {
			p.sendRaw(b)
		}
		return
	}
	typ := ev["type"].(string)
	if raw, ok := f.Refuses[typ]; ok {
		f.refuse(typ, raw, ev)
		return
	}
	if !slices.Contains(f.Knows, typ) {
		f.refuse(typ, f.Unknown, ev)
		return
	}
	switch typ {
	case "session.update":
		f.update(ev)
	case "input_audio_buffer.clear":
		f.pcm = nil
		f.say(map[string]any{"type": "input_audio_buffer.cleared"})
	case "input_audio_buffer.append":
		f.listen(ev)
	case "input_audio_buffer.commit":
		f.commit(ev)
	case "conversation.item.create":
		f.add(ev)
	case "conversation.item.delete", "conversation.item.truncate":
		f.cut(typ, ev)
	case "response.create":
		resp, _ := ev["response"].(map[string]any)
		if !f.checked(f.Create, resp, ev) {
			return
		}
		if f.live != "" && !f.Replaces {
			f.refuse("response.create beside an answer", f.activeError(ev), ev)
			return
		}
		f.supersede()
		f.answer(resp["metadata"])
	case "response.cancel":
		if f.live == "" && f.Hears == "commit" {
			f.refuse("response.cancel of nothing", json.RawMessage(`{"type":"error","error":{"type":"invalid_request_error","code":"response_cancel_not_active","message":"no active response","event_id":"$event"}}`), ev)
			return
		}
		f.epoch++
		f.end("cancelled")
	}
}

func (f *fake) activeError(ev map[string]any) json.RawMessage {
	field := "code"
	if f.ActiveAsType {
		field = "type"
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"error","error":{%q:%q,"message":"another response is in progress","event_id":"$event"}}`, field, f.Active))
}

func (f *fake) update(ev map[string]any) {
	if len(f.p.types()) <= 1 && !f.checked(f.Session, ev["session"], ev) {
		return // the real one would say so and go on without it, or not listen to the button
	}
	if ms, ok := at(ev, "session.audio.input.turn_detection.silence_duration_ms"); ok {
		f.silence = int(ms.(float64))
	}
	f.say(map[string]any{"type": "session.updated", "session": ev["session"]})
}

func (f *fake) listen(ev map[string]any) {
	b, err := base64.StdEncoding.DecodeString(ev["audio"].(string))
	if err != nil || len(b) == 0 || len(b)%2 != 0 {
		f.refuse("append", f.Unknown, ev)
		return
	}
	for i := 0; i < len(b); i += 2 {
		f.pcm = append(f.pcm, int16(uint16(b[i])|uint16(b[i+1])<<8))
	}
	if f.Hears != "silence" {
		return
	}
	quiet := 0
	for quiet < len(f.pcm) && f.pcm[len(f.pcm)-1-quiet] == 0 {
		quiet++
	}
	if spoken := len(f.pcm) - quiet; quiet*1000/f.Rate >= f.silence && quiet > 0 {
		f.pcm = nil
		if spoken*1000/f.Rate < 384 { // shorter than speech is
			return
		}
		item := f.id("item")
		f.say(map[string]any{"type": "input_audio_buffer.speech_started", "item_id": item, "audio_start_ms": 0})
		if f.live != "" {
			f.end("cancelled")
		}
		f.say(map[string]any{"type": "input_audio_buffer.speech_stopped", "item_id": item, "audio_end_ms": 0})
		f.hear(item)
	}
}

func (f *fake) commit(ev map[string]any) {
	if len(f.pcm)*1000/f.Rate < 100 {
		f.refuse("commit of too little", json.RawMessage(`{"type":"error","error":{"type":"invalid_request_error","message":"buffer too small"}}`), ev)
		return
	}
	if f.Hears == "silence" {
		return
	}
	f.pcm = nil
	item := f.id("item")
	f.say(map[string]any{"type": "input_audio_buffer.committed", "item_id": item, "previous_item_id": nil})
	f.hear(item)
}

// hear writes an utterance down, a while later, and answers it where the server does that by itself.
func (f *fake) hear(item string) {
	f.heard++
	text := fmt.Sprintf("Question %d.", f.heard)
	at := len(f.talk)
	if f.Hears == "commit" {
		s := said{id: item, role: "user", text: text} // the model hears it
		if f.NeedsTranscript {
			s.text = ""
		}
		f.talk = append(f.talk, s)
		f.say(map[string]any{"type": f.Item, "item": map[string]any{"id": item, "object": "realtime.item", "type": "message", "role": "user", "status": "completed", "content": []any{map[string]any{"type": "input_audio", "transcript": nil}}}, "previous_item_id": nil})
	}
	if f.Hears == "commit answers" {
		f.supersede()
	}
	f.epoch++
	epoch := f.epoch
	time.AfterFunc(200*time.Millisecond, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		stale := epoch != f.epoch && f.Hears != "commit"
		if stale && f.Hears == "silence" { // a generation that was cancelled before it began says nothing
			return
		}
		under := item
		if f.Transcript == "other" {
			under = f.id("item")
		}
		if at < len(f.talk) && f.talk[at].id == item {
			f.talk[at].text = text
		} else {
			f.talk = append(f.talk, said{id: f.id("item"), role: "user", text: text})
		}
		done := map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": under, "content_index": 0, "transcript": text}
		if f.Hypotheses {
			f.say(map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": under, "content_index": 0, "transcript": "Quest", "status": "in_progress"})
			done["status"] = "completed"
		}
		f.say(done)
		if f.Hears == "commit" {
			return
		}
		if f.Item == "conversation.item.added" {
			f.say(map[string]any{"type": f.Item, "item": map[string]any{"id": f.talk[len(f.talk)-1].id, "type": "message", "role": "user", "content": []any{map[string]any{"type": "input_audio", "transcript": text}}}})
		}
		if stale { // it was cancelled while it was written down: it begins, and ends
			id := f.id("resp")
			f.say(map[string]any{"type": "response.created", "response": map[string]any{"id": id, "status": "in_progress"}})
			f.say(map[string]any{"type": "response.done", "response": map[string]any{"id": id, "status": "cancelled"}})
			return
		}
		f.answer(nil)
	})
}

// supersede ends a live answer for the next one.
func (f *fake) supersede() {
	if f.live == "" {
		return
	}
	if f.Cancel == "refused" { // its task is gone, without a word
		f.live = ""
		return
	}
	f.end("cancelled")
}

// answer begins one, and what is known of it.
func (f *fake) answer(metadata any) {
	f.created++
	f.live, f.liveItem = f.id("resp"), f.id("item")
	f.asked = slices.Clone(f.talk)
	r := map[string]any{"id": f.live, "object": "realtime.response", "status": "in_progress", "output": []any{}}
	if f.Metadata {
		r["metadata"] = metadata
	}
	f.say(map[string]any{"type": "response.created", "response": r})
	if f.failing {
		f.live = ""
		f.p.sendRaw(f.Fails)
		return
	}
	if f.created == 2 {
		f.call()
		return
	}
	text := "One two three four five six seven eight."
	f.talk = append(f.talk, said{f.liveItem, "assistant", text})
	with := func(typ string, more map[string]any) {
		more["type"], more["response_id"], more["item_id"], more["output_index"], more["content_index"] = typ, f.live, f.liveItem, 0, 0
		f.say(more)
	}
	f.say(map[string]any{"type": "response.output_item.added", "response_id": f.live, "output_index": 0, "item": map[string]any{"id": f.liveItem, "type": "message", "role": "assistant", "content": []any{}}})
	with("response.output_audio_transcript.delta", map[string]any{"delta": text})
	for range 2 { // the same twice: silence is alike
		with("response.output_audio.delta", map[string]any{"delta": b64(12000)})
	}
	if f.created != 3 {
		f.end("completed")
	}
}

func (f *fake) call() {
	item := map[string]any{"id": f.liveItem, "type": "function_call", "status": "completed", "call_id": "call_1", "name": "clock", "arguments": "{}"}
	f.say(map[string]any{"type": "response.output_item.added", "response_id": f.live, "output_index": 0, "item": item})
	done := map[string]any{"type": "response.function_call_arguments.done", "response_id": f.live, "item_id": f.liveItem, "output_index": 0, "call_id": "call_1", "arguments": "{}"}
	if !f.Beta {
		done["name"] = "clock"
	}
	f.say(done)
	f.say(map[string]any{"type": "response.output_item.done", "response_id": f.live, "output_index": 0, "item": item})
	f.end("completed")
}

// end ends the live answer.
func (f *fake) end(status string) {
	if f.live == "" {
		return
	}
	if status == "cancelled" && f.Cancel == "forgotten" {
		f.talk = slices.DeleteFunc(f.talk, func(s said) bool { return s.id == f.liveItem })
	}
	f.say(map[string]any{"type": "response.done", "response": map[string]any{"id": f.live, "object": "realtime.response", "status": status, "output": []any{}, "usage": nil}})
	f.live = ""
}

func (f *fake) add(ev map[string]any) {
	item := ev["item"].(map[string]any)
	s := said{id: f.id("item"), role: fmt.Sprint(item["role"])}
	if item["type"] == "function_call_output" {
		s.role, s.text = "tool", fmt.Sprint(item["output"])
	} else {
		part := item["content"].([]any)[0].(map[string]any)
		s.text = fmt.Sprint(part["text"])
		want := "input_text"
		switch {
		case s.role == "assistant" && f.Beta:
			want = "text"
		case s.role == "assistant":
			want = "output_text"
		}
		if part["type"] != want {
			f.refuse(fmt.Sprintf("part %v of %s", part["type"], s.role), f.Unknown, ev)
			return
		}
	}
	f.talk = append(f.talk, s)
	item["id"] = s.id
	f.say(map[string]any{"type": f.Item, "item": item, "previous_item_id": nil})
}

func (f *fake) cut(typ string, ev map[string]any) {
	id := fmt.Sprint(ev["item_id"])
	i := slices.IndexFunc(f.talk, func(s said) bool { return s.id == id })
	switch {
	case typ == "conversation.item.truncate" && f.Truncate == "ignored":
		return
	case i < 0:
		f.refuse(typ+" of nothing", f.NoItem, ev)
		return
	case typ == "conversation.item.delete":
		f.talk = slices.Delete(f.talk, i, i+1)
		f.say(map[string]any{"type": "conversation.item.deleted", "item_id": id})
	case f.Truncate == "clears":
		f.talk[i].text = ""
		f.say(map[string]any{"type": "conversation.item.truncated", "item_id": id, "content_index": 0, "audio_end_ms": ev["audio_end_ms"]})
	default:
		f.talk[i].text = "One two"
		f.say(map[string]any{"type": "conversation.item.truncated", "item_id": id, "content_index": 0, "audio_end_ms": ev["audio_end_ms"]})
	}
}

// saw is what the model was given to see at the latest answer.
func (f *fake) saw() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s []string
	for _, e := range f.asked {
		s = append(s, e.role+": "+e.text)
	}
	return strings.Join(s, "\n")
}

// at a server, with its dialect named, or guessed by its first event.
func atServer(t *testing.T, name string, guess bool, body func(w *world, f *fake)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, name)
		w := newWorld(t, func(c *Config) {
			c.Dialect, _ = DialectByName(name)
			if guess {
				c.Dialect = DialectFor("ws://box.lan:8000/v1/realtime")
			}
			c.Assumed = Assumed{Voice: true, TranscriptionModel: name != "xai"} // that one is not to be told any
		})
		w.c.Tools([]turn.ToolSpec{{Name: "clock", Description: "the time", Schema: []byte(`{"type":"object"}`)}})
		w.auto, w.onEvent = false, f.on
		w.run()
		defer w.stop()
		w.want("ready")
		body(w, f)
		if len(f.errors) > 0 {
			t.Errorf("the server refused:\n  %s", strings.Join(f.errors, "\n  "))
		}
	})
}

// ends is what became of a turn, whatever the order: transcripts come when they come.
func (w *world) ends(want ...string) {
	w.t.Helper()
	time.Sleep(5 * time.Second)
	got := w.took()
	for i := range got {
		got[i] = withoutIDs(got[i])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("facts:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// withoutIDs takes the names of answers out of a fact.
func withoutIDs(s string) string {
	f := strings.Fields(s)
	return strings.Join(slices.DeleteFunc(f, func(s string) bool { return strings.HasPrefix(s, "resp_") }), " ")
}

func (w *world) ask3(id turn.ID) {
	w.say(id, 12000)
	w.c.Do(turn.CommitInput{Turn: id})
	w.c.Do(turn.CreateResponse{Turn: id})
}

// live is the answer and item that the server is at.
func (f *fake) now() (turn.ResponseID, turn.ItemID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return turn.ResponseID(f.live), turn.ItemID(f.liveItem)
}

// Press, release, answer, a tool, an interruption, a further turn, and a press before the answer came.
func TestServers(t *testing.T) {
	for _, name := range DialectNames() {
		t.Run(name, func(t *testing.T) {
			atServer(t, name, false, func(w *world, f *fake) { hour(w, f, name) })
		})
	}
}

func hour(w *world, f *fake, name string) {
	w.ask3("t-1")
	w.ends("heard t-1 Question 1.", "committed t-1", "started t-1", "delta t-1 24000", "done t-1 completed")

	w.ask3("t-2")
	w.ends("heard t-2 Question 2.", "committed t-2", "started t-2", "call t-2 call_1 clock({})", "done t-2 completed")
	w.c.Do(turn.SendToolOutput{Turn: "t-2", Call: "call_1", Output: "noon"})
	w.c.Do(turn.CreateResponse{Turn: "t-2"})
	w.ends("started t-2", "delta t-2 24000")

	resp, item := f.now()
	w.c.Do(turn.CancelResponse{Turn: "t-2", Response: resp})
	w.c.Do(turn.TruncateItem{Turn: "t-2", Item: item, Heard: 6000})
	w.ask3("t-3")
	w.ends("heard t-3 Question 3.", "done t-2 cancelled", "committed t-3", "started t-3", "delta t-3 24000", "done t-3 completed")
	cut := "assistant: One two"
	if name == "qwen" { // which has no way to be told
		cut = "assistant: One two three four five six seven eight."
	}
	if saw := f.saw(); !strings.HasSuffix(saw, "tool: noon\n"+cut+"\nuser: Question 3.") {
		w.t.Errorf("the model saw\n%s", saw)
	}

	// A press before the answer began: that one is not heard, and the next one is.
	w.ask3("t-4")
	time.Sleep(50 * time.Millisecond)
	w.took()
	w.c.Do(turn.CancelResponse{Turn: "t-4"})
	w.ask3("t-5")
	time.Sleep(5 * time.Second)
	var about []string
	for _, s := range w.took() {
		if s = withoutIDs(s); strings.Contains(s, " t-5") {
			about = append(about, s)
		}
		if strings.Contains(s, "delta t-4") {
			w.t.Errorf("%s after it was cancelled", s)
		}
	}
	slices.Sort(about)
	if want := []string{"committed t-5", "delta t-5 24000", "done t-5 completed", "heard t-5 Question 5.", "started t-5"}; !slices.Equal(about, want) {
		w.t.Errorf("of t-5:\n  %s", strings.Join(about, "\n  "))
	}
}

// In a room the companions vote between what was said and the answer. A server that answers by itself is stopped before a
// sample of it is heard or paid for, and asked when this companion was selected; it is not, where another one was.
func TestAnAnswerThatNobodyHasAskedForIsStopped(t *testing.T) {
	for _, name := range DialectNames() {
		if d, _ := DialectByName(name); !d.answersItself() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			atServer(t, name, false, func(w *world, f *fake) {
				f.created = 2 // the next one goes on until it is ended
				w.say("t-1", 12000)
				w.c.Do(turn.CommitInput{Turn: "t-1"})
				w.ends("heard t-1 Question 1.", "committed t-1")
				if resp, _ := f.now(); resp != "" {
					t.Errorf("%s goes on, and nobody listens", resp)
				}
				w.c.Do(turn.CreateResponse{Turn: "t-1", Prompt: "You were selected."})
				w.ends("started t-1", "delta t-1 24000", "done t-1 completed")
				if saw := f.saw(); saw != "user: Question 1." {
					t.Errorf("the model saw\n%s", saw)
				}

				f.created = 2
				w.say("t-2", 12000) // another companion answers this
				w.c.Do(turn.CommitInput{Turn: "t-2"})
				w.ends("heard t-2 Question 2.", "committed t-2")
				w.c.Do(turn.AddText{Role: "user", Text: "Ben: It is noon."})
				w.ask3("t-3")
				w.ends("heard t-3 Question 3.", "committed t-3", "started t-3", "delta t-3 24000", "done t-3 completed")
				if n := w.c.Usage().Today.Responses; n != 4 {
					t.Errorf("%d answers were counted; want all that began, 4", n)
				}

				f.created = 2
				w.say("t-4", 12000)
				w.c.Do(turn.CommitInput{Turn: "t-4"})
				w.ends("heard t-4 Question 4.", "committed t-4")
				w.peer(0).hangUp() // the room still votes: the next session has the words, and is asked by whoever was selected
				w.ends("lost offline", "ready")
				f.created = 3
				w.c.Do(turn.CreateResponse{Turn: "t-4"})
				w.ends("started t-4", "delta t-4 24000", "done t-4 completed")
				if saw := f.saw(); !strings.HasSuffix(saw, "user: Question 4.") {
					t.Errorf("the model saw\n%s", saw)
				}
			})
		})
	}
}

// The same where nobody said which server it is.
func TestServersAreGuessed(t *testing.T) {
	for _, name := range []string{"ga", "localai", "speaches", "speech-to-speech", "xai"} {
		t.Run(name, func(t *testing.T) {
			atServer(t, name, true, func(w *world, f *fake) { hour(w, f, name) })
		})
	}
	for address, want := range map[string]string{
		"wss://api.openai.com/v1/realtime": "ga", "wss://r.openai.azure.com/openai/v1/realtime": "azure", "wss://R.Services.AI.azure.com": "azure",
		"wss://api.x.ai/v1/realtime": "xai", "wss://dashscope-intl.aliyuncs.com/api-ws/v1/realtime": "qwen",
		"ws://127.0.0.1:8080": "ga", "wss://notx.ai/": "ga", "wss://api.x.ai.example.com/": "ga", "::": "ga",
	} {
		if d := DialectFor(address); d.Name != want {
			t.Errorf("%s: %s; want %s", address, d.Name, want)
		}
	}
}

// Who says nothing while the button is held was not heard, and that is said: such a server says nothing at all.
func TestNobodyHeard(t *testing.T) {
	atServer(t, "speech-to-speech", false, func(w *world, f *fake) {
		w.c.Do(turn.ClearInput{Turn: "t-1"})
		for range 50 {
			w.c.Append("t-1", make([]int16, 480))
			time.Sleep(20 * time.Millisecond)
		}
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.ends("refused t-1")
		w.ask3("t-2")
		w.ends("heard t-2 Question 1.", "committed t-2", "started t-2", "delta t-2 24000", "done t-2 completed")
	})
}

// An answer that fails with an error event and nothing after it has failed.
func TestAnswerFailsWithAnErrorAlone(t *testing.T) {
	atServer(t, "localai", false, func(w *world, f *fake) {
		f.failing = true
		w.ask3("t-1")
		w.ends("heard t-1 Question 1.", "committed t-1", "started t-1", "done t-1 failed server_error")
		f.failing = false
		w.ask3("t-2")
		time.Sleep(5 * time.Second)
		if got := w.took(); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "started t-2") }) {
			t.Errorf("then %q", got)
		}
	})
}

// Where the key goes, and the model.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ dialect, url, want string }{
		{"ga", "wss://api.openai.com/v1/realtime", "wss://api.openai.com/v1/realtime?model=m"},
		{"azure", "wss://r.openai.azure.com", "wss://r.openai.azure.com/openai/v1/realtime?model=m"},
		{"azure", "wss://r.openai.azure.com/openai/realtime?api-version=2025-04-01-preview", "wss://r.openai.azure.com/openai/realtime?api-version=2025-04-01-preview&deployment=m"},
		{"azure", "wss://r.openai.azure.com/openai/realtime?api-version=2025-04-01-preview&deployment=d", "wss://r.openai.azure.com/openai/realtime?api-version=2025-04-01-preview&deployment=d"},
		{"qwen", "wss://dashscope.aliyuncs.com/", "wss://dashscope.aliyuncs.com/api-ws/v1/realtime?model=m"},
		{"speaches", "ws://box.lan:8000", "ws://box.lan:8000/v1/realtime?model=m"},
		{"localai", "ws://box.lan:8080/v1/realtime?model=mine", "ws://box.lan:8080/v1/realtime?model=mine"},
	} {
		d, err := DialectByName(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{URL: c.url, Model: "m", Dialect: d}
		if got := cfg.endpoint(); got != c.want {
			t.Errorf("%s at %s: %s; want %s", c.dialect, c.url, got, c.want)
		}
	}
}
