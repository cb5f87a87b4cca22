package cascade

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// clip is the sound of one piece, from its request on: it comes on a goroutine of its own, and is taken when the pieces before it were.
type clip struct {
	piece
	language string        // ISO 639-1
	more     chan struct{} // of one
	told     bool          // owned by speak: its words were

	mu    sync.Mutex
	pcm   []int16
	total int // samples that came
	done  bool
	err   error
}

// Bounds of the speech of an answer; our choices.
const (
	aheadBegins = kit.Rate      // samples that wait for the speaker while the next piece is asked for beside the one that comes
	aheadEnd    = kit.Rate / 2  // samples before the end of one, at which the next is asked for in any case
	usualPace   = 15            // letters a second, of most languages and voices
	aheadMost   = 20 * kit.Rate // samples that wait: more is not asked for, since it may never be heard
	aheadLook   = 50 * time.Millisecond
	leastSound  = 10 * kit.Rate // of a piece, however short
	mostSoundOf = kit.Rate / 2  // samples a letter, above that
)

// speak says the pieces, in order, one request ahead, and ends when all of them were handed to the pump.
func (r *conversation) speak(ctx context.Context, a *answer) (err error) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	defer a.pump.Close()
	var (
		join    joiner
		waiting []piece
		now     *clip // that is being handed over
		next    *clip // and the one behind
		queue   = a.queue
		look    = time.NewTimer(time.Hour)
		tongue  string // of the piece before
	)
	defer look.Stop()
	fetch := func() *clip {
		tongue = r.cfg.tongue(waiting[0].text, tongue)
		c := &clip{piece: waiting[0], language: tongue, more: make(chan struct{}, 1)}
		waiting = waiting[1:]
		a.times.mark(&a.times.asked, a.order.at)
		wg.Go(func() { r.fetch(ctx, a, c) })
		return c
	}
	for {
		if now == nil {
			now, next = next, nil
		}
		room := a.pump.Waiting() < aheadMost
		if now == nil && len(waiting) > 0 && room {
			now = fetch()
		}
		if now != nil && next == nil && len(waiting) > 0 && room && (now.nearly() || a.pump.Waiting() >= aheadBegins) {
			next = fetch()
		}
		if now == nil && queue == nil && len(waiting) == 0 {
			return nil
		}
		if len(waiting) > 0 {
			look.Reset(aheadLook)
		}
		var more chan struct{}
		if now != nil {
			more = now.more
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p, ok := <-queue:
			if ok {
				waiting = append(waiting, p)
			} else {
				queue = nil
			}
		case <-more:
			over, err := r.hand(a, now, &join)
			if err != nil {
				return err
			}
			if over {
				now = nil
			}
		case <-look.C:
		}
	}
}

// nearly says that a piece has come, or will have in a moment, by how long such a text is said: the next one is asked for then also where
// speech comes no faster than it is said, so that the request is not a pause.
func (c *clip) nearly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done || c.total > 0 && c.total >= utf8.RuneCountInString(c.text)*kit.Rate/usualPace-aheadEnd
}

func (c *clip) poke() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// hand gives the pump what has come of a piece; over: that was all.
func (r *conversation) hand(a *answer, c *clip, join *joiner) (over bool, err error) {
	c.mu.Lock()
	pcm, done, fault := c.pcm, c.done, c.err
	c.pcm = nil
	c.mu.Unlock()
	out := join.write(pcm)
	if done {
		out = append(out, join.end(c.end)...)
	}
	if len(out) > 0 {
		a.times.mark(&a.times.sound, a.order.at)
		if !c.told {
			c.told = true
			a.spoken.begin(c.text)
			r.out.Post(turn.Spoken{At: r.out.Now(), Turn: a.turn, Response: a.id, Item: a.spoken.item, Text: c.text + " "})
		}
		a.spoken.add(len(out), done && fault == nil)
		if !a.pump.Samples(a.spoken.item, out) {
			return true, &unusable{turn.WordsServerError, fmt.Sprintf("an answer longer than %v", r.cfg.MaxAnswer)}
		}
	} else if done && c.told {
		a.spoken.add(0, fault == nil)
	}
	return done, fault
}

// fetch asks the mouth for a piece, again as long as nothing of it came, and has this machine say it where the mouth cannot.
func (r *conversation) fetch(ctx context.Context, a *answer, c *clip) {
	most := max(leastSound, len(c.text)*mostSoundOf)
	endless := false
	on := func(pcm []int16) bool {
		c.mu.Lock()
		c.pcm = append(c.pcm, pcm...)
		c.total += len(pcm)
		endless = c.total > most
		c.mu.Unlock()
		c.poke()
		return !endless && ctx.Err() == nil
	}
	err := r.c.mute.why()
	if err == nil || r.c.here == nil {
		err = r.say(ctx, a, c, on)
	}
	if endless {
		err = &unusable{turn.WordsServerError, "speech that does not end"}
	}
	if err != nil && !endless && ctx.Err() == nil && r.c.here != nil {
		if r.c.mute.why() == nil && r.c.without(&r.c.mute, err, r.c.byMouth()) == nil {
			r.later(r.tellOut)
		}
		err = r.c.here.say(ctx, remaining(c.text, c.total), c.language, on)
	}
	c.mu.Lock()
	c.done, c.err = true, err
	c.mu.Unlock()
	c.poke()
}

// remaining is what of a text was not said when so many samples of it had come, by the usual pace; the last word at least. A word that is said
// again is better than one that is missing.
func remaining(text string, samples int) string {
	letters := []rune(text)
	at := min(samples*usualPace/kit.Rate, max(0, len([]rune(strings.TrimSpace(text)))-1))
	before := strings.TrimRightFunc(string(letters[:at]), func(r rune) bool { return !unicode.IsSpace(r) })
	return strings.TrimSpace(string(letters[utf8.RuneCountInString(before):]))
}

// say asks the mouth for a piece.
func (r *conversation) say(ctx context.Context, a *answer, c *clip, on func([]int16) bool) error {
	for try := (tries{}); ; {
		err := r.c.mouth.say(ctx, c.text, c.language, on)
		c.mu.Lock()
		some := c.total > 0
		c.mu.Unlock()
		if r.cfg.mouth.url != nil && (bought(err) || some) {
			r.c.usage.Count(a.turn, r.cfg.Prices.Speaking(utf8.RuneCountInString(c.text)))
		}
		if err == nil || ctx.Err() != nil || some {
			return err
		}
		wait, ok := try.again(err)
		if !ok {
			return err
		}
		r.log.Info(logAgain, "turn", a.turn, "stage", "speech", "err", err, "in", wait)
		if !pause(ctx, wait) {
			return err
		}
	}
}
