package device

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/audio/words"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
	"conch/device/terminal"
	"conch/device/wait"
)

// Whoever sits at a terminal and talks with the appliance: what is shown while it goes on. What is drawn for it is the screen's business.

// sayingEvery is how often the text that is being said grows. Our choice: a word lasts about three of these.
const sayingEvery = 100 * time.Millisecond

// prompt says what the space bar would do, and why it would not.
func prompt(l language.Language, s turn.State, muted, hears, sounds bool, who string) terminal.State {
	say := func(long, short string) terminal.State { return terminal.State{Long: long, Short: short} }
	switch s {
	case turn.Listening:
		return say(l.Phrase("prompt.listening"), l.Phrase("prompt.listening_short"))
	case turn.Committing, turn.AwaitingNextResponse, turn.ApplyingFactories:
		return say(l.Phrase("prompt.thinking"), l.Phrase("prompt.thinking_short"))
	case turn.InResponse:
		if who == "" {
			return say(l.Phrase("prompt.answering"), l.Phrase("prompt.answering_short"))
		}
		return say(l.Phrase("prompt.speaks", "name", who), who)
	}
	switch {
	case sounds:
		return say(l.Phrase("prompt.sounds"), l.Phrase("prompt.sounds_short"))
	case muted:
		return say(l.Phrase("prompt.muted"), l.Phrase("prompt.muted_short"))
	case !hears:
		return say(l.Phrase("prompt.deaf"), l.Phrase("prompt.deaf_short"))
	}
	return say(l.Phrase("prompt.talks"), l.Phrase("prompt.talks_short"))
}

// onlooker is what a person has been shown so far.
type onlooker struct {
	a     *appliance
	next  time.Duration // when to look how far an answer has come
	who   string        // whose answer it is
	turn  turn.ID
	held  []condition.Condition // that the person was told of
	known bool                  // held is what there is
	deaf  time.Duration         // when they were told why nothing is heard
}

// unheard is a turn in which there was no microphone, of which the person was not told yet.
type unheard struct {
	began, ended time.Duration
	told         string
}

// causeWait is how long such a turn waits for its cause: a card that is pulled out says so, and is missed, within half a second.
const causeWait = time.Second

// due says whether it is to be told now, and whether it was told with its cause instead: once is enough. why is when that was, hears that
// a microphone is open, known that a cause is held which was told before.
func (u unheard) due(now, why time.Duration, hears, known bool) (tell, done bool) {
	switch {
	case why >= u.began && why > 0:
		return false, true
	case hears, known, now-u.ended > causeWait:
		return true, true
	}
	return false, false
}

// watch shows a person at the keyboard what the device is doing, until ctx ends.
func (a *appliance) watch(ctx context.Context) {
	o := onlooker{a: a}
	defer a.screen.End()
	a.watched.Store(true)
	_ = wait.Until(ctx, func() bool {
		o.look(ctx)
		return false
	})
}

func (o *onlooker) look(ctx context.Context) {
	d, screen := o.a.device, o.a.screen
	state := d.coordinator.State()
	if state == turn.InResponse {
		if now := d.now(); now >= o.next {
			o.next = now + sayingEvery
			o.saying(ctx)
		}
	} else {
		o.who = ""
	}
	screen.Show(prompt(d.cfg.Device.Language, state, d.sound.Muted(), d.sound.Hears(), d.audible() || d.room.Taken(), o.who))
	o.conditions()
}

// saying shows how far an answer has come, under the question that it answers.
func (o *onlooker) saying(ctx context.Context) {
	speech, asked := o.a.device.Saying(ctx)
	if speech.ID == "" {
		return
	}
	o.who = speech.Who
	if id := turn.ID(speech.ID); asked != "" && o.turn != id && speech.Heard != "" {
		o.turn = id
		o.a.question(id, asked)
	}
	o.a.screen.Speaks(speech)
}

// conditions tells of what goes wrong while a person is there, and of what is well again. What was wrong at the beginning stands there.
func (o *onlooker) conditions() {
	u := o.a.unheard.Load() // before the list: its cause, if it has one, is there
	list := o.a.device.conds.List()
	in := func(list []condition.Condition, code condition.Code) bool {
		return slices.ContainsFunc(list, func(c condition.Condition) bool { return c.Code == code })
	}
	known := false // why nothing is heard
	for _, c := range list {
		ofMicrophone := c.Code == condition.SoundFlat || c.Code == condition.SoundMicrophone
		known = known || ofMicrophone
		if o.known && !in(o.held, c.Code) {
			o.a.screen.Say(trouble(o.a.device.cfg.Device.Language, c))
			if ofMicrophone {
				o.deaf = o.a.device.now()
			}
		}
	}
	if u != nil {
		tell, done := u.due(o.a.device.now(), o.deaf, o.a.device.sound.Hears(), known)
		if tell {
			o.a.screen.Say(u.told)
		}
		if done {
			o.a.unheard.CompareAndSwap(u, nil)
		}
	}
	for _, c := range o.held {
		if !in(list, c.Code) {
			o.a.screen.Say("(" + o.a.device.cfg.Device.Language.Phrase("terminal.no_longer", "what", printable.Cut(printable.Text(c.Text), 60)) + ")\n")
		}
	}
	o.held, o.known = list, true
}

// trouble is a condition for people. What is wrong with a file or a wire is said in English, behind the sentence that is spoken of it.
func trouble(l language.Language, c condition.Condition) string {
	text, clip := "", c.Said()
	if c.Code == condition.SoundFlat { // said where somebody pressed
		clip = condition.SoundMicrophone.Clip()
	}
	if clip != "" && l != language.English {
		text = fmt.Sprintf("conch: %s\n", words.Text(l, clip))
	}
	text += fmt.Sprintf("conch: %s\n", strings.ReplaceAll(c.Text, "\n", "\n       "))
	if c.Do != "" {
		text += fmt.Sprintf("       -> %s\n", printable.Text(c.Do))
	}
	return text
}

// Saying is what is being said here, as far as it was heard, and the question that it answers.
func (d *Device) Saying(ctx context.Context) (terminal.Speech, string) {
	s := d.coordinator.Saying(ctx)
	if s.Turn == "" {
		return terminal.Speech{}, ""
	}
	return terminal.Speech{ID: string(s.Turn), Who: d.room.NameOf(d.room.Voices.Whose(s.Who)), Heard: s.Heard, Rest: s.Rest}, s.Asked
}

// question shows what was asked in a turn, once.
func (a *appliance) question(id turn.ID, text string) {
	if last := a.questioned.Swap(&id); last != nil && *last == id || text == "" || a.screen.Known(text) {
		return
	}
	a.screen.You(text)
	a.missing(text)
}

// missing tells whoever asks for somebody that is not in the room.
func (a *appliance) missing(text string) {
	if what := a.device.room.Missing(text); what != "" {
		a.screen.Say("(" + what + ")\n")
	}
}

// turnEnded shows what a turn has come to. It is called on the coordinator's goroutine.
func (a *appliance) turnEnded(t control.Turn) {
	l := a.device.cfg.Device.Language
	a.question(t.Turn, t.Asked)
	if t.Said != "" {
		a.screen.Said(SpeechOf(t), t.Cut(l))
	}
	t.Asked, t.Said = "", "" // they stand there
	told := t.Sentence(l, t.Who)
	if turn.Words(t.Words) == turn.WordsNoMicrophone && a.watched.Load() {
		began := t.Ended - time.Duration(t.DurationMS*float64(time.Millisecond))
		if u := a.unheard.Swap(&unheard{began, t.Ended, told}); u != nil {
			a.screen.Say(u.told)
		}
		return
	}
	a.screen.Say(told)
}

// says shows what the device says of a turn that was shown before: that its stream broke, say.
func (a *appliance) says(_ turn.ID, w turn.Words) {
	a.screen.Say(fmt.Sprintf("conch: %s\n", words.Text(a.device.cfg.Device.Language, string(w))))
}

// SpeechOf is what was said in a turn: all of it, unless somebody cut it.
func SpeechOf(t control.Turn) terminal.Speech {
	s := terminal.Speech{ID: string(t.Turn), Who: t.Who, Heard: t.Said}
	if rest, ok := strings.CutPrefix(t.Said, t.HeardText); ok && t.CutShort() {
		s.Heard, s.Rest = t.HeardText, rest
	}
	return s
}

// help is what "?" says of an appliance.
func help(l language.Language) string {
	return terminal.HelpRow(l.Phrase("terminal.key_space"), l.Phrase("terminal.help_space")) +
		terminal.HelpRow(l.Phrase("terminal.key_line"), l.Phrase("terminal.help_line"))
}
