package rehearse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"conch/companions/round"
	"conch/device/printable"
	"conch/device/room"
	"conch/device/terminal"
	"conch/device/wait"
	"conch/gpio"
)

// Talk is a rehearsal without a script: a room for somebody with no hardware and no key. A person at a terminal types
// questions and silences the room with the space bar; lines on standard input do the same, each waiting for the end of the
// one before it.
//
//	TEXT         a question, in the first device        NAME: TEXT   one in that device
//	space        a short press there: all are silent    q            end
//	press        the same, where there is no space bar
//	any line of a script, such as: kill bedroom
func (r Rehearsal) Talk(ctx context.Context, in *os.File, screen *terminal.Screen) error {
	atTerminal := terminal.Keys(in)
	r.person = screen
	for _, d := range r.Room.Devices {
		for _, c := range d.Cards {
			screen.Meet(c.Name)
		}
	}
	p, stop, err := r.raise(ctx)
	if err != nil {
		return err
	}
	t := &talker{run: p, screen: screen, known: p.Room.names("."), home: p.stages[0], polite: !atTerminal}
	m, sound := openMixer(p.Config, p.Log)
	if m != nil {
		p.mixed.Store(m)
		p.closer = append(p.closer, m.stream.Close)
	}
	voice := t.home.instance.Load().server.About()
	screen.Say(fmt.Sprintf("room   %s\nsound  %s\nvoice  rehearsal: %s; with an OPENAI_API_KEY, conch run has a real one\n", p.Room, sound, voice))
	if _, err := p.servePage(screen.Say); err != nil {
		screen.Say("page   none: " + err.Error() + "\n") // the terminal is enough to talk to them
	}
	screen.Say(t.hint() + "\n")
	heardOut := t.listen(p.ctx, in, atTerminal)
	screen.End()
	err = stop()
	if !heardOut { // who leaves in the middle does not ask what became of the question
		return err
	}
	return p.report.end(err)
}

// talker is the person.
type talker struct {
	// fixed
	run    *run
	screen *terminal.Screen
	known  *names
	home   *stage // where a question is asked that names no device, and where the space bar is; while it lives
	polite bool   // waits for the end of an answer before asking again
	keys   gpio.Events
}

// help is what "?" says.
func (t *talker) help() string {
	var b strings.Builder
	silence := "space"
	if t.polite {
		silence = "press"
	}
	other := t.run.stages[len(t.run.stages)-1].name
	fmt.Fprintf(&b, "  a line, Enter     a question, in %s\n", t.home.name)
	if other != t.home.name {
		fmt.Fprintf(&b, "  %-17s one in the %s\n", printable.Name(other)+": TEXT", printable.Name(other))
	}
	fmt.Fprintf(&b, "  %-17s silences all\n", silence)
	fmt.Fprintf(&b, "  kill %-12s pulls a plug; start %s puts it back; so does any line of a script\n", printable.Name(other), printable.Name(other))
	return b.String()
}

// hint is one line of it, for the beginning.
func (t *talker) hint() string {
	other := ""
	if len(t.run.stages) > 1 {
		other = t.run.stages[1].name + ": TEXT asks there; "
	}
	silence := "the space bar"
	if t.polite {
		silence = "press"
	}
	return fmt.Sprintf("type a question (in %s; %s%s silences all; so does any line of a script: kill %s; ? helps; q ends)", t.home.name, other, silence,
		t.run.stages[len(t.run.stages)-1].name)
}

// listen carries out what is typed until the person, the input or the context ends. It says whether the room had come to
// rest by then.
func (t *talker) listen(ctx context.Context, in *os.File, atTerminal bool) (heardOut bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := terminal.Options{Screen: t.screen, Clock: t.run.clock.Now, Plain: true, Help: t.help}
	events := make(chan gpio.Event) // unbuffered: what is typed waits for what is being done
	t.keys = terminal.Open(in, o)
	ended := make(chan error, 1)
	go func() { // ends with ctx or its input; awaited below
		ended <- t.keys.Run(ctx, func(e gpio.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	}()
	if atTerminal {
		t.run.later(0, func() { t.watch(ctx) })
	}
	for {
		select {
		case e := <-events:
			if !t.event(ctx, e) {
				cancel()
				t.left(<-ended)
				return e.Kind == gpio.EOF && t.run.ctx.Err() == nil
			}
		case err := <-ended:
			t.left(err)
			return false
		}
	}
}

// left says what was wrong with the input, if anything was.
func (t *talker) left(err error) {
	if err != nil {
		t.screen.Say(fmt.Sprintf("conch: %v\n", err))
	}
}

// sayingEvery is how often the text that is being said grows.
const sayingEvery = 100 * time.Millisecond

// watch shows what the room is doing, until ctx ends.
func (t *talker) watch(ctx context.Context) {
	var (
		next time.Duration
		last terminal.Speech // that was seen; of a device that dies it is all there will be
		of   *stage
	)
	_ = wait.Until(ctx, func() bool {
		doing := terminal.State{Long: "quiet; type a question", Short: "quiet"}
		if !t.run.idle() {
			doing = terminal.State{Long: "thinking; space silences all", Short: "thinking"}
		}
		if of != nil && !of.alive() {
			t.screen.Said(last, "cut: "+of.name+" is gone")
			of = nil
		}
		for _, s := range t.run.stages {
			if !s.speaking() {
				continue
			}
			doing = terminal.State{Long: s.name + " speaks; space silences all", Short: s.name}
			if now := t.run.clock.Now(); now >= next {
				next = now + sayingEvery
				if l := s.instance.Load(); l != nil {
					if speech, _ := l.device.Saying(ctx); speech.ID != "" {
						speech.Place = s.name
						last, of = speech, s
						t.screen.Speaks(speech)
					}
				}
			}
			if of == s {
				doing = terminal.State{Long: last.Who + " speaks; space silences all", Short: last.Who}
			}
		}
		t.screen.Show(doing)
		return false
	})
}

// event carries one thing out and says whether to go on.
func (t *talker) event(ctx context.Context, e gpio.Event) bool {
	var err error
	switch e.Kind {
	case gpio.Quit:
		return false
	case gpio.EOF: // what was asked is still answered
		_ = t.run.wait(ctx, waitLimit, t.run.idle, "idle")
		return false
	case gpio.Pressed:
		t.keys.CaptureEnded(e.Press) // the space bar is no recording here: each strike is a press
		err = t.press(ctx)
	case gpio.Asked:
		err = t.typed(ctx, e.Text)
	}
	if err != nil && ctx.Err() == nil {
		t.screen.Say(fmt.Sprintf("conch: %v\n", err))
	}
	return ctx.Err() == nil
}

// here is where the person is: at home, or where something still works.
func (t *talker) here() *stage {
	for _, s := range append([]*stage{t.home}, t.run.stages...) {
		if s.alive() && !s.isFrozen() {
			return s
		}
	}
	return t.home
}

// press is a finger that only wants silence.
func (t *talker) press(ctx context.Context) error {
	s := t.here()
	if !s.alive() || s.isFrozen() {
		return fmt.Errorf("%s does not see its button", s.name)
	}
	if s.held {
		return nil // by a line of a script
	}
	if err := t.run.move(ctx, s, true); err != nil {
		return err
	}
	return t.run.move(ctx, s, false)
}

// house is who is here, and who is not.
func (p *run) house() (h room.House) {
	for _, d := range p.Room.Devices {
		home := room.Home{Name: d.Name}
		if s := p.stage(d.Name); s != nil {
			home.Here = s.alive()
		}
		for _, c := range d.Cards {
			c.Muted = p.muted(c.ID)
			home.Cards = append(home.Cards, c.Card)
		}
		h.Homes = append(h.Homes, home)
	}
	return h
}

// muted says whether a companion is, as far as any device knows.
func (p *run) muted(id round.CompanionID) bool {
	for _, s := range p.stages {
		l := s.instance.Load()
		if l == nil || l.device.Room() == nil {
			continue
		}
		for _, m := range l.device.Room().Members() {
			if i := slices.IndexFunc(m.Cards, func(c round.Card) bool { return c.ID == id }); i >= 0 {
				return m.Cards[i].Muted
			}
		}
	}
	return false
}

// typed is a line: an instruction of a script if it is one in every word, and a question otherwise.
func (t *talker) typed(ctx context.Context, text string) error {
	if text == "press" {
		return t.press(ctx)
	}
	l, err := parseLine(text, t.known)
	if err != nil {
		l = Line{Source: text, Verb: "ask", Device: t.here().name, Text: text}
		if name, rest, ok := strings.Cut(text, ":"); ok {
			for _, s := range t.run.stages {
				if strings.EqualFold(strings.TrimSpace(name), s.name) && strings.TrimSpace(rest) != "" {
					l.Device, l.Text = s.name, strings.TrimSpace(rest)
				}
			}
		}
	}
	if l.Verb == "ask" {
		if missing, place := t.run.house().Missing(text); missing != "" {
			t.screen.Say("(" + missing + ")\n")
			if place { // nobody is there to hear it
				return nil
			}
		}
	}
	if t.polite && l.Verb == "ask" {
		if err := t.run.wait(ctx, waitLimit, t.run.idle, "idle"); err != nil {
			return err
		}
	}
	return t.run.line(ctx, l)
}
