package device

import (
	"context"
	"errors"
	"strings"
	"time"

	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/config"
)

// A box on a shelf has no screen: what is wrong with it is said, by the clips that were made when conch was built (appliance.md
// 3), so that it needs neither network nor key nor anything installed. Once, and not again and again:
//
//	condition begins ──> it lasts (2 s for a button, 20 s for a network) ──> quiet, and no night ──> said
//	                      └─ ends before: nothing                             └─ waits, and is said when it still holds
//
//	again     after aloudAgain at the soonest, and only if it ended and began anew
//	at most   aloudBurst in an hour, the rest is for the light and the CLI
//	night     light.quiet, or ten to seven; a clock that is wrong knows no night
//	a turn    is never talked over: it waits for a gap like every announcement (turns.md 5); a press silences it, and it counts
//	          as said
//
// At a press whose turn fails because of it, it is said in any case: plainer chooses the words.

const (
	aloudTick  = time.Second
	aloudAgain = 6 * time.Hour
	aloudBurst = 5
	aloudHour  = time.Hour
	aloudTTL   = 5 * time.Minute // what cannot be said by then waits for another look
	aloudRetry = time.Minute     // after one that could not be said
)

// clipped marks a text for the local voice that is the name of a clip and, behind a space, the condition it speaks of.
const clipped = "\x00clip:"

// errMended ends a sentence that has waited for its gap until nothing was wrong any more.
var errMended = errors.New("what it was to say is no longer so")

// notice is how a condition is said.
type notice struct {
	code  string        // of the condition; with a trailing dot: of all that begin so
	clip  string        // of package words
	after time.Duration // it must last so long
}

// notices, the most important first: a person who hears one thing should hear the cause. A loudspeaker that is gone is said by
// nobody.
var notices = []notice{
	{"sound.microphone", "no_microphone", 10 * time.Second},
	{buttonLost, "button_lost", 5 * time.Second},
	{configRefused, "setting_wrong", 2 * time.Second},
	{"button.misfit", "setting_wrong", 2 * time.Second},
	{"board.misfit", "setting_wrong", 2 * time.Second},
	{keyBroken, "key_broken", 2 * time.Second},
	{keyMissing, "no_key", 2 * time.Second},
	{clockWrong, "clock_wrong", 30 * time.Second}, // a network brings the time soon after it comes
	{networkLost, "network_lost", 30 * time.Second},
	{voiceLost, "offline", time.Minute},
	{"state.unwritable", "disk_full", 2 * time.Second},
	{"room.memory", "disk_full", 2 * time.Second},
	{"room.ledger", "disk_full", 2 * time.Second},
	{"light.", "light_lost", 5 * time.Second},
	{roomCut, "room_cut", time.Minute},
}

// covers: a condition that another one explains is not said while that one holds.
var covers = map[string][]string{
	voiceLost: {networkLost, clockWrong, keyBroken},
	roomCut:   {networkLost},
}

func (n notice) fits(code string) bool {
	return n.code == code || strings.HasSuffix(n.code, ".") && strings.HasPrefix(code, n.code)
}

// crier decides what is said and when. It is pure: time comes in, the name of a clip comes out.
type crier struct {
	since  map[string]time.Duration // when each that holds began, as far as it was seen
	done   map[string]bool          // said since it began
	last   map[string]time.Duration // said at all
	recent []time.Duration          // the latest, oldest first, at most aloudBurst
	wait   time.Duration            // nothing before
}

// look says what to say now; "": nothing. can: the loudspeaker is there and it is no night.
func (c *crier) look(now time.Duration, held []string, can bool) (clip, code string) {
	if c.since == nil {
		c.since, c.done, c.last = map[string]time.Duration{}, map[string]bool{}, map[string]time.Duration{}
	}
	holds := map[string]bool{}
	for _, code := range held {
		holds[code] = true
		if _, ok := c.since[code]; !ok {
			c.since[code] = now
		}
	}
	for code := range c.since {
		if !holds[code] {
			delete(c.since, code)
			delete(c.done, code)
		}
	}
	for len(c.recent) > 0 && now-c.recent[0] >= aloudHour {
		c.recent = c.recent[1:]
	}
	if !can || now < c.wait || len(c.recent) >= aloudBurst {
		return "", ""
	}
	for _, n := range notices {
		for _, code := range held {
			if n.fits(code) && !c.done[code] && now-c.since[code] >= n.after && !c.explained(code, holds) && c.due(n.clip, now) {
				return n.clip, code
			}
		}
	}
	return "", ""
}

func (c *crier) explained(code string, holds map[string]bool) bool {
	for _, other := range covers[code] {
		if holds[other] {
			return true
		}
	}
	return false
}

func (c *crier) due(clip string, now time.Duration) bool {
	last, ok := c.last[clip]
	return !ok || now-last >= aloudAgain
}

// said notes that it was, or that it could not be.
func (c *crier) said(now time.Duration, clip, code string, ok bool) {
	if !ok {
		c.wait = now + aloudRetry
		return
	}
	if _, holds := c.since[code]; holds {
		c.done[code] = true
	}
	c.last[clip] = now
	c.recent = append(c.recent, now)
}

// logAloud: what was said, and of which condition.
const logAloud = "aloud.said"

// aloud is the goroutine that says what is wrong.
func (d *Device) aloud(ctx context.Context) error {
	var c crier
	tick := time.NewTimer(aloudTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.conds.begun:
		}
		var held []string
		for _, cond := range d.conds.list() {
			held = append(held, cond.Code)
		}
		if len(held) == 0 { // nothing to look at until something begins
			c.look(d.now(), nil, false)
			tick.Stop()
			continue
		}
		tick.Reset(aloudTick)
		clip, code := c.look(d.now(), held, d.canSpeak() && !night(time.Now(), *d.lights.quiet.Load()))
		if clip == "" {
			continue
		}
		select {
		case how := <-d.coordinator.InjectLocal(clipped+clip+" "+code, "condition."+code, aloudTTL):
			ok := how == coordinator.OutcomeDelivered || how == coordinator.OutcomeInterrupted
			d.log.Info(logAloud, "clip", clip, "code", code, "outcome", how.String())
			c.said(d.now(), clip, code, ok)
		case <-ctx.Done():
			return nil
		}
	}
}

// canSpeak says that there is a loudspeaker and that the device is ready.
func (d *Device) canSpeak() bool {
	p := d.playback.Load()
	return p != nil && p.err == nil && d.Ready()
}

// night says whether people sleep; quiet is light.quiet.
func night(wall time.Time, quiet string) bool {
	if wall.Before(clockFloor) {
		return false
	}
	from, to := 22*time.Hour, 7*time.Hour
	if a, b, err := config.ParseHours(quiet); quiet != "" && err == nil {
		from, to = a, b
	}
	at := time.Duration(wall.Hour())*time.Hour + time.Duration(wall.Minute())*time.Minute
	if from <= to {
		return at >= from && at < to
	}
	return at >= from || at < to
}

// plainer are the words for a turn that failed: where the cause is known better than the turn knows it, that.
func (d *Device) plainer(w turn.Words) string {
	if w != turn.WordsOffline {
		return string(w)
	}
	for _, better := range []struct{ code, clip string }{{keyBroken, "key_broken"}, {clockWrong, "clock_wrong"}, {networkLost, "network_lost"}} {
		if d.conds.holds(better.code) {
			return better.clip
		}
	}
	return string(w)
}
