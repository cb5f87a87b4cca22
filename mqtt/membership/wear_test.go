package membership

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/mqtt"
)

// A member asks without end for whatever makes the host write: it is counted, named, and hardly anything is written. Another one's word counts
// meanwhile.
func TestAMemberDoesNotWearTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, cellar := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, pantry, "pantry")
		pair(t, host, cellar, "cellar")
		var writes, bytes int
		host.mu.Lock()
		host.store.before = func(op, path string) error {
			if op == "rename" {
				info, err := os.Stat(path + newFile)
				if err != nil {
					return err
				}
				writes, bytes = writes+1, bytes+int(info.Size())
			}
			return nil
		}
		host.mu.Unlock()
		version, eve := host.Room().Version, identity(t)
		said := 0
		host.SendWith(func(mqtt.Note) { said++ })
		for i := range 2000 {
			window := newRequest()
			for _, n := range []mqtt.Note{
				note(noteOpen, openBody{window}), note(noteAdmit, admitBody{newRequest(), eve.ID(), eve.PublicKey(), "eve", window}),
				note(noteRemove, removeBody{newRequest(), eve.ID(), false}), note(noteAsk, askBody{host.Room().Version + uint64(1+i%5)}),
				note(noteRenew, renewBody{pantry.id.PublicKey()}), note(noteList, listBody{}), note("members.junk", openBody{}),
			} {
				host.HandleNote(pantry.id.ID(), n)
			}
			time.Sleep(5 * time.Millisecond)
			synctest.Wait()
		}
		host.HandleNote(cellar.id.ID(), note(noteRemove, removeBody{"x", pantry.id.ID(), false}))
		synctest.Wait()
		host.mu.Lock()
		defer host.mu.Unlock()
		t.Logf("10 s: %d writes of %d bytes, %d notes said, the list's version +%d", writes, bytes, said, host.Room().Version-version)
		if writes > 10 || bytes > 64<<10 || said > 200 || host.Room().Version-version > 16 {
			t.Errorf("the host is worn: %d writes, %d bytes, %d notes, version +%d", writes, bytes, said, host.Room().Version-version)
		}
		if host.Member(pantry.id.ID()) {
			t.Error("the cellar's word does not count meanwhile")
		}
		excess := 0
		for len(host.changes) > 0 {
			if c := <-host.changes; c.What == Excess {
				excess++
				if c.Name != "pantry" || !strings.Contains(c.Why.Error(), "not looked at") {
					t.Errorf("it is named as %+v", c)
				}
			}
		}
		if excess != 1 {
			t.Errorf("said %d times within 10 s; want once", excess)
		}
	})
}

// Who keeps to its bounds again is named no longer.
func TestAnExcessIsOverSomeday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry := fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, pantry, "pantry")
		for range 50 {
			host.HandleNote(pantry.id.ID(), note(noteAsk, askBody{1}))
		}
		host.change(Excess, pantry.id.ID())
		time.Sleep(calmAfter - time.Second)
		synctest.Wait()
		for len(host.changes) > 0 {
			if c := <-host.changes; c.What == Calm {
				t.Error("calm too soon")
			}
		}
		time.Sleep(2 * time.Second)
		host.change(Calm, pantry.id.ID())
	})
}
