package main

import (
	"net"
	"regexp"
	"strings"
	"testing"

	"conch/device/control"
)

// Devices have names in any script and with spaces: they pair, are listed in columns, asked by name, called otherwise, and after a restart
// are what they were. What they say themselves is in the language of each.
func TestDevicesHaveNamesInAnyScript(t *testing.T) {
	t.Parallel()
	living, stopLiving := startAppliance(t, "Living room", "Ada", "CONCH_DEVICE_LANGUAGE=de")
	kitchen, stopKitchen := startAppliance(t, "厨房", "Ben", "CONCH_DEVICE_LANGUAGE=fr")
	id := func(a appliance) string {
		out, _ := a.conch(t, "room", "id")
		return regexp.MustCompile(`[a-z2-7]{20}`).FindString(out)
	}
	of := map[string]string{"living": id(living), "kitchen": id(kitchen)}

	r, err := control.Dial(living.config())
	if err != nil {
		t.Fatal(err)
	}
	var window control.PairOpened
	if err := r.Do(t.Context(), "POST", "/room/pair", map[string]any{}, &window); err != nil {
		t.Fatal(err)
	}
	if len(window.Addresses) == 0 {
		t.Skip("this machine has no address besides loopback: a window without one says no port")
	}
	_, port, err := net.SplitHostPort(window.Addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	var now control.Status
	if err := r.Do(t.Context(), "GET", "/status", nil, &now); err != nil || !strings.HasPrefix(now.Pairing.Text, "Koppeln: Der Code ist ") {
		t.Errorf("the window says %q, %v", now.Pairing.Text, err)
	}
	if out, status := kitchen.conch(t, "room", "join", window.Code, "--host", "127.0.0.1:"+port); status != 0 || !strings.Contains(out, "Appairé avec Living room.") {
		t.Fatalf("join: status %d: %s", status, out)
	}
	lists := func(want string) {
		t.Helper()
		for _, a := range []appliance{living, kitchen} {
			list := ""
			if !soon(func() bool { list, _ = a.conch(t, "room", "list"); return regexp.MustCompile(want).MatchString(list) }) {
				t.Fatalf("no %s in\n%s", want, list)
			}
		}
	}
	lists(`(?m)^Living room  ` + of["living"] + ` +\S+ +here +Ada .*\n(.*\n)?`)
	lists(`(?m)^厨房         ` + of["kitchen"] + ` +\S+ +here +Ben `) // each of its characters takes two columns

	for _, a := range []appliance{living, kitchen} {
		if !soon(func() bool {
			out, status := a.conch(t, "ask", "--to", "厨房", "what time is it")
			return status == 0 && strings.Contains(out, "It is ") && (a.dir == kitchen.dir || strings.Contains(out, "Ben (厨房): "))
		}) {
			out, status := a.conch(t, "ask", "--to", "厨房", "what time is it")
			t.Errorf("ask --to 厨房: status %d: %s", status, out)
		}
	}
	if out, status := kitchen.conch(t, "room", "rename", "living-room", "Küche"); status != 0 || !strings.Contains(out, "Küche") {
		t.Errorf("rename: status %d: %s", status, out)
	}
	if out, status := kitchen.conch(t, "room", "rename", "厨房", "KÜCHE"); status == 0 || !strings.Contains(out, "has that name") {
		t.Errorf("rename to a name that is there: status %d: %s", status, out)
	}
	lists(`(?m)^Küche +` + of["living"])
	stopLiving()
	stopKitchen()
	living.start(t)
	kitchen.start(t)
	lists(`(?m)^Küche +` + of["living"] + ` +\S+ +here`)
	lists(`(?m)^厨房 +` + of["kitchen"] + ` +\S+ +here`)
	if out, status := living.conch(t, "room", "remove", "kuche", "--yes"); status == 0 || !strings.Contains(out, "Küche") && !strings.Contains(out, "leave") {
		t.Errorf("a device does not remove itself: status %d: %s", status, out)
	}
}

// What the device says of itself is in its language, on the socket and on the terminal; a language that there is not is refused, with
// those that there are.
func TestTheDeviceSpeaksItsLanguage(t *testing.T) {
	t.Parallel()
	a := newAppliance(t, "Küche", "Ada", "LANG=de_DE.UTF-8")
	var now control.Status
	if r, err := control.Dial(a.config()); err != nil || r.Do(t.Context(), "GET", "/status", nil, &now) != nil || now.Pairing.Text != "Es wird nichts gekoppelt." {
		t.Errorf("by the locale: %q, %v", now.Pairing.Text, err)
	}
	if out, status := a.conch(t, "status"); status != 0 ||
		!regexp.MustCompile(`(?m)^Zustand +wartet auf einen Druck\n(.*\n)*Lautstärke +[0-9]+, der Standard$`).MatchString(out) {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := a.conch(t, "status", "--set", "device.language=fr"); status != 0 || !regexp.MustCompile(`(?m)^volume +[0-9]+, la valeur par défaut$`).MatchString(out) {
		t.Errorf("status %d: %s", status, out)
	}
	if out, _ := a.conch(t, "status", "--json"); !strings.Contains(out, `"state": "IDLE"`) {
		t.Errorf("for programs: %s", out)
	}
	if out, status := a.conch(t, "check", "--set", "device.language=dutch"); status != 2 ||
		!strings.Contains(out, `device.language = "dutch": must be empty, or up to 4 codes of languages with commas between, as in "de" or "de,en"`) {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := a.conch(t, "check", "--set", "device.language=nl"); status != 0 ||
		!strings.Contains(out, `device.language = "nl": conch has no words of its own in Dutch: what it says itself is English; companions, transcription and voice use Dutch`) {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := a.conch(t, "check"); status != 0 || !regexp.MustCompile(`(?m)^device\.language +"de" +default \(LANG\)$`).MatchString(out) {
		t.Errorf("status %d: %s", status, out)
	}
}
