package round

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err == nil && string(want) == got {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what Step does (go test ./companions/round -update rewrites it; read the difference)\n%s", file, firstDifference(string(want), got))
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range g {
		if i >= len(w) || w[i] != g[i] {
			old := "(nothing)"
			if i < len(w) {
				old = w[i]
			}
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], old)
		}
	}
	return "it is shorter"
}

// TestStories plays testdata/*.txt: several shipped machines, a network, people. Lines that start with two spaces are what the
// devices do; `-update` writes them, everything else is what happens to them.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/story_*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "story_"), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			s := newStory(t)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimRight(line, "\n")
				if strings.HasPrefix(line, "  ") {
					continue
				}
				s.out.WriteString(line + "\n")
				if line != "" && line[0] != '#' {
					s.do(line)
				}
			}
			golden(t, f, s.out.String())
		})
	}
}

type story struct {
	*world
	t     *testing.T
	out   *strings.Builder
	votes map[string]map[CompanionID]Vote // by text
	slow  map[string]time.Duration
	quiet []string
	says  map[string]string // what a companion answers
	fails []string
	acts  []string
	hangs []string
}

func newStory(t *testing.T) *story {
	s := &story{
		world: newWorld(1, 1), t: t, out: &strings.Builder{}, votes: map[string]map[CompanionID]Vote{}, says: map[string]string{},
		slow: map[string]time.Duration{},
	}
	s.world.stage.fail = func(c CompanionID) bool { return slices.Contains(s.fails, string(c)) }
	s.world.stage.act = func(c CompanionID) bool { return slices.Contains(s.acts, string(c)) }
	s.world.stage.hang = func(c CompanionID) bool { return slices.Contains(s.hangs, string(c)) }
	s.world.stage.answer = func(p Prepare) string {
		if text := s.says[string(p.Companion)]; text != "" {
			return text
		}
		return "This is " + string(p.Companion) + "."
	}
	s.world.seen = s.tell
	s.world.slow = func(from, to *dev, topic string) time.Duration {
		return s.slow[from.name] + s.slow[">"+to.name] + s.slow[">"+to.name+"/"+topic]
	}
	return s
}

func (s *story) dev(name string) *dev {
	for _, d := range s.devs {
		if d.name == name {
			return d
		}
	}
	s.t.Fatalf("no device %q", name)
	return nil
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// do is one line of a story.
func (s *story) do(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(rest)
	switch verb {
	case "device": // device NAME CARDS...
		var cards []Card
		for _, a := range args[1:] {
			cards = append(cards, Card{ID: CompanionID(a), Name: strings.ToUpper(a[:1]) + a[1:]})
		}
		d := s.add(DeviceID(args[0]), args[0], cards...)
		d.cfg.judge = s.judge
	case "budget": // of a device that starts after it
		d := s.dev(args[0])
		if d.alive {
			s.t.Fatalf("%q comes too late: %s has started", line, d.name)
		}
		d.cfg.VoteBudget = s.duration(args[1])
	case "start":
		for _, a := range args {
			s.dev(a).start()
		}
	case "votes": // votes TEXT: ada 8, ben listen, cleo 9 selected closing
		text, list, _ := strings.Cut(rest, ": ")
		s.votes[text] = map[CompanionID]Vote{}
		for part := range strings.SplitSeq(list, ", ") {
			v := parseVote(s.t, part)
			s.votes[text][v.From] = v
		}
	case "answers": // answers ada TEXT
		who, text, _ := strings.Cut(rest, " ")
		s.says[who] = text
	case "fails":
		s.fails = args
	case "acts":
		s.acts = args
	case "hangs":
		s.hangs = args
	case "hide": // kinds of lines that this story is not about
		s.quiet = args
	case "slow": // slow DEVICE 400ms: what it sends; slow >DEVICE or >DEVICE/TOPIC: what it gets
		s.slow[args[0]] = s.duration(args[1])
	case "wait":
		s.run(s.now + s.duration(args[0]))
	case "press": // press DEVICE TURN
		s.dev(args[0]).press(args[1])
	case "press-ended":
		d := s.dev(args[0])
		d.step(PressEnded{d.clock(), args[1], "too short"})
	case "say": // say DEVICE TURN TEXT
		d := s.dev(args[0])
		d.say(args[1], strings.Join(args[2:], " "))
	case "wordless": // wordless DEVICE TURN COMPANION: nobody has written down what was said; who heard it is to answer
		d := s.dev(args[0])
		d.step(Said{d.clock(), s.newID(), args[1], Unwritten, []Participant{Participant(args[2])}, true})
	case "late": // late DEVICE TURN TEXT: the words of it
		d := s.dev(args[0])
		d.step(SaidLate{Said: Said{At: d.clock(), ID: s.newID(), Turn: args[1], Text: strings.Join(args[2:], " ")}})
	case "whisper": // whisper DEVICE TO TEXT
		s.dev(args[0]).say("", strings.Join(args[2:], " "), Participant(args[1]))
	case "kill":
		s.dev(args[0]).kill()
	case "freeze":
		s.dev(args[0]).freeze(s.duration(args[1]))
	case "cut":
		s.dev(args[0]).cutOff(s.duration(args[1]))
	case "plug":
		s.dev(args[0]).plugIn()
	case "split":
		for _, a := range args {
			s.split(s.dev(a))
		}
	case "heal":
		s.heal()
	case "vote": // vote FROM-DEVICE TO-DEVICE ada 10: on the round of the latter
		d := s.dev(args[1])
		v := parseVote(s.t, strings.Join(args[2:], " "))
		v.MessageID = d.m.rd.place.Message
		d.step(Received{d.clock(), DeviceID(args[0]), Votes{d.m.rd.place, []Vote{v}}})
	case "again": // again DEVICE: the newest message of its memory comes once more
		d := s.dev(args[0])
		msg := d.m.recent[len(d.m.recent)-1]
		d.step(Received{d.clock(), msg.Epoch.Device, msg})
	case "mute", "unmute": // mute DEVICE COMPANION|room
		d := s.dev(args[0])
		on := verb == "mute"
		c := Control{Mute: &on}
		if args[1] != "room" {
			c.Companion = CompanionID(args[1])
		}
		d.step(Controlled{d.clock(), c})
	case "recent":
		for _, m := range s.dev(args[0]).m.recent {
			fmt.Fprintf(s.out, "  %v %s knows %s\n", s.now, args[0], showMessage(m))
		}
	case "members":
		for _, m := range s.dev(args[0]).m.Members() {
			fmt.Fprintf(s.out, "  %v %s sees %s with %s\n", s.now, args[0], m.Name, cardList(m.Cards))
		}
	default:
		s.t.Fatalf("what is %q?", line)
	}
}

func parseVote(t *testing.T, text string) Vote {
	f := strings.Fields(text)
	v := Vote{From: CompanionID(f[0]), State: StateSpeak, Closing: ClosingNone, Reason: "it votes " + strings.Join(f[1:], " ")}
	for _, w := range f[1:] {
		n, err := strconv.ParseFloat(w, 64)
		switch {
		case err == nil:
			v.Importance = n
		case w == "listen":
			v.State = StateListen
		case w == "selected":
			v.Selected = true
		case slices.Contains(closings, Closing(w)):
			v.Closing = Closing(w)
		default:
			t.Fatalf("vote %q: what is %q?", text, w)
		}
	}
	return v
}

func (s *story) judge(v View, ids []CompanionID) []Vote {
	var votes []Vote
	for _, id := range ids {
		text := v.Message.Text
		if v.Message.Metadata.Silence {
			text = "silence"
		}
		vote, ok := s.votes[text][id]
		if !ok {
			vote = Vote{State: StateListen, Closing: ClosingNone, Reason: "it listens"}
		}
		vote.From, vote.MessageID = id, v.Message.ID
		votes = append(votes, vote)
	}
	return votes
}

// tell writes what a device does, without what no story is about.
func (s *story) tell(d *dev, _ Event, _ Machine, out []Effect) {
	for _, e := range out {
		line := tells(e)
		switch x := e.(type) {
		case MembersChanged:
			continue
		case Remember:
			if !slices.Contains(s.quiet, "-remember") {
				continue
			}
		case Send:
			switch p := x.Packet.(type) {
			case Beat, HistoryAsk, History:
				continue
			case Speaking:
				if sp := d.speech(p.Place, p.Companion); sp != nil && s.now-sp.began > 0 && p.LeftMS == 0 {
					continue // a renewal
				}
			}
		case Record:
			switch x.Entry.Kind {
			case EntryClaim, EntryPress, EntrySpoke, EntryWithdraw, EntryControl:
				continue // the packet tells it
			}
		}
		if slices.ContainsFunc(s.quiet, func(q string) bool { return strings.HasPrefix(line, strings.ReplaceAll(q, "_", " ")) }) {
			continue
		}
		fmt.Fprintf(s.out, "  %v %s: %s\n", s.now, d.name, line)
	}
}
