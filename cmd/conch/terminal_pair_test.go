package main

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/device/config"
	"conch/device/control"
)

// A person types a question at a device that is paired meanwhile: the program begins anew when the line is finished and answered, not
// in the middle of it; it is the same process, with the terminal as a person knows it, and ends with status 0.
func TestPersonTypesWhileItIsPaired(t *testing.T) {
	t.Parallel()
	hall := newAppliance(t, "hall", "Ben")
	dir, port := t.TempDir(), unusedPort(t)
	p := sitDown(t, "--set", "device.name=kitchen", "--set", "state.runtime="+dir, "--set", "state.dir="+filepath.Join(dir, "state"),
		"--set", "room.port="+port, "--set", "room.discovery=off", "--set", "voice.kind=rehearsal")
	p.sees(`^\[space talks\] >$`)
	pid := p.program.Process.Pid
	p.types("what is two pl")
	cfg := config.Default()
	cfg.State.Runtime = dir
	r, err := control.Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var open control.PairOpened
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Do(ctx, "POST", "/room/pair", struct{}{}, &open); err != nil {
		t.Fatal(err)
	}
	p.sees(`^\(Pairing: the code is [0-9 ]+\)\n\[space talks\] > what is two pl$`)
	if out, status := hall.conch(t, "room", "join", open.Code, "--host", net.JoinHostPort("127.0.0.1", port)); status != 0 {
		t.Fatalf("join: status %d: %s", status, out)
	}
	p.sees(`^\(Paired with hall\)\n\[space talks\] > what is two pl$`)
	for _, asked := range []string{"room list", "status"} { // paired, and not there yet: nobody shall think that it failed
		args := append(strings.Fields(asked), "--set", "state.runtime="+dir)
		if out, _ := hall.conch(t, args...); !strings.Contains(out, "just") || strings.Contains(out, "alone") {
			t.Errorf("conch %s says, of a device that is paired:\n%s", asked, out)
		}
	}
	p.waits(3 * time.Second)
	p.types("us two\r")
	p.sees(`^you: what is two plus two\n(.*\n)*Ada: 2 plus 2 is 4\.`)
	p.sees(`^button  keyboard(.*\n)*button  keyboard`)
	p.sees(`^room    home, paired, kept here`)
	p.types("Ada, what is one plus two\r")
	p.sees(`^Ada: .*1 plus 2 is 3\.`)
	p.types("q\r")
	p.leaves()
	if text := p.screen(); p.program.Process.Pid != pid || strings.Contains(p.log.String(), open.Code) {
		t.Errorf("another process, or the code is in the log:\n%s", text)
	}
}
