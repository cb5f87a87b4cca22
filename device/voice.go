package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/provider"
	"conch/device/room"
)

// Which voice answers is chosen here; what a kind of voice is, its own folder says (VOICES.md 1).
//
//	configuration ──> provider.Kind ──> kinds.All ──> voice.Kind.New(settings, companions) ──> a session for each companion

// wireVoice makes the voices, one for each companion that lives here.
func (d *Device) wireVoice() error {
	voices, cards := d.room.Voices, d.room.Cards
	d.answers = &answers{conds: d.conds, first: cards[0].ID, transcription: d.cfg.Voice.Transcription}
	voices.Trouble = func(id round.CompanionID, e *turn.SessionLost) { // where another one has the microphone
		d.answers.lost(voices.Lost(id), " for "+d.room.NameOf(id), e)
	}
	if d.opts.Voice != nil {
		voices.Add(cards[0].ID, d.opts.Voice, cards[0].Uses)
		d.answers.called = func() string { return "given" }
		return nil
	}
	kind, why := provider.Kind(&d.cfg)
	if i := slices.IndexFunc(d.opts.Voices, func(k voice.Kind) bool { return k.Name == kind.Name }); i >= 0 {
		kind = d.opts.Voices[i]
	}
	s, err := provider.Settings(&d.cfg, kind)
	if err != nil {
		return err
	}
	s.Log, s.Hold = d.log, d.world.Hold
	s.Found, s.Finding = d.found()
	var all []voice.Companion
	for i, card := range cards {
		all = append(all, d.companionVoice(kind, i, card))
	}
	made, err := kind.New(s, all)
	if setting := (voice.SettingError{}); errors.As(err, &setting) {
		return fmt.Errorf("%w: config: voice: %w", control.ErrRefused, err)
	} else if err != nil {
		return err
	}
	if kind.Local {
		why += "); for a real one: " + d.cfg.GiveKey()
		d.answers.called = func() string { return made.Called + " (" + why }
	} else {
		d.answers.called = func() string { return now(made) + " (" + why + ")" }
	}
	d.answers.more = made.More
	for i, x := range made.Sessions {
		voices.Add(cards[i].ID, x.Voice, cards[i].Uses)
		d.usage.Add(x)
	}
	if made.Run != nil {
		d.serving = append(d.serving, actor{kind.Name, made.Run})
	}
	return nil
}

// now is what a voice is called by now.
func now(made voice.Made) string {
	if made.Now != nil {
		return made.Now()
	}
	return made.Called
}

// speaksFile keeps what the server of an address was found to speak.
const speaksFile = "speaks"

type keptSpeaks struct{ URL, Speaks string }

// found is where a voice finds what was found before, and keeps what it finds.
func (d *Device) found() (func(string) string, func(url, speaks string)) {
	if d.memory.Dir() == "" {
		return nil, nil
	}
	return func(url string) string {
			var was keptSpeaks
			d.memory.Load(speaksFile, &was, "the server is asked again what it speaks")
			if was.URL != url {
				return ""
			}
			return was.Speaks
		}, func(url, speaks string) {
			_ = d.memory.Save(speaksFile, keptSpeaks{url, speaks}) // the condition says it
		}
}

// companionVoice is what the device does for the voice of a companion.
func (d *Device) companionVoice(kind voice.Kind, i int, card companions.Card) voice.Companion {
	v := provider.Companion(&d.cfg, card)
	v.Say = localVoice{d.synthesizer, d.cfg.Device.Languages, d.cfg.Device.Mouth}.Speak
	context := companions.RoomContext{Place: d.cfg.Device.Name, Common: d.cfg.Voice.Instructions, Language: provider.Spoken(&d.cfg), Room: d.room.InRoom(),
		Speaker: room.HouseholdOf(d.room).Speaker()}
	for _, c := range d.room.Cards { // who else is in the room comes with each answer's prompt
		if c.ID != card.ID {
			context.Others = append(context.Others, companions.Other{Name: c.Name, Role: c.Role, Place: context.Place})
		}
	}
	v.Instructions = card.Instructions(context)
	v.Log = d.log.With("companion", card.ID)
	d.usage.Prepare(&v, card.ID, i == 0)
	v.Refused = func(parts []string, why string) { d.answers.without(card, parts, why) }
	d.room.Remembers(&v, kind, card.ID)
	return v
}

// heardOf makes conditions of what the voice reports, on its way to the coordinator.
type heardOf struct {
	voice.Outlet
	d *Device
}

// Audio keeps what is said, to be said again.
func (h heardOf) Audio(ctx context.Context, id turn.ID, pcm []int16) int {
	n := h.Outlet.Audio(ctx, id, pcm)
	h.d.again.Audio(id, pcm[:n])
	return n
}

func (h heardOf) Post(ev turn.Event) {
	switch e := ev.(type) {
	case turn.ResponseRefused:
		h.d.usage.Refused(e)
	case turn.ResponseStarted:
		h.d.conds.Clear(condition.VoiceCeiling)
	case turn.SessionReady:
		h.d.world.Early(false)
		h.d.answers.lost(condition.VoiceLost, "", nil)
	case turn.SessionLost:
		h.d.world.Early(e.Say == turn.WordsClockWrong)
		h.d.lights.Session(e)
		h.d.answers.lost(condition.VoiceLost, "", &e)
	}
	h.d.room.Heard(ev)
	h.Outlet.Post(ev)
}

// answers tells people of the voices: what answers, and in conditions what keeps it from that.
type answers struct { // fixed after New
	conds         *condition.Book
	first         round.CompanionID // whose conditions are the device's
	transcription string            // as it is configured
	called        func() string     // what was chosen and why
	more          string            // more of it
}

// lost sets or clears the condition that there is no session.
func (a *answers) lost(code condition.Code, whose string, e *turn.SessionLost) {
	if e == nil {
		a.conds.Clear(code)
		return
	}
	text, do := wordsText(e.Say), provider.Remedy(e.Say)
	switch {
	case e.Do != "":
		text, do = e.Why, e.Do
	case e.Why != "":
		text += " (" + e.Why + ")"
	}
	a.conds.SetClip(code, "no session with "+a.called()+whose+": "+text, do, string(e.Say))
}

// without sets or clears the conditions that a companion's session has to do without something that the server refused: the
// words of the person, or something else.
func (a *answers) without(card companions.Card, parts []string, why string) {
	unheard, bent := condition.VoiceUnheard, condition.VoiceBent
	if card.ID != a.first {
		unheard, bent = unheard.Of(string(card.ID)), bent.Of(string(card.ID))
	}
	rest := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p == "transcription" })
	if len(rest) < len(parts) {
		a.conds.Set(unheard, fmt.Sprintf("the server refuses to write down what %s hears (%s): others in a room do not get to know it, and "+
			"nothing of it is remembered", card.Name, why),
			fmt.Sprintf("set voice.transcription to a model that the server knows, or to \"\" to ask for none (now: %q)", a.transcription))
	} else {
		a.conds.Clear(unheard)
	}
	if slices.ContainsFunc(rest, func(p string) bool { return strings.HasPrefix(p, "voice.") }) { // a stage of a chain
		a.conds.Set(bent, fmt.Sprintf("%s does without %s: %s", card.Name, strings.Join(rest, ", "), why),
			"mend it (see: conch doctor); it is looked at again by itself")
	} else if len(rest) > 0 {
		a.conds.Set(bent, fmt.Sprintf("the server refuses a part of %s's session, which does without: %s (%s)", card.Name, strings.Join(rest, ", "), why),
			"look at voice.name, voice.model and voice.dialect (conch check)")
	} else {
		a.conds.Clear(bent)
	}
}
