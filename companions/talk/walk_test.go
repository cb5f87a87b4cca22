package talk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// A room and a coordinator that do what they may do at any time, in any order: what is granted ends once, nothing is told of it
// after that, words are told once, and nothing grows.
func TestRandomWalk(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CONCH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	for i := range uint64(3000) {
		if err := walk(seed + i); err != nil {
			t.Fatalf("CONCH_SEED=%d: %v", seed+i, err)
		}
	}
}

func walk(seed uint64) error {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), words: map[turn.ID]int{}, mute: map[turn.ID]bool{}, open: map[said]bool{}, live: map[turn.ID]bool{}}
	for range 120 {
		w.now += time.Duration(w.rng.IntN(400)) * time.Millisecond
		if at, ok := w.m.Wake(); ok && at <= w.now {
			if err := w.step(DeadlinePassed{At: w.now, First: "ada", Alone: w.flip()}); err != nil {
				return err
			}
		}
		if err := w.step(w.something()); err != nil {
			return err
		}
	}
	for id := range w.live { // the coordinator ends every turn
		if err := w.step(TurnEnded{Turn: id, Reason: "failed"}); err != nil {
			return err
		}
	}
	for p := range w.open { // the room gives up what it still waits for
		if err := w.step(Abandoned{w.now, p.place, p.companion, "over"}); err != nil {
			return err
		}
	}
	for range 100 {
		at, ok := w.m.Wake()
		if !ok {
			break
		}
		if err := w.step(DeadlinePassed{At: at, First: "ada"}); err != nil {
			return err
		}
	}
	if at, ok := w.m.Wake(); ok {
		return fmt.Errorf("it still waits, until %v", at)
	}
	if len(w.open) > 0 || len(w.m.answers) > 0 {
		return fmt.Errorf("granted and never ended: %v, %v", w.open, w.m.answers)
	}
	return nil
}

type world struct {
	m     Machine
	rng   *rand.Rand
	now   time.Duration
	n     int
	asked []turn.ID
	live  map[turn.ID]bool // turns that the coordinator has not ended
	open  map[said]bool    // granted, and not told to have ended
	words map[turn.ID]int
	mute  map[turn.ID]bool // told without words
}

func (w *world) flip() bool { return w.rng.IntN(2) == 0 }

// any is one of the turns that there have been.
func (w *world) any() turn.ID {
	if len(w.asked) == 0 || w.rng.IntN(20) == 0 {
		return "t-never"
	}
	return w.asked[max(0, len(w.asked)-1-w.rng.IntN(4))]
}

func (w *world) granted() said {
	for p := range w.open {
		return p
	}
	return said{round.Place{Number: 999}, "ada"}
}

func (w *world) fresh() turn.ID {
	w.n++
	id := turn.ID(fmt.Sprintf("t-%d", w.n))
	w.asked = append(w.asked, id)
	w.live[id] = true
	return id
}

func (w *world) something() Event {
	switch w.rng.IntN(13) {
	case 0:
		return Asked{Turn: w.fresh(), Alone: w.flip()}
	case 1:
		return Announced{w.fresh()}
	case 2:
		return InputCommitted{w.now, w.any()}
	case 3:
		return WordsCame{w.any(), []string{"", "hello"}[w.rng.IntN(2)], w.flip(), "ada"}
	case 4:
		return SpeechBegan{w.any()}
	case 5:
		return SpeechKnown{Turn: w.any(), At: w.now, Text: "hello"}
	case 6:
		id := w.any()
		delete(w.live, id)
		return TurnEnded{Turn: id, Done: w.flip(), Audible: w.flip(), Whole: w.rng.IntN(5) == 0, Reason: "some"}
	case 7, 8:
		w.n++
		p := said{round.Place{Number: w.n}, []round.CompanionID{"ada", "ben"}[w.rng.IntN(2)]}
		w.open[p] = true
		button := w.any()
		if w.flip() {
			button = ""
		}
		return Granted{Grant: round.Prepare{Place: p.place, Companion: p.companion, Turn: string(button)}, Who: turn.Who(p.companion), First: "ada", Up: w.rng.IntN(4) > 0, Turn: w.fresh()}
	case 9, 10:
		p := w.granted()
		return Opened{Place: p.place, Companion: p.companion}
	case 11:
		p := w.granted()
		return Abandoned{w.now, p.place, p.companion, "a press here"}
	default:
		return VoteLost{Turn: w.any()}
	}
}

func (w *world) step(ev Event) error {
	var effects []Effect
	w.m, effects = Step(w.m, ev)
	for _, e := range effects {
		switch e := e.(type) {
		case TellWords:
			if w.words[e.Turn]++; w.words[e.Turn] > 1 {
				return fmt.Errorf("%#v: the words of %s are told twice", ev, e.Turn)
			}
			w.mute[e.Turn] = e.Text == round.Unwritten
		case TellLate:
			if !w.mute[e.Turn] || e.Text == round.Unwritten {
				return fmt.Errorf("%#v: the words of %s are told late, and nobody waits for them", ev, e.Turn)
			}
			w.mute[e.Turn] = false
		case TellPressEnded:
			if w.words[e.Turn]++; w.words[e.Turn] > 1 {
				return fmt.Errorf("%#v: %s is told to have come to nothing, and its words were told", ev, e.Turn)
			}
		case TellBegan:
			if !w.open[said{e.Place, e.Companion}] {
				return fmt.Errorf("%#v: %v begins, which is over", ev, e.Place)
			}
		case TellKnown:
			if !w.open[said{e.Place, e.Companion}] {
				return fmt.Errorf("%#v: %v is known, which is over", ev, e.Place)
			}
		case TellEnded:
			p := said{e.Place, e.Companion}
			if !w.open[p] {
				return fmt.Errorf("%#v: %v ends twice", ev, e.Place)
			}
			delete(w.open, p)
		}
	}
	if len(w.m.questions) > maxQuestions || len(w.m.said) > maxSaid || len(w.m.answers) > len(w.open) {
		return fmt.Errorf("%#v: %d questions, %d said, %d answers for %d that are open", ev, len(w.m.questions), len(w.m.said), len(w.m.answers), len(w.open))
	}
	return nil
}
