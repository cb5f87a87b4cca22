package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/alert"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// A round lasts for a second; its value tells which one it is.
const alarmValue = -100

func withAlarm(_ *rig, o *Options) {
	o.Alarm = func(_ context.Context, text string, round int) []int16 {
		if text == "panic" {
			panic("no sound")
		}
		return tone(time.Second, int16(alarmValue-round))
	}
}

// rounds are the rounds of alerts that were heard, and for how long in a stretch of time.
func (g *rig) rounds(from, to time.Duration) (rounds []int, heard time.Duration) {
	for _, p := range g.speaker.played() {
		if a, b := max(p.from.Sub(g.start), from), min(p.to.Sub(g.start), to); p.value < alarmValue && b > a {
			rounds = append(rounds, alarmValue-int(p.value))
			heard += b - a
		}
	}
	return rounds, heard
}

func (g *rig) wantEnd(of <-chan alert.How, want string) {
	g.t.Helper()
	g.settle()
	got := "none"
	select {
	case how := <-of:
		got = how.String()
	default:
	}
	if got != want {
		g.t.Errorf("the alert has the end %q; want %q", got, want)
	}
}

func TestAPressStopsAnAlertAndOpensNoTurn(t *testing.T) {
	for _, alone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var spent []turn.ID
			g := newRig(t, withAlarm, func(_ *rig, o *Options) { o.OnSpent = func(id turn.ID) { spent = append(spent, id) } })
			done, _ := g.Ring("the pasta", 0)
			time.Sleep(6 * time.Second)
			if rounds, _ := g.rounds(0, time.Hour); !slices.Equal(rounds, []int{1, 2, 3}) {
				t.Fatalf("heard the rounds %v in six seconds; want three", rounds)
			}
			g.wantEnd(done, "none")
			g.take()
			press := g.Press
			if alone {
				press = g.PressAlone
			}
			at := g.Now()
			id := press(at, g.speaker.Drop(), button)
			g.settle()
			if !slices.Equal(spent, []turn.ID{id}) {
				t.Errorf("told of %q as presses that begin no turn; want %s", spent, id)
			}
			time.Sleep(100 * time.Millisecond)
			g.Release(g.Now(), rate/10, button)
			g.wantEnd(done, "pressed")
			g.quiet()
			if _, heard := g.rounds(at+10*time.Millisecond, time.Hour); heard > 0 {
				t.Errorf("it was heard for %v after the press", heard)
			}
			if lines := g.take(); slices.Contains(lines, "mic open") || len(g.ends()) != 0 {
				t.Errorf("alone %t: the press led to %q and the turns %q; want none", alone, lines, g.ends())
			}
			press(g.Now(), g.speaker.Drop(), button)
			g.settle()
			if !g.has("mic open") || len(spent) != 1 {
				t.Errorf("the next press opened no turn, or was told as %q", spent)
			}
		})
	}
}

// What is in front of an alert silences it; then it comes back.
func TestAnAlertGivesWayAndComesBack(t *testing.T) {
	for _, d := range []struct {
		name string
		by   func(g *rig) // returns while it is in front
		over func(g *rig)
	}{
		{"a question", func(g *rig) {
			g.Ask("what rings?")
		}, func(g *rig) {
			g.respond("t-1", "r1")
			g.speak("t-1", "r1", 2*time.Second, 3)
			g.finish("t-1", "r1")
			time.Sleep(3 * time.Second)
		}},
		{"an announcement", func(g *rig) {
			g.Inject("tea", inject.Normal, "", time.Minute)
		}, func(g *rig) {
			g.respond("t-1", "r1")
			g.speak("t-1", "r1", time.Second, 3)
			g.finish("t-1", "r1")
			time.Sleep(2 * time.Second)
		}},
		{"a press elsewhere in the room", func(g *rig) {
			g.HushRoom(g.Now(), g.speaker.Drop())
		}, func(g *rig) {
			from := g.Now()
			time.Sleep(59 * time.Second)
			if _, heard := g.rounds(from, g.Now()); heard > 0 {
				g.t.Errorf("it was heard for %v in the minute after the press", heard)
			}
			time.Sleep(2 * time.Second)
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, withAlarm)
				done, _ := g.Ring("the pasta", 0)
				time.Sleep(500 * time.Millisecond)
				from := g.Now()
				d.by(g)
				g.settle()
				time.Sleep(900 * time.Millisecond)
				if _, heard := g.rounds(from+10*time.Millisecond, g.Now()); heard > 0 {
					t.Errorf("it was heard for %v behind %s", heard, d.name)
				}
				d.over(g)
				from = g.Now()
				time.Sleep(3 * time.Second)
				if _, heard := g.rounds(from, g.Now()); heard < time.Second {
					t.Errorf("it was heard for %v in the three seconds after %s", heard, d.name)
				}
				g.press()
				g.wantEnd(done, "pressed")
			})
		})
	}
}

// BLOCK_BEHIND_COMMS: an alert waits for the end of a call, and the press that hangs up is no answer to it.
func TestAnAlertWaitsForTheEndOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, withAlarm)
		ended := make(chan turn.EndedHow, 1)
		g.claims(ended)
		done, _ := g.Ring("the pasta", 0)
		time.Sleep(10 * time.Minute)
		if _, heard := g.rounds(0, time.Hour); heard > 0 {
			t.Errorf("it was heard for %v in a call", heard)
		}
		g.press()
		g.settle()
		time.Sleep(100 * time.Millisecond)
		g.wantEnd(done, "none")
		time.Sleep(time.Second)
		if _, heard := g.rounds(0, time.Hour); heard == 0 {
			t.Error("it is not heard after the call")
		}
		g.press()
		g.wantEnd(done, "pressed")
	})
}

// claims has a turn that begins a call.
func (g *rig) claims(ended chan turn.EndedHow) {
	g.t.Helper()
	g.tools["call"] = func(context.Context, string) ToolResult {
		return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{
			Run: func(ctx context.Context, _ <-chan []int16, _ func([]int16) error) error {
				<-ctx.Done()
				return errors.New("hung up")
			},
			Ended: func(how turn.EndedHow) { ended <- how },
		}}
	}
	g.call(g.utter(time.Second), "call")
}

// Content sounds softly or pauses beneath an alert, and the press that stops it gives it back whole.
func TestContentGivesWayToAnAlert(t *testing.T) {
	for _, pauses := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, withAlarm)
			b := newBook(20 * time.Second)
			b.Pauses = pauses
			g.plays(b.StreamFunc)
			time.Sleep(2 * time.Second)
			done, _ := g.Ring("the pasta", 0)
			g.settle()
			from := g.Now()
			time.Sleep(4 * time.Second)
			if heard := g.contentIn(from, g.Now()); pauses && heard > 10*time.Millisecond || !pauses && heard < 3*time.Second {
				t.Errorf("pauses %t: content was heard for %v in four seconds of an alert", pauses, heard)
			}
			g.press()
			g.wantEnd(done, "pressed")
			g.quiet()
			g.whole(200)
			if want := []string{fmt.Sprint(turn.EndedFinished, " 20s")}; !slices.Equal(b.ends, want) {
				t.Errorf("the book ended as %q; want %q", b.ends, want)
			}
		})
	}
}

// What is due together rings as one and says each, what becomes due meanwhile joins, and one press ends all; each has its end.
func TestAlertsRingAsOneAndEachHasItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		var last time.Time
		g := newRig(t, func(_ *rig, o *Options) {
			o.Alarm = func(_ context.Context, text string, _ int) []int16 {
				if len(texts) > 0 && last.Equal(time.Now()) { // a round that began between two calls of the same instant begins anew
					texts = texts[:len(texts)-1]
				}
				texts, last = append(texts, text), time.Now()
				return tone(time.Second, alarmValue)
			}
		})
		pasta, _ := g.Ring("the pasta", 0)
		eggs, _ := g.Ring("the eggs", 0)
		tea, stopTea := g.Ring("the tea", 0)
		same, _ := g.Ring("the eggs", 3*time.Second)
		time.Sleep(2 * time.Second)
		stopTea()
		stopTea()
		g.wantEnd(tea, "withdrawn")
		time.Sleep(2 * time.Second)
		g.wantEnd(same, "unanswered")
		rice, _ := g.Ring("the rice", 0)
		time.Sleep(4 * time.Second)
		late, _ := g.Ring("the soup", 0)
		g.settle()
		g.press()
		for _, done := range []<-chan alert.How{pasta, eggs, rice} {
			g.wantEnd(done, "pressed")
		}
		g.wantEnd(late, "none")
		time.Sleep(2 * time.Second)
		g.press()
		g.wantEnd(late, "pressed")
		g.quiet()
		three := "the pasta, the eggs, the rice"
		if want := []string{"the pasta, the eggs, the tea", "the pasta, the eggs", three, three, "the soup"}; !slices.Equal(texts, want) {
			t.Errorf("the rounds were about %q; want %q", texts, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, withAlarm)
		broken, _ := g.Ring("panic", 10*time.Second)
		time.Sleep(11 * time.Second)
		g.wantEnd(broken, "failed")
		last, _ := g.Ring("at the end", 0)
		time.Sleep(time.Second)
		if err := g.stop(); err != nil {
			t.Error(err)
		}
		g.wantEnd(last, "failed")
		late, _ := g.Ring("later", 0)
		g.wantEnd(late, "failed")
	})
}

// Two that are due within one round are one alert: the next round begins at once and says both, and one press ends both.
func TestTwoAlertsWithinARoundAreOne(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 700 * time.Millisecond, 1800 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var texts []string
			g := newRig(t, func(_ *rig, o *Options) {
				o.Alarm = func(_ context.Context, text string, _ int) []int16 {
					texts = append(texts, text)
					return tone(time.Second, alarmValue)
				}
			})
			pasta, _ := g.Ring("the pasta", 0)
			g.settle()
			time.Sleep(after)
			eggs, _ := g.Ring("the eggs", 0)
			time.Sleep(400 * time.Millisecond)
			g.settle()
			if len(texts) != 2 || texts[1] != "the pasta, the eggs" {
				t.Errorf("%v apart: the rounds were about %q; want one of both at once", after, texts)
			}
			g.press()
			g.wantEnd(pasta, "pressed")
			g.wantEnd(eggs, "pressed")
			g.quiet()
		})
	}
}

func TestAnAlertIsEndedByHushAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, withAlarm)
		done, _ := g.Ring("the pasta", 0)
		time.Sleep(time.Second)
		g.Hush(g.Now(), g.speaker.Drop())
		g.wantEnd(done, "stopped")

		done, _ = g.Ring("the eggs", 0)
		time.Sleep(time.Second)
		g.tools["stop"] = func(context.Context, string) ToolResult { return ToolResult{Effect: turn.EffectCancelMedia} }
		id := g.Ask("stop")
		g.settle()
		waits, _ := g.Ring("the tea", 0)
		g.call(id, "stop")
		g.wantEnd(done, "stopped")
		g.wantEnd(waits, "none") // nobody has heard it yet
		time.Sleep(time.Minute)
		if rounds, _ := g.rounds(g.Now()-10*time.Second, g.Now()); len(rounds) == 0 {
			t.Error("the one that waited does not ring")
		}
	})
}

// Two press at once, or a user hushes the device before its alert comes back: it does not come back.
func TestAPressJustAfterOneElsewhereEndsTheAlert(t *testing.T) {
	for name, gesture := range map[string]func(g *rig){
		"pressed": func(g *rig) { g.press() },
		"stopped": func(g *rig) { time.Sleep(20 * time.Second); g.Hush(g.Now(), g.speaker.Drop()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, withAlarm)
			done, _ := g.Ring("the pasta", 0)
			time.Sleep(5 * time.Second)
			g.HushRoom(g.Now(), g.speaker.Drop())
			time.Sleep(300 * time.Millisecond)
			g.wantEnd(done, "none")
			gesture(g)
			g.settle()
			g.wantEnd(done, name)
		})
	}
}

func TestADeviceThatCannotRingSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		done, stop := g.Ring("the pasta", 0)
		g.wantEnd(done, "failed")
		stop()
	})
}

// A press or a turn takes the source of the round; the alert has the next one all the same, also with a card that plays nothing.
func TestAnAlertOfADeadCardEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, withAlarm)
		g.speaker.dead = true
		done, _ := g.Ring("the pasta", 0)
		time.Sleep(5*time.Minute + time.Second)
		g.wantEnd(done, "failed")
	})
}
