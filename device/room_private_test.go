package device

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/companions/round"
	"conch/mqtt"
)

// A whisper stays between two devices: the third knows that somebody whispered, who answered and for how long, and finds no word of it
// in its ledger, its memory, its conversations, its answers to why; whoever reads all of the broker finds none either. Also where the
// answer is cut. The two keep none in their ledgers.
func TestRoomWhisperStaysBetweenTwo(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		wire := h.eavesdrop()
		dirs := map[string]string{}
		kitchen, bedroom, hall := h.three(func(p *homePlan) {
			dir := t.TempDir()
			dirs[fmt.Sprint(len(dirs))] = dir
			p.options.Dir = dir
		})
		words := []string{"marzipan", "hidden", "saffron", "pantry"}
		const answer = "Behind the saffron in the pantry."
		bedroom.voice.says(answer)
		id := kitchen.ask("Where is the marzipan hidden?", "ben")
		kitchen.over(id, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); len(got) != 1 || got[0] != "ben" {
			t.Fatalf("%v answered a whisper to ben", got)
		}
		if d := h.decided(id); d.Winner != "ben" || len(d.Roster) != 1 || !hall.has(about(round.EntryRound, id)) {
			t.Errorf("the round: %+v", d)
		}
		asker := func() (texts []string) {
			for _, m := range kitchen.Recent() {
				texts = append(texts, m.Text)
			}
			return texts
		}
		h.until("the kitchen has the answer", func() bool { return slices.Equal(asker(), []string{answer}) })

		// Cut in the middle: what was heard of it is for the two as well.
		bedroom.voice.set(func(v *roomVoice) { v.length = 20 * roomLength })
		id = kitchen.ask("And who has hidden it?", "ben")
		h.until("ben speaks", func() bool {
			return bedroom.has(about(round.EntryClaim, id)) && bedroom.voice.busy() && len(h.speakers()) == 2
		})
		hall.PressEnded(hall.press(), "nothing was said")
		h.until("ben is cut", func() bool { return !bedroom.voice.busy() })
		h.until("the kitchen knows what was heard", func() bool { return len(asker()) == 2 && len(asker()[1]) < len(answer) })

		// A newcomer is told nothing of it.
		newcomer := h.raise("attic", cardsOf("dora"))
		h.meet()
		h.until("it has listened", newcomer.Settled)
		hall.answered("Ada, how long does rice have to boil?", "ada")

		all := map[string]string{}
		for _, o := range wire() {
			all["the wire"] += o.topic + " " + string(o.payload) + "\n"
		}
		for _, x := range h.alive() {
			if x != bedroom && x != kitchen {
				all["what "+x.name+" remembers"] = fmt.Sprint(x.Recent())
			}
			x.voice.set(func(v *roomVoice) {
				for who, told := range v.told {
					if who != "ben" {
						all["what "+string(who)+" was told"] = fmt.Sprint(told)
					}
				}
			})
			all["why in "+x.name] = x.Why("")
			all["the ledger of "+x.name] = fmt.Sprintf("%+v", x.ledger(func(round.Entry) bool { return true }))
			for _, e := range x.ledger(func(e round.Entry) bool { return e.Message != nil }) {
				all["the messages in the ledger of "+x.name] += e.Message.Text + "\n"
			}
			x.leave()
		}
		for _, dir := range dirs {
			_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() && (strings.HasPrefix(e.Name(), "ledger") || dir == dirs["2"]) {
					data, _ := os.ReadFile(path)
					all[path] = string(data)
				}
				return nil
			})
		}
		if len(all) < 12 || len(all["the wire"]) < 10000 || !strings.Contains(all["the wire"], `"sealed":`) || !strings.Contains(all["the wire"], "rice") {
			t.Fatalf("%d places, %d bytes on the wire: this proves nothing", len(all), len(all["the wire"]))
		}
		for where, text := range all {
			for _, word := range words {
				if strings.Contains(text, word) {
					t.Errorf("%q is in %s", word, where)
				}
			}
		}
	})
}

// A member answers every newcomer's wish for a history at once: with words of a person elsewhere, of the newcomer's own person and of
// others' companions, in envelopes that it has signed itself. None of them is remembered or told to a companion; what was said is.
func TestRoomLiarTellsNoHistory(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen := h.raise("kitchen", cardsOf("ada"))
		h.raise("bedroom", cardsOf("ben"))
		h.meet()
		kitchen.answered("Ada, how long does an egg have to boil?", "ada")
		l := h.liar("pantry", "zoe")
		h.meet()
		wished := make(chan round.DeviceID, 64)
		l.hear(func(from round.DeviceID, p round.Packet) {
			if _, ok := p.(round.HistoryAsk); ok {
				select {
				case wished <- from:
				default:
				}
			}
		})
		told := make(chan bool)
		go func() { // ends with the liar's wishes
			defer close(told)
			for to := range wished {
				lie := round.History{To: to}
				for i, from := range []round.Participant{round.Human(kitchen.self), round.Human(to), "ada", "ben", "cleo"} {
					m := round.Message{ID: round.MessageID(fmt.Sprint("lie-", i)), From: from, Text: "the password is swordfish", Number: i + 1,
						Epoch: round.Epoch{N: 1, Device: kitchen.self}}
					_, m.Envelope, _ = mqtt.Encode(h.room, l.id, "0123456789abcdefghijkl", 7, m)
					lie.Messages = append(lie.Messages, m)
				}
				l.Send(lie)
			}
		}()
		hall := h.raise("hall", cardsOf("cleo"))
		h.meet()
		h.until("what was said is known in the hall", func() bool { return strings.Contains(fmt.Sprint(hall.Recent()), "how long does an egg") })
		h.until("the liar's history has come", func() bool { return hall.client.Stats().Refused[mqtt.ReasonProof] > 0 })
		hall.answered("Cleo, are you there?", "cleo")
		lies := 0
		for _, m := range hall.Recent() {
			lies += strings.Count(m.Text, "swordfish")
		}
		hall.voice.set(func(v *roomVoice) {
			for _, m := range v.told["cleo"] {
				lies += strings.Count(m.Text, "swordfish")
			}
		})
		if lies > 0 {
			t.Errorf("%d lies are remembered, or told to cleo", lies)
		}
		l.hear(func(round.DeviceID, round.Packet) {})
		l.stop()
		close(wished)
		<-told
		h.liars = nil
		h.meet()
	})
}
