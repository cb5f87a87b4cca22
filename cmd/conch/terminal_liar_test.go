package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"conch/companions/round"
	"conch/companions/words"
	"conch/mqtt"
)

// What a liar says wherever it can say something: it writes the clipboard (OSC 52), clears the screen, begins a line of its own and turns
// the direction of writing.
const lie = "\x1b]52;c;bGllcw==\x07\u009b2J\r\nconch: lie\u202e\u2066"

// steering is what of text would do something to a terminal instead of being read.
func steering(text string) []rune {
	var found []rune
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			found = append(found, r)
		}
	}
	return found
}

// lyingMember is a member with a good key whose every word is a lie: it votes, claims, speaks and writes ledgers.
func lyingMember(t *testing.T, broker string, id mqtt.Identity, beat round.Beat) {
	var c *mqtt.Client
	who := round.CompanionID("mal")
	c, err := mqtt.NewClient(mqtt.Config{URL: "mqtt://" + broker, Room: "home", Identity: id, OnPacket: func(_ round.DeviceID, p round.Packet) {
		m, ok := p.(round.Message)
		if !ok || !m.From.Human() || beat.Cards == nil {
			return
		}
		vote := round.Vote{From: who, MessageID: m.ID, State: round.StateSpeak, Importance: 10, Selected: true, Closing: round.ClosingNone, Reason: lie,
			Terms: []round.Term{{Name: lie, Value: 10}}}
		place := m.Place()
		c.Send(round.Votes{Place: place, Votes: []round.Vote{vote}})
		c.Send(round.Claim{Place: place, Companion: who, Votes: []round.Vote{vote}})
		c.Send(round.Speaking{Place: place, Companion: who, LeftMS: 1000})
		said := round.Message{ID: m.ID + "-mal", From: round.Participant(who), Text: lie, Turn: lie, Epoch: m.Epoch, Number: m.Number + 1}
		said.Metadata.Intent, said.Metadata.Tone = words.Intent(lie), words.Tone(lie)
		c.Send(round.Release{Place: place, Companion: who, OK: true, HeardMS: 900, Why: lie, Said: said.ID})
		c.Send(said)
		for _, kind := range []round.EntryKind{round.EntryRound, round.EntrySilent, round.EntryMember, round.EntryKind(lie)} {
			c.Send(round.Seen{Entry: round.Entry{Kind: kind, Device: id.ID(), By: id.ID(), Place: &place, Message: &said, Why: lie}})
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		for ctx.Err() == nil {
			c.Send(beat)
			<-time.After(200 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-done; <-beating })
}

// unheard are commands that say nothing which another device could have said.
var unheard = map[string]string{
	"run": "the appliance itself, at its terminal and in its log", "rehearse": "its devices are its own", "bench silence": "measures",
	"bench footprint": "measures", "bench voice": "measures", "audio list": "cards of this machine", "audio test": "cards of this machine", "gpio learn": "asks a person",
	"gpio list": "pins of this machine", "light show": "lights of this machine", "light list": "a fixed list", "mute": "two sentences",
	"usage reset": "one sentence", "say": "one word", "room pair": "a name with a lie in it is refused in the hello (mqtt/pairing)", "room join": "as in room pair",
	"room leave": "one sentence", "room remove": "ends the liar", "debug stall": "for tests", "key": "a file", "setup": "asks a person about this machine", "audio pick": "cards of this machine", "help": "a page",
	"hush": "one sentence", "volume": "a number", "man": "a page", "mcp-server": "talks with conch alone", "completion": "a script",
	"web link": "addresses of this machine", "web sessions list": "what browsers call themselves, printed by package printable",
	"web sessions revoke": "a number",
	"notes":               "what people here have told their own companions, printed by package printable",
}

// TestALiarSteersNoTerminal: whatever a member says, under whatever field, no command and not the screen of the appliance prints a control
// character of its; JSON stays JSON, and says what was said. A new command stands in the list below, or among those that are never told anything.
func TestALiarSteersNoTerminal(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), "127.0.0.1:"+unusedPort(t)
	var ids []mqtt.Identity
	for range 2 {
		id, err := mqtt.NewIdentity()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	settings := []string{"--set", "state.dir=" + dir + "/state", "--set", "state.runtime=" + dir, "--set", "device.name=kitchen", "--set", "device.companion=Ada",
		"--set", "room.broker=embedded", "--set", "room.listen=" + address, "--set", "room.members=" + string(ids[0].ID()) + "," + string(ids[1].ID())}
	p := sitDown(t, append([]string{"--set", "log.level=debug", "--set", "voice.kind=rehearsal"}, settings...)...)
	p.sees(`^\[space talks\] >$`)
	card := round.Card{ID: "mal", Name: "Mal", Involvement: round.InvolvementHigh}
	lyingMember(t, address, ids[0], round.Beat{Name: "pantry", Digest: lie, Cards: []round.Card{card}})
	card.ID, card.Name, card.Role, card.Aliases = "ma\x1b[2Jl", lie, lie, []string{lie}
	lyingMember(t, address, ids[1], round.Beat{Name: lie, Digest: "d", Cards: []round.Card{card}})
	p.sees(`Mal`)

	conch := func(args ...string) (string, string) {
		c := exec.CommandContext(t.Context(), "conch", append(args, settings...)...)
		c.Env = append(p.program.Env, "CONCH_VOICE_KIND=rehearsal")
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		_ = c.Run() // some are refused: what they say then counts as well
		return out.String(), errs.String()
	}
	watch := exec.CommandContext(t.Context(), "conch", append([]string{"room", "watch"}, settings...)...)
	watched, err := os.Create(filepath.Join(dir, "watched"))
	if err != nil {
		t.Fatal(err)
	}
	watch.Env, watch.Stdout, watch.Stderr = p.program.Env, watched, watched
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	if !soon(func() bool { b, _ := os.ReadFile(watched.Name()); return len(b) > 0 }) {
		t.Fatal("conch room watch says nothing")
	}
	ledger := filepath.Join(dir, "state", "ledger.jsonl")
	told := map[string]string{}
	for _, command := range [][]string{
		{"ask", "Mal, who are you?"}, {"ask", "--json", "Mal, and now?"}, {"ask", "--to", "mal", "what is this?"}, {"room", "list"}, {"room", "list", "--json"}, {"room", "people"}, {"room", "people", "--json"}, {"room", "control", "high"}, {"room", "rename", "pantry", lie}, {"room", "keep"},
		{"why"}, {"why", "--all"}, {"why", "--json"}, {"why", "--all", "--json"}, {"doctor", "-v"}, {"doctor", "--json"}, {"check"}, {"usage", "show"}, {"version"}, {"status"}, {"status", "--json"}, {"logs"}, {"report", "--words", "--out=-"}, {"room", "id"}, {"room", "acl"},
		{"room", "replay", ledger}, {"room", "replay", "--json", ledger}, {"ask", "--to", lie[:6], "x"}, {lie}, {"complete", "devices"}, {"complete", "companions"},
	} {
		out, errs := conch(command...)
		name := strings.Join(command, " ")
		for where, text := range map[string]string{"standard output": out, "standard error": errs} {
			if found := steering(text); len(found) > 0 {
				t.Errorf("conch %q prints %q on %s:\n%q", name, found, where, text)
			}
		}
		if slices.Contains(command, "--json") {
			var v any
			if err := json.NewDecoder(strings.NewReader(out)).Decode(&v); err != nil {
				t.Errorf("conch %s: %v:\n%s", name, err, out)
			}
		}
		told[name] = out + errs
	}
	for name, want := range map[string]string{ // or nothing would have been tried
		"ask Mal, who are you?": "Mal (pantry): ", "room list": "ignored ", "why": "lie", "why --json": `conch: lie`,
		"complete devices": "pantry", "complete companions": "Mal",
	} {
		if !strings.Contains(told[name], want) {
			t.Errorf("conch %s does not say %q:\n%s", name, want, told[name])
		}
	}
	if out := told["room list"]; strings.Contains(out, "lie\n") || !strings.Contains(out, "pantry") {
		t.Errorf("conch room list:\n%s", out)
	}
	p.sees(`^Mal \(pantry\): .*conch: lie`)
	p.types("q\r")
	p.leaves()
	_ = watch.Wait()
	text, err := os.ReadFile(watched.Name())
	if err != nil || !strings.Contains(string(text), "lie") {
		t.Errorf("conch room watch: %v:\n%s", err, text)
	}
	screen := strings.NewReplacer("\r", "").Replace(p.seen.String()) // what the screen steers by itself
	for name, text := range map[string]string{"room watch": string(text), "run": screen, "the log": p.log.String()} {
		if found := steering(text); len(found) > 0 {
			t.Errorf("conch %s prints %q:\n%q", name, found, text)
		}
		if strings.Contains(text, "\nconch: lie") {
			t.Errorf("conch %s has a line of the liar's own:\n%s", name, text)
		}
	}
	everyCommand(t, told)
}

// everyCommand: those of the command line are all tried, or known to be told nothing.
func everyCommand(t *testing.T, told map[string]string) {
	t.Helper()
	k, err := kong.New(&cli{}, kong.Name("conch"))
	if err != nil {
		t.Fatal(err)
	}
	tried := slices.Collect(maps.Keys(told))
	for _, leaf := range k.Model.Leaves(false) {
		name, _, _ := strings.Cut(leaf.Path(), " <")
		name, _, _ = strings.Cut(name, " [")
		if unheard[name] == "" && name != "room watch" && !slices.ContainsFunc(tried, func(s string) bool { return s == name || strings.HasPrefix(s, name+" ") }) {
			t.Errorf("conch %s is not tried with what a liar says, and nobody has said why", name)
		}
	}
}
