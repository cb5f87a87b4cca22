package device

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
)

// Every fault of the voice ends in an answer or in words, and in IDLE; the next question is answered; nothing is left.
func TestFaultsOfTheVoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		faults rehearsal.Faults
		config func(*config.Config)
		ask    string
		spoken bool
		reason turn.Reason // when words is set
		words  turn.Words  // "": it is answered all the same
		heal   string      // "" or what it needs to heal
	}{
		{name: "slow", faults: rehearsal.Faults{FirstByte: 1200 * time.Millisecond}},
		{name: "slower than the deadline", faults: rehearsal.Faults{FirstByte: time.Minute},
			config: func(c *config.Config) { c.Turn.Commit = 1500 * time.Millisecond }, reason: turn.Expired, words: turn.WordsNoAnswer},
		{name: "silent", faults: rehearsal.Faults{ForgetTheAnswer: true},
			config: func(c *config.Config) { c.Turn.Commit = 1500 * time.Millisecond }, reason: turn.Expired, words: turn.WordsNoAnswer},
		{name: "bursty", faults: rehearsal.Faults{Burst: 400 * time.Millisecond}},
		{name: "duplicating", faults: rehearsal.Faults{Duplicate: 1}},
		{name: "dropping mid-answer", faults: rehearsal.Faults{DropAfter: 500 * time.Millisecond}, ask: "long",
			reason: turn.Failed, words: turn.WordsLostMidway},
		{name: "garbage now and then", faults: rehearsal.Faults{Garbage: 0.5}},
		{name: "unknown events", faults: rehearsal.Faults{Unknown: 1}},
		{name: "refused commit", faults: rehearsal.Faults{RefuseCommit: true}, spoken: true, reason: turn.Failed, words: turn.WordsNotHeard},
		{name: "refused response", faults: rehearsal.Faults{RefuseResponse: true}, reason: turn.Failed, words: turn.WordsQuota},
		{name: "failed response", faults: rehearsal.Faults{FailResponse: true}, spoken: true, reason: turn.Failed, words: turn.WordsServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, boxOptions{config: c.config})
			b.server.SetFaults(c.faults)
			var r control.Turn
			switch {
			case c.spoken:
				r = b.say(300 * time.Millisecond)
			case c.ask != "":
				r = b.ask(c.ask)
			default:
				r = b.ask("short")
			}
			if c.words == "" {
				b.answered(r)
			} else {
				b.failed(r, c.reason, c.words)
			}
			b.server.SetFaults(rehearsal.Faults{})
			b.fine()
		})
	}
}

// An answer that the server ends early, because it grew too long or because it may not be said: what came is heard to its end,
// then the reason in its own words; the session stays, and the next question is answered.
func TestAnIncompleteAnswerIsHeardAndToldAsWhatItIs(t *testing.T) {
	t.Parallel()
	for words, faults := range map[turn.Words]rehearsal.Faults{
		turn.WordsCutShort: {CutShort: true},
		turn.WordsFiltered: {Incomplete: true},
	} {
		t.Run(string(words), func(t *testing.T) {
			t.Parallel()
			b := newBox(t, boxOptions{})
			whole := b.ask("One sentence.")
			b.server.SetFaults(faults)
			r := b.ask("One sentence. Another long one.")
			b.failed(r, turn.Failed, words)
			if r.HeardMS < whole.HeardMS-1 {
				t.Errorf("%.0f ms were heard; want the whole sentence that came, %.0f ms", r.HeardMS, whole.HeardMS)
			}
			b.server.SetFaults(rehearsal.Faults{})
			b.fine()
			if n := b.log.count("session.lost"); n != 0 {
				t.Errorf("the session was lost %d times; want never", n)
			}
		})
	}
}

// A server that goes on after response.cancel: nothing of the old answer is heard after the press.
func TestLateAudioOfACutAnswerIsNeverHeard(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{faults: rehearsal.Faults{LateAfterCancel: 3 * time.Second}})
	b.question("an old long one")
	b.until("speaking", b.Speaking)
	b.pause(300 * time.Millisecond)
	n := len(b.turnsEnded())
	b.talk(500 * time.Millisecond)
	edge := time.Duration(b.seen.lastEdge.Load())
	b.until("the new turn's end", func() bool { return len(b.turnsEnded()) == n+2 })
	b.pause(2 * time.Second) // the late ones still come
	b.quiet()
	cut, next := b.turnsEnded()[n], b.turnsEnded()[n+1]
	if cut.Reason != turn.InterruptedByPress.String() || cut.InterruptedIn != turn.InResponse.String() {
		t.Errorf("the old turn ended %s in %s; want interrupted in IN_RESPONSE", cut.Reason, cut.InterruptedIn)
	}
	b.answered(next)
	if b.log.count("delta.stale") == 0 {
		t.Error("nothing came late")
	}
	const settled = 250 * time.Millisecond // how fast it is silent is for the benchmark; this is about what comes later
	now := b.now()
	if before := pitch(b.card.Between(0, edge), oldHz); before < 500 {
		t.Fatalf("the old answer is not on the tape (%.0f)", before)
	}
	if after := pitch(b.card.Between(edge+settled, now), oldHz); after > 50 {
		t.Errorf("the old answer is heard after the press, as loud as %.0f", after)
	}
	if after := pitch(b.card.Between(edge+settled, now), newHz); after < 500 {
		t.Errorf("the new answer is not on the tape (%.0f)", after)
	}
	b.server.SetFaults(rehearsal.Faults{})
	b.fine()
}

// A line that is dead without a word (no FIN): the answer breaks off in words by its deadline, a ping notices that the
// line is gone, and the question after is answered over a new one.
func TestABlackHoleIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Response = time.Second }})
	b.server.SetFaults(rehearsal.Faults{BlackHoleAfter: 500 * time.Millisecond})
	b.failed(b.ask("long"), turn.Expired, turn.WordsLostMidway)
	b.server.SetFaults(rehearsal.Faults{})
	b.fine()
	if n := b.log.count("session.lost"); n != 1 {
		t.Errorf("the session was lost %d times; want once, by a ping", n)
	}
}

// A server that sends nothing but garbage between its events is left after a hundred of them.
func TestAFloodOfGarbageEndsTheSession(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.server.SetFaults(rehearsal.Faults{Garbage: 1})
	b.goesOn()
	b.fine()
}

// A delta of 10 MB is two and a half minutes of sound in one message: it is taken, and a press ends it like any other.
func TestADeltaOfTenMegabytes(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.server.SetFaults(rehearsal.Faults{Huge: 10 << 20})
	b.question("old")
	b.state(turn.InResponse) // one word sounds, and minutes of silence
	b.pause(500 * time.Millisecond)
	b.server.SetFaults(rehearsal.Faults{})
	n := len(b.turnsEnded())
	b.talk(300 * time.Millisecond)
	b.until("the new turn's end", func() bool { return len(b.turnsEnded()) == n+2 })
	b.quiet()
	if cut := b.turnsEnded()[n]; cut.Reason != turn.InterruptedByPress.String() {
		t.Errorf("the long answer ended %s; want interrupted", cut.Reason)
	}
	b.answered(b.turnsEnded()[n+1])
	b.fine()
	if n := b.log.count("session.lost"); n != 0 {
		t.Errorf("the session was lost %d times; want never", n)
	}
}

// A message beyond any reason costs the session: the server was at the answer, so that the question is not repeated.
func TestAnAnswerThatAlwaysKillsTheSessionIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Commit = time.Minute }}) // a busy machine takes its time for so many bytes
	b.server.SetFaults(rehearsal.Faults{Huge: 24 << 20})
	b.failed(b.ask("short"), turn.Failed, turn.WordsNoAnswer)
	if n := b.log.count("session.lost"); n != 1 {
		t.Errorf("the session was lost %d times; want once", n)
	}
	b.server.SetFaults(rehearsal.Faults{})
	b.fine()
}

// The connection breaks while the server is at the answer: it is not asked twice, and the person is told.
func TestSessionLostBetweenCommitAndAnswer(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{faults: rehearsal.Faults{FirstByte: time.Minute}})
	n := len(b.turnsEnded())
	b.talk(700 * time.Millisecond)
	b.state(turn.Committing)
	b.until("heard by the server", func() bool { return len(b.recognizer.lengths()) == 1 })
	b.pause(200 * time.Millisecond) // and said so
	b.server.SetFaults(rehearsal.Faults{})
	b.wires.cut()
	b.until("the turn's end", func() bool { return len(b.turnsEnded()) > n })
	b.quiet()
	b.failed(b.turnsEnded()[n], turn.Failed, turn.WordsNoAnswer)
	b.fine()
	if l := b.recognizer.lengths(); len(l) != 2 {
		t.Errorf("the server heard %d utterances; want the one that was lost, and the one after it", len(l))
	}
}

// The connection breaks while a person speaks: the recording goes on, and is sent whole when the connection is back.
func TestSessionLostWhileListening(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	r := b.nextTurn(func() {
		b.hand.Press()
		b.state(turn.Listening)
		b.card.Feed(whistle(300, 24000))
		b.pause(500 * time.Millisecond)
		b.wires.cut()
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.hand.Release()
	})
	b.answered(r)
	if l := b.recognizer.lengths(); len(l) != 1 || l[0] < time.Second {
		t.Errorf("the server heard utterances of %v; want one of more than a second", l)
	}
	b.fine()
}

// The connection breaks while a person speaks and does not come back in time: words; later it is back by itself.
func TestSessionLostForLonger(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Reconnect = time.Second }})
	b.failed(b.nextTurn(func() {
		b.hand.Press()
		b.state(turn.Listening)
		b.card.Feed(whistle(300, 24000))
		b.pause(500 * time.Millisecond)
		b.wires.refuse(true)
		b.wires.cut()
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.hand.Release()
	}), turn.Expired, turn.WordsOffline)
	r := b.ask("short")
	b.failed(r, turn.Expired, turn.WordsOffline)
	for _, other := range []turn.Words{turn.WordsNoAnswer, turn.WordsQuota, turn.WordsLostMidway} { // or failed says nothing
		if c := b.heard(other, r.Ended); c > 0.7 {
			t.Errorf("the words %q are found (%.2f) where %q were said", other, c, turn.WordsOffline)
		} else {
			t.Logf("likeness of %q to %q: %.2f", other, turn.WordsOffline, c)
		}
	}
	b.wires.refuse(false)
	b.until("online", b.coordinator.Online)
	b.fine()
	for _, l := range b.recognizer.lengths() {
		if l > time.Second {
			t.Errorf("an utterance that was given up was sent after all (%v)", l)
		}
	}
}

// goesOn asks for an answer whose session ends in the middle: what has come is heard, the rest is asked for in the next one.
func (b *box) goesOn() {
	b.t.Helper()
	lost := b.log.count("session.lost")
	r := b.nextTurn(func() {
		b.question("endless")
		b.until("the end of the session", func() bool { return b.log.count("session.lost") > lost })
		b.server.SetFaults(rehearsal.Faults{})
	})
	b.answered(r)
	if r.Responses < 2 || r.HeardMS < 5000 { // the next session may have begun before its fault was taken away
		b.t.Errorf("%d responses, %.0f ms heard; want 2 at least, and all that had come", r.Responses, r.HeardMS)
	}
}

// A session that ends by itself: unnoticed while idle and in the middle of an answer.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{faults: rehearsal.Faults{Expire: 2 * time.Second}})
	b.answered(b.ask("short"))
	b.until("expired once", func() bool { return b.log.count("session.lost") == 1 })
	b.until("online", b.coordinator.Online)
	b.goesOn()
	b.fine()
}

// A key that is refused is said at once and each time; the corrected key file heals it, without a restart.
func TestRefusedKeyIsHealedByANewOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	keep := func(key string) {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep("an-old-key")
	cfg, err := config.Load(config.LoadOptions{Flags: map[string]string{"voice.key_file": file}, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, boxOptions{offline: true, key: "a-new-key", config: func(c *config.Config) { c.Voice.Key, c.KeyFrom = cfg.Voice.Key, cfg.KeyFrom }})
	b.until("refused", func() bool { return b.log.count("session.retry") > 0 })
	b.failed(b.ask("short"), turn.Failed, turn.WordsKeyRefused)
	b.failed(b.say(300*time.Millisecond), turn.Failed, turn.WordsKeyRefused)
	keep("a-new-key")
	b.until("online", b.coordinator.Online)
	b.fine()
}

// A key that is refused in the middle of a conversation, at the next session: what came before is heard, then why.
func TestKeyRefusedLater(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.answered(b.ask("short"))
	b.server.SetFaults(rehearsal.Faults{RefuseKey: true})
	b.failed(b.nextTurn(func() {
		b.question("long")
		b.until("speaking", b.Speaking)
		b.wires.cut()
	}), turn.Failed, turn.WordsKeyRefused)
	b.until("refused", func() bool { return b.log.count("session.retry") > 0 })
	b.failed(b.ask("short"), turn.Failed, turn.WordsKeyRefused)
}

// Too many requests, told at the handshake (429): said, and tried again when the server wants it to be.
func TestRateLimitAtTheHandshake(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{offline: true, faults: rehearsal.Faults{RateLimit: true}, config: func(c *config.Config) { c.Turn.Reconnect = time.Second }})
	b.until("refused", func() bool { return b.log.count("session.retry") > 0 })
	b.failed(b.ask("short"), turn.Expired, turn.WordsQuota)
	b.server.SetFaults(rehearsal.Faults{})
	b.until("online", b.coordinator.Online)
	b.fine()
}

// A box without a network is ready once it knows that: a person can press, and is told in words.
func TestReadyWithoutANetwork(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{offline: true, address: "ws://127.0.0.1:1/v1/realtime"}) // port 1 (tcpmux): nobody listens
	b.until("ready", b.Ready)
	if b.coordinator.Online() || !b.conds.Holds(condition.VoiceLost) {
		t.Errorf("online %v, conditions %+v; want not online, and %s", b.coordinator.Online(), b.conds.List(), condition.VoiceLost)
	}
}
