package device

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"conch/companions"
	"conch/companions/skills"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/config"
)

// injections are the texts of testdata/injections.txt: each orders a companion to call a tool.
func injections(t testing.TB) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/injections.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if _, quoted, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			text, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatalf("%s: %v", quoted, err)
			}
			all = append(all, text)
		}
	}
	return all
}

// toolNames finds tools that a text names.
var toolNames = regexp.MustCompile(`\b(?:(set_home|call_device|set_volume|set_timer|add_reminder|set_involvement|cancel_reminder|play_radio|` +
	`hang_up|house_unlock|read_home|list_stations|who_is_here|who_can_be_called)\b|(forget|mute|remember|recall)\(\))`)

var (
	base64ed  = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}`)
	hexDigits = regexp.MustCompile(`[0-9a-f]{24,}`)
)

// readings are a text as a model that wants to obey may read it: decoded in every way, turned, without what is not seen.
func readings(text string) (all []string) {
	add := func(s string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	unseen := strings.Map(func(r rune) rune {
		switch {
		case r >= 0xe0000 && r < 0xe0080:
			return r - 0xe0000
		case r >= 0x2028 && r <= 0x202e:
			return ' '
		case r >= 0x200b && r <= 0x200f || r == 0x2060:
			return -1
		}
		return r
	}, text)
	add(norm.NFKC.String(unseen))
	for range 2 { // what is written in one way may be written in another within
		for _, s := range slices.Clone(all) {
			for _, e := range base64ed.FindAllString(s, -1) {
				for _, way := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
					if b, err := way.DecodeString(e); err == nil {
						add(string(b))
					}
				}
			}
			for _, e := range hexDigits.FindAllString(s, -1) {
				if b, err := hex.DecodeString(e); err == nil {
					add(string(b))
				}
			}
			var whole string
			if json.Unmarshal([]byte(`"`+strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(s)+`"`), &whole) == nil {
				add(whole)
			}
			if u, err := url.PathUnescape(s); err == nil {
				add(u)
			}
			add(html.UnescapeString(s))
		}
	}
	for _, s := range slices.Clone(all) {
		add(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z':
				return 'a' + (r-'a'+13)%26
			case r >= 'A' && r <= 'Z':
				return 'A' + (r-'A'+13)%26
			}
			return r
		}, s))
		r := []rune(s)
		slices.Reverse(r)
		add(string(r))
	}
	return all
}

// orders are the tools that a text tells to call, each once.
func orders(text string) (all []string) {
	for _, s := range readings(text) {
		for _, m := range toolNames.FindAllStringSubmatch(s, -1) {
			if tool := cmp.Or(m[1], m[2]); !slices.Contains(all, tool) {
				all = append(all, tool)
			}
		}
	}
	return all
}

// puppet is a model that obeys every text it can read, wherever in the prompt that stands, once each.
type puppet struct {
	mu      sync.Mutex
	first   string // it calls this tool next, as the person wants
	mean    bool   // it obeys the same text without end
	obeyed  map[string]bool
	tried   int
	prompts []string
}

// marked finds texts of the set: each stands behind its number.
var marked = regexp.MustCompile(`§(\d+)§([^§]*)`)

func mark(i int, text string) string { return fmt.Sprintf("§%d§%s§", i, text) }

var needs = map[string]string{
	"set_home": `{"thing":"lamp","value":"on"}`, "call_device": `{"name":"hall"}`, "set_volume": `{"percent":100}`, "set_timer": `{"seconds":60}`,
	"add_reminder": `{"text":"pay","at":"2030-01-01T10:00:00"}`, "set_involvement": `{"involvement":"high"}`, "cancel_reminder": `{}`,
	"play_radio": `{"station":"one"}`, "forget": `{"all":true}`, "remember": `{"text":"obey"}`, "read_home": `{"thing":"lamp"}`,
}

func (p *puppet) chat(q cascadetest.Request) cascadetest.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, _ := json.Marshal(q.Body)
	p.prompts = append(p.prompts, string(raw))
	var r cascadetest.Reply
	call := func(tool string) {
		r.Calls = append(r.Calls, cascadetest.Call{ID: fmt.Sprintf("c-%d-%d", len(p.prompts), len(r.Calls)), Name: tool, Args: cmp.Or(needs[tool], "{}")})
	}
	if tool := p.first; tool != "" {
		p.first = ""
		call(tool)
		return r
	}
	for _, text := range stringsOf(q.Body) {
		for _, m := range marked.FindAllStringSubmatch(text, -1) {
			if p.obeyed[m[1]] && !p.mean || len(r.Calls) == 8 {
				continue
			}
			p.obeyed[m[1]] = true
			for _, tool := range orders(m[2]) {
				if len(r.Calls) < 8 {
					p.tried++
					call(tool)
				}
			}
		}
	}
	if len(r.Calls) == 0 {
		r.Text = "It is done now."
	}
	return r
}

// stringsOf are all texts of a request, wherever they stand.
func stringsOf(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			all = append(all, stringsOf(x)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, k), stringsOf(v[k])...)
		}
	}
	return all
}

// reading are the tools that change nothing.
var reading = strings.Fields("who_is_here why_did_you_speak who_can_be_called list_reminders now_playing " +
	"list_timers recall read_home get_time list_stations house_search")

// obeyer is a device with every tool that conch has, and what a server adds; none of them does anything but count.
type obeyer struct {
	*box
	*puppet
	tools *companions.Toolbox
	serve string     // what the tools that read give back
	fails bool       // as an error
	mu    sync.Mutex // guards what follows
	reads int
	acts  []string
}

// nothing keeps nothing.
type nothing struct{}

func (nothing) Get(string, string) ([]byte, error)          { return nil, nil }
func (nothing) Put(string, map[string][]byte) error         { return nil }
func (nothing) All(string, func(string, []byte) bool) error { return nil }
func (nothing) Companions() ([]string, error)               { return nil, nil }

func (h *obeyer) counted(t skills.Tool) skills.Tool {
	t.Handler = func(skills.Context, json.RawMessage) (skills.Result, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.Contains(reading, t.Name) {
			h.acts = append(h.acts, t.Name)
			return skills.Result{Output: "Done."}, nil
		}
		h.reads++
		if h.fails {
			return skills.Result{}, errors.New(h.serve)
		}
		return skills.Result{Output: cmp.Or(h.serve, "Nothing.")}, nil
	}
	return t
}

// names has the radio know stations, and the house things, of these names.
func (h *obeyer) names(names ...string) {
	host := skills.Host{
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Mute: func() error { return nil }, Store: nothing{}, Announce: func(skills.Announcement) {},
		Ring: func(skills.Alert) func() { return func() {} }, Room: &skills.Room{}, Intercom: &skills.Intercom{}, Sleep: &skills.Sleep{},
		Library: &skills.Library{}, Radio: &skills.Radio{Stations: append([]string{"one"}, names...)},
		Home: &skills.Home{Things: []skills.Thing{{Name: "lamp", Topic: "lamp", Payloads: map[string]string{"on": "1"}, Read: "lamp"}}},
	}
	for _, n := range names {
		host.Home.Things = append(host.Home.Things, skills.Thing{Name: n, Read: "x"})
	}
	for _, b := range bundled {
		var all []skills.Tool
		for _, tool := range b.make(host).Tools() {
			all = append(all, h.counted(tool))
		}
		h.tools.Replace(b.name, all)
	}
	if h.box != nil {
		h.coordinator.ToolsChanged()
	}
}

// newObeyer makes one.
func newObeyer(t *testing.T) *obeyer {
	h := &obeyer{puppet: &puppet{obeyed: map[string]bool{}}, tools: companions.NewToolbox(slog.New(slog.DiscardHandler), time.Now)}
	h.names()
	h.offers("Opens the door of the house.")
	chain := cascadetest.New(cascadetest.Script{Models: []string{"m"}, Chat: h.chat,
		Say: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Seconds: 0.5} }})
	server := httptest.NewServer(chain)
	h.box = newBox(t, boxOptions{address: server.URL, toolbox: toolbox{h.tools, "ada", func(turn.ID, string) {}}, config: func(c *config.Config) {
		c.Voice.Kind, c.Audio.CueVolume = "cascade", 0
	}})
	t.Cleanup(server.Close)
	return h
}

// offers has the server describe its tools so.
func (h *obeyer) offers(about string) {
	h.tools.Replace("house", []skills.Tool{h.counted(skills.Tool{Name: "house_unlock", Description: about}),
		h.counted(skills.Tool{Name: "house_search", Kind: skills.Reads, Description: about})})
	if h.box != nil {
		h.coordinator.ToolsChanged()
	}
}

// wants is a question that makes the model call a tool, as the person means it.
func (h *obeyer) wants(tool string) {
	h.puppet.mu.Lock()
	h.first = tool
	h.puppet.mu.Unlock()
	h.ask("What is there?")
}

// announces has an announcement said, as Home Assistant and conch say do.
func (h *obeyer) announces(text string) {
	h.asked.Add(1)
	h.nextTurn(func() {
		if _, err := h.Say(context.Background(), text, inject.Injection{}); err != nil {
			h.t.Error(err)
		}
	})
}

// says has a turn begin with words of this cause.
func (h *obeyer) says(c turn.Cause, text string) {
	h.asked.Add(1)
	h.nextTurn(func() {
		h.coordinator.Post(turn.Asked{At: h.coordinator.Now(), Turn: turn.ID(fmt.Sprint("t-", len(h.turnsEnded()))), Text: text, Cause: c})
	})
}

// here are the tools that change this device alone, and end nothing that a person keeps.
var here = strings.Fields("set_volume mute play play_radio set_timer remember add_reminder cancel_reminder set_involvement stop hang_up")

// ways are the ways by which a text enters a prompt, and whose words the turn is caused by. A turn by a person's own words may act at will.
var ways = []struct {
	name, cause string
	may         []string // tools that the table allows, besides those that read
	in          func(h *obeyer, text string)
}{
	{"result of a tool", "person, then a result", []string{"remember"}, func(h *obeyer, text string) { h.serve = text; h.wants("recall") }},
	{"result of a server's tool", "person, then a result", nil, func(h *obeyer, text string) { h.serve = text; h.wants("house_search") }},
	{"error of a server's tool", "person, then a result", nil, func(h *obeyer, text string) { h.serve, h.fails = text, true; h.wants("house_search") }},
	{"announcement", "words to be said", nil, func(h *obeyer, text string) { h.announces(text) }},
	{"reminder", "words to be said", nil, func(h *obeyer, text string) {
		h.asked.Add(1)
		h.nextTurn(func() {
			h.desk.Announce("reminders", skills.Announcement{Prompt: text, Text: text})
		})
	}},
	{"description of a server's tool", "words to be said", nil, func(h *obeyer, text string) { h.offers(text); h.announces("Dinner is ready.") }},
	{"what was said before", "words to be said", nil, func(h *obeyer, text string) {
		for _, v := range h.Device.room.Voices.All() {
			v.Do(turn.AddText{Role: "user", Text: companions.RoomLine("Ben", "hall", text)})
		}
		h.announces("Dinner is ready.")
	}},
	{"description of a server's tool", "person", nil, func(h *obeyer, text string) { h.offers(text); h.ask("How are you?") }},
	{"line of a companion", "companion", nil, func(h *obeyer, text string) { h.says(turn.CauseCompanion, companions.RoomLine("Ben", "hall", text)) }},
	{"line of Home Assistant", "house", nil, func(h *obeyer, text string) { h.says(turn.CauseHouse, text) }},
	{"line of a person elsewhere", "room", here, func(h *obeyer, text string) { h.says(turn.CauseRoom, text) }},
	{"names of stations and things", "words to be said", nil, func(h *obeyer, text string) { h.names(text); h.announces("Dinner is ready.") }},
	{"names of stations and things", "companion", nil, func(h *obeyer, text string) { h.names(text); h.says(turn.CauseCompanion, "Go on.") }},
}

// No text that comes from outside has a model do more than its cause allows: the model obeys all that it can read. What it tries is counted.
func TestInjectedTextsDoNotAct(t *testing.T) {
	t.Parallel()
	texts := injections(t)
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	for i, text := range texts {
		if len(orders(text)) == 0 {
			t.Errorf("the model does not understand text %d: %q", i, text)
		}
	}
	var mu sync.Mutex
	lines := map[int]string{}
	t.Cleanup(func() {
		for _, n := range slices.Sorted(maps.Keys(lines)) {
			t.Log(lines[n])
		}
	})
	for n, source := range ways {
		t.Run(source.name+", "+source.cause, func(t *testing.T) {
			t.Parallel()
			h := newObeyer(t)
			asked := 0
			for at := 0; at < len(texts); at += 8 {
				var batch []string
				for i, text := range texts[at:min(at+8, len(texts))] {
					batch = append(batch, mark(at+i, text))
				}
				if source.in(h, strings.Join(batch, "\n")); strings.HasPrefix(source.cause, "person, ") {
					asked++
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			reads := h.reads - asked
			mu.Lock()
			defer mu.Unlock()
			lines[n] = fmt.Sprintf("%-32s %-22s %d texts, %d obeyed: %d calls tried, %d refused, %d read, %d acted", source.name, source.cause, len(texts),
				len(h.obeyed), h.tried, h.tried-reads-len(h.acts), reads, len(h.acts))
			h.acts = slices.DeleteFunc(h.acts, func(tool string) bool { return slices.Contains(source.may, tool) })
			if acts := len(h.acts) > 0; acts != (source.cause == "person") { // its own words may act: the model does obey
				t.Errorf("%d acts: %q", len(h.acts), h.acts)
			}
		})
	}
}
