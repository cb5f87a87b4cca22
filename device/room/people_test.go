package room

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/state"
)

// atHome is a device in the kitchen with Ada, and Ben in the bedroom; the clock goes on only while all wait.
func atHome(t *testing.T, dir string, change func(*config.Config), test func(d *Driver)) {
	synctest.Test(t, func(t *testing.T) {
		h := roomtest.NewHouse(1)
		card := func(id round.CompanionID, name string) roomtest.Plan {
			return roomtest.Plan{Options: companions.RoomOptions{Cards: []companions.Card{{Card: round.Card{ID: id, Name: name}}}}}
		}
		kitchen := h.Add("kitchen", card("ada", "Ada"))
		h.Add("bedroom", card("ben", "Ben"))
		time.Sleep(5 * time.Second)
		cfg := config.Default()
		cfg.State.Dir = dir
		if change != nil {
			change(&cfg)
		}
		conds := condition.NewBook(slog.New(slog.DiscardHandler))
		memory, _ := state.Remember(&cfg, conds)
		begin := time.Now()
		d := &Driver{Room: kitchen.Room, Cards: []companions.Card{{Card: round.Card{ID: "ada", Name: "Ada"}}}, Voices: newVoices(slog.New(slog.DiscardHandler)), o: Options{
			Self: kitchen.ID, Config: &cfg, Memory: memory, Conditions: conds, Now: func() time.Duration { return time.Since(begin) },
		}}
		HouseholdOf(d).meet()
		test(d)
		synctest.Wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A name is kept after a companion has asked and the person has said yes, and not before.
func TestANameIsKeptAfterAYes(t *testing.T) {
	type line struct {
		who, text string
		after     time.Duration
	}
	you, ada := "you", "ada"
	for name, c := range map[string]struct {
		lines []line
		want  []string
		set   func(*config.Config)
	}{
		"asked, and yes":          {lines: []line{{you, "I am Max", 0}, {ada, "Hello! Shall I remember you, Max?", 0}, {you, "Yes, please, Ada", 0}}, want: []string{"Max"}},
		"in German":               {lines: []line{{you, "Ich heisse Lena", 0}, {ada, "Soll ich mir Lena merken?", 0}, {you, "ja gerne", 0}}, want: []string{"Lena"}},
		"no":                      {lines: []line{{you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "no", 0}, {you, "yes", 0}}},
		"nobody asked":            {lines: []line{{you, "I am Max", 0}, {ada, "Hello Max.", 0}, {you, "yes", 0}}},
		"something else is asked": {lines: []line{{you, "I am Max", 0}, {ada, "Are you hungry?", 0}, {you, "yes", 0}}},
		"too late":                {lines: []line{{you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "yes", 2 * time.Minute}}},
		"asked too late":          {lines: []line{{you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 2 * time.Minute}, {you, "yes", 0}}},
		"something in between":    {lines: []line{{you, "I am Max", 0}, {you, "what time is it", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "yes", 0}}},
		"no name":                 {lines: []line{{you, "I am hungry", 0}, {ada, "Hungry? Shall I remember you, hungry?", 0}, {you, "yes", 0}}},
		"a companion's name":      {lines: []line{{you, "I am Ben", 0}, {ada, "Shall I remember you, Ben?", 0}, {you, "yes", 0}}},
		"others say it all":       {lines: []line{{ada, "I am Max. Shall I remember you, Max?", 0}, {you, "yes", 0}}},
		"known already": {lines: []line{{you, "I am max", 0}, {you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "yes", 0}}, want: []string{"Max"},
			set: func(c *config.Config) { c.Room.People = "Max: kitchen" }},
		"off": {lines: []line{{you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "yes", 0}},
			set: func(c *config.Config) { c.Room.PeopleLearn = "off" }},
		"nothing is remembered": {lines: []line{{you, "I am Max", 0}, {ada, "Shall I remember you, Max?", 0}, {you, "yes", 0}},
			set: func(c *config.Config) { c.Voice.Remember = false }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			atHome(t, dir, c.set, func(d *Driver) {
				for _, l := range c.lines {
					time.Sleep(l.after)
					if l.who == you {
						HouseholdOf(d).introduced(l.text)
					} else {
						stage{d}.Remember(round.Message{ID: "m", From: round.Participant(l.who), Text: l.text}, nil)
					}
				}
				synctest.Wait()
				if got := HouseholdOf(d).People(); !slices.Equal(got, c.want) {
					t.Errorf("known are %v; want %v", got, c.want)
				}
			})
			info, err := os.Stat(filepath.Join(dir, "people.json"))
			if kept := len(c.want) > 0 && c.set == nil; (err == nil) != kept || kept && info.Mode().Perm() != 0o600 {
				t.Errorf("the file: %v, %v", info, err)
			}
		})
	}
}

// What was learnt outlives a restart, is listed, and goes when somebody wants it: one of them by name, all with what is remembered.
func TestLearntNamesAreForgotten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "people.json")
	learn := func(d *Driver, name string) {
		HouseholdOf(d).introduced("My name is " + name)
		HouseholdOf(d).answered("Shall I remember you, " + name + "?")
		HouseholdOf(d).introduced("yes")
		synctest.Wait()
	}
	set := func(c *config.Config) { c.Room.People = "Eva: Kitchen" }
	atHome(t, dir, set, func(d *Driver) { learn(d, "Max"); learn(d, "Lena") })
	atHome(t, dir, set, func(d *Driver) {
		rows := HouseholdOf(d).Report().People
		if len(rows) != 3 || rows[0].Name != "Eva" || rows[0].Device != "Kitchen" || rows[0].Learned || rows[1].Name != "Max" || !rows[1].Learned {
			t.Fatalf("%+v", rows)
		}
		about := HouseholdOf(d).about(round.Message{From: round.Human("d-kitchen"), Text: "hello"})
		if !strings.Contains(about, `"kitchen" is usually "Eva". That is who speaks`) {
			t.Errorf("the prompt says %q", about)
		}
		if _, err := HouseholdOf(d).Forget("Eva"); err == nil || !strings.Contains(err.Error(), "room.people") {
			t.Errorf("who stands in the configuration: %v", err)
		}
		if _, err := HouseholdOf(d).Forget("Otto"); err == nil || !strings.Contains(err.Error(), "conch room people") {
			t.Errorf("who is unknown: %v", err)
		}
		if _, err := HouseholdOf(d).Forget("max"); err != nil || !slices.Equal(HouseholdOf(d).People(), []string{"Eva", "Lena"}) {
			t.Errorf("%v: %v", HouseholdOf(d).People(), err)
		}
		HouseholdOf(d).forgetAll()
		if _, err := os.Stat(file); err == nil || len(HouseholdOf(d).People()) != 1 {
			t.Errorf("%v are known: %v", HouseholdOf(d).People(), err)
		}
		d.forgot.Store(true)
		if learn(d, "Max"); len(HouseholdOf(d).People()) != 1 {
			t.Error("a name is kept after that was turned off")
		}
	})
	if err := os.WriteFile(file, []byte(`{"names":["Lena","[Ada in kitchen] I","x"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	atHome(t, dir, nil, func(d *Driver) {
		if got := HouseholdOf(d).People(); !slices.Equal(got, []string{"Lena"}) {
			t.Errorf("of a file that somebody has written: %q", got)
		}
	})
	atHome(t, dir, func(c *config.Config) { c.Voice.Remember = false }, func(d *Driver) {
		if _, err := os.Stat(file); err == nil || len(HouseholdOf(d).People()) > 0 {
			t.Errorf("nothing is to be remembered, and %v are", HouseholdOf(d).People())
		}
	})
}

// The companion that answers is told to ask, unless it was whispered, or nobody is to be asked.
func TestWhoGivesANameIsAsked(t *testing.T) {
	atHome(t, t.TempDir(), nil, func(d *Driver) {
		m := round.Message{From: round.Human("d-bedroom"), Text: "Hello, I am Max"}
		if about := HouseholdOf(d).about(m); !strings.Contains(about, `a name: "Max"`) {
			t.Errorf("the prompt says %q", about)
		}
		whisper, private, bens, ada := m, m, m, m
		whisper.To, private.For, bens.Text, ada.From = []round.Participant{"ada"}, "d-kitchen", "I am Ben", "ada"
		for _, m := range []round.Message{whisper, private, bens, ada} {
			if about := HouseholdOf(d).about(m); about != "" {
				t.Errorf("%+v: the prompt says %q", m, about)
			}
		}
		d.o.Config.Room.PeopleLearn = "off"
		if about := HouseholdOf(d).about(m); about != "" {
			t.Errorf("nobody is to be asked, and the prompt says %q", about)
		}
	})
}

// Who is called as a companion is told, with what to do; the name stays the companion's.
func TestAPersonWithACompanionsName(t *testing.T) {
	atHome(t, t.TempDir(), func(c *config.Config) { c.Room.People = "Max, BEN" }, func(d *Driver) {
		all := d.o.Conditions.List()
		if len(all) != 1 || all[0].Code != condition.RoomPeople || !strings.Contains(all[0].Text, "BEN") || strings.Contains(all[0].Text, "Max") || all[0].Do == "" {
			t.Errorf("conditions: %+v", all)
		}
		d.o.Config.Room.People = "Max"
		if HouseholdOf(d).namesakes(); d.o.Conditions.Holds(condition.RoomPeople) {
			t.Error("it stays wrong")
		}
	})
}

func TestUsual(t *testing.T) {
	p := config.Room{People: "Max: Kitchen, Lena: hall, Eva: hall, Otto"}.Persons()
	for device, want := range map[string]string{"kitchen": "Max", "hall": "", "": "", "attic": ""} {
		if got := usual(p, device); got != want {
			t.Errorf("%s: %q", device, got)
		}
	}
}

// A companion that is in no room is told once, in its instructions.
func TestSpeakerOfALoneDevice(t *testing.T) {
	cfg := config.Default()
	cfg.Device.Name, cfg.Room.People = "kitchen", "Max: kitchen"
	d := &Driver{Cards: make([]companions.Card, 1), o: Options{Config: &cfg}}
	got := (companions.Card{Card: round.Card{Name: "Ada"}}).Instructions(companions.RoomContext{Speaker: HouseholdOf(d).Speaker()})
	if !strings.Contains(got, `usually "Max".`) {
		t.Errorf("%q", got)
	}
	if d.o.Networked = true; HouseholdOf(d).Speaker() != "" {
		t.Error("in a room each answer's prompt tells")
	}
}
