package vm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each of these breaks one thing under a running conch and mends it again: the condition, the words, the recovery.

// status is what conch says of itself; empty while it cannot be asked.
type status struct {
	State      string `json:"state"`
	Button     string `json:"button"`
	Sound      string `json:"sound"`
	Ready      bool   `json:"ready"`
	Volume     int    `json:"volume"`
	Conditions []struct {
		Code string `json:"code"`
		Text string `json:"text"`
		Do   string `json:"do"`
	} `json:"conditions"`
}

func (b *box) status() (s status) {
	b.t.Helper()
	if r := b.try("hand get /status"); r.Code == 0 {
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
			b.t.Fatalf("status: %v: %s", err, r.Out)
		}
	}
	return s
}

func (s status) codes() []string {
	var all []string
	for _, c := range s.Conditions {
		all = append(all, c.Code)
	}
	return all
}

// begins waits for a condition, which must say what to do.
func (b *box) begins(limit time.Duration, code string) {
	b.t.Helper()
	took := b.eventually(limit, "condition "+code, func() bool {
		for _, c := range b.status().Conditions {
			if c.Code == code {
				b.t.Logf("%s: %s; to do: %s", c.Code, first(c.Text), c.Do)
				if c.Text == "" || c.Do == "" {
					b.t.Errorf("%s says neither what is wrong nor what to do: %+v", code, c)
				}
				return true
			}
		}
		return false
	})
	b.t.Logf("%s known after %.1f s", code, took.Seconds())
}

func first(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }

// heals waits until a condition is over.
func (b *box) heals(limit time.Duration, code string) {
	b.t.Helper()
	took := b.eventually(limit, "the end of condition "+code, func() bool {
		s := b.status()
		return s.State != "" && !slices.Contains(s.codes(), code)
	})
	b.t.Logf("%s over after %.1f s", code, took.Seconds())
}

// well waits until nothing is wrong.
func (b *box) well(limit time.Duration) {
	b.t.Helper()
	var s status
	b.eventually(limit, "conch is ready and nothing is wrong", func() bool { s = b.status(); return s.Ready && len(s.Conditions) == 0 })
}

// pid is the service's process.
func (b *box) pid() string {
	b.t.Helper()
	return b.properties("MainPID")["MainPID"]
}

// back waits for another process of the service to be active, and says how long the one before was missed since, which is a
// time of uptime: by systemd's own clock, since asking takes its time.
func (b *box) back(limit time.Duration, was string, since time.Duration) time.Duration {
	b.t.Helper()
	var p map[string]string
	b.eventually(limit, "another conch is active", func() bool {
		p = b.properties("MainPID", "ActiveState", "ActiveEnterTimestampMonotonic")
		return p["ActiveState"] == "active" && p["MainPID"] != was && p["MainPID"] != "0"
	})
	return time.Duration(millis(p["ActiveEnterTimestampMonotonic"])*float64(time.Millisecond)) - since
}

// uptime is how long the guest has been up.
func (b *box) uptime() time.Duration {
	b.t.Helper()
	up, err := time.ParseDuration(strings.Fields(b.run("cat /proc/uptime"))[0] + "s")
	if err != nil {
		b.t.Fatal(err)
	}
	return up
}

// TestKilled: kill -9, and it is back in seconds with its volume and what was said before.
func TestKilled(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.answers()
	b.volume(35)
	was := b.pid()
	at := b.uptime()
	b.run("kill -9 " + was)
	took := b.back(2*time.Minute, was, at)
	p := b.properties("NRestarts")
	t.Logf("back after %.1f s; restarts: %s", took.Seconds(), p["NRestarts"])
	if now := b.volumeNow(); now != 35 {
		t.Errorf("the volume was 35 %% and is %d %%", now)
	}
	b.well(2 * time.Minute)
	if s := b.status(); s.Volume != 35 {
		t.Errorf("the volume was 35 %% and it plays at %d %%", s.Volume)
	}
	carried := b.run("journalctl -u conch -o cat --no-pager _PID=" + b.pid() + " | grep -o 'event=session.ready.*carried=[0-9]*' | tail -n 1")
	t.Logf("%s", strings.TrimSpace(carried))
	if strings.TrimSpace(carried) == "" || strings.HasSuffix(strings.TrimSpace(carried), "carried=0") {
		t.Errorf("the conversation begins anew: %q", carried)
	}
	b.answers()
}

// TestStuck: a loop that stands still, and a process that does, are ended by the watchdog, with the stacks in the journal.
func TestStuck(t *testing.T) {
	b := ready(t)
	for what, line := range map[string]string{
		"coordinator": "conch debug stall coordinator --for 2m",
		"playback":    "conch debug stall playback --for 2m",
		"process":     "kill -STOP $(systemctl show conch -p MainPID --value)",
	} {
		t.Run(what, func(t *testing.T) {
			b := &box{t, b.Guest}
			b.well(2 * time.Minute)
			was, at := b.pid(), b.uptime()
			b.run(line)
			took := b.back(2*time.Minute, was, at)
			log := b.run("journalctl -u conch -o cat --no-pager -n 4000")
			if !strings.Contains(log, "Watchdog timeout") {
				t.Errorf("it was not the watchdog that ended it")
			}
			if what != "process" && !strings.Contains(log, "goroutine ") {
				t.Errorf("the journal does not show where the goroutines were")
			}
			t.Logf("back after %.1f s", took.Seconds())
			b.answers()
		})
	}
}

// TestCardGone: the sound card is taken away while it speaks, and comes back.
func TestCardGone(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.run("conch ask tell me a story >/dev/null 2>&1 &")
	b.hand(time.Minute, "until sound 40s")
	if _, err := b.Begin("echo snd_aloop.0 >/sys/bus/platform/drivers/snd_aloop/unbind"); err != nil {
		t.Fatal(err)
	}
	b.begins(time.Minute, "sound.speaker")
	b.begins(time.Minute, "sound.microphone")
	b.eventually(time.Minute, "the kernel has let go of the card", func() bool { return b.try("test -e /proc/asound/Speaker").Code != 0 })
	b.run("echo snd_aloop.0 >/sys/bus/platform/drivers/snd_aloop/bind")
	b.heals(time.Minute, "sound.speaker")
	b.heals(time.Minute, "sound.microphone")
	b.hand(3*time.Minute, "press\nwait 500ms\nrelease\nuntil quiet 90s\nask tell me a story\nuntil sound 40s\nkeep /run/before.wav\nwait 15s\nkeep /run/again.wav")
	b.understood("/run/again.wav", 3, storyWords)
}

// TestChipGone: the chip with the button and the light goes away and comes back; it is said, and the button works again.
func TestChipGone(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.run("(sleep 1; pins down) >/dev/null 2>&1 &")
	b.hand(2*time.Minute, "wait 35s\nkeep /run/lost.wav")
	b.begins(time.Minute, "button.lost")
	b.begins(time.Minute, "light.lost")
	b.says("/run/lost.wav", "button_lost")
	b.run("pins up")
	b.heals(time.Minute, "button.lost")
	b.heals(time.Minute, "light.lost")
	b.hand(time.Minute, "until dark 20s\npress\nuntil light 5s\nwait 300ms\nrelease\nuntil dark 20s")
}

// TestNetworkGone: the cable is pulled. A press says so; the voice is back by itself when the cable is.
func TestNetworkGone(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	if err := b.Link(false); err != nil {
		t.Fatal(err)
	}
	b.begins(3*time.Minute, "voice.lost")
	file := b.question("what time is it")
	sure := 0.0
	for range 3 { // a busy machine may keep the card waiting just then
		b.hand(3*time.Minute, fmt.Sprintf("until quiet 60s\nkeep /run/before.wav\npress\nsay %s\nsaid\nrelease\nwait 20s\nkeep /run/offline.wav", file))
		recording := samples(t, b.get("/run/offline.wav"))
		if sure = max(said(t, recording, "offline"), said(t, recording, "network_lost")); sure > 0.6 {
			break
		}
	}
	t.Logf("it says that it is offline (likeness %.2f)", sure)
	if sure < 0.6 {
		t.Errorf("it did not say that it is offline; a recogniser makes of it: %s", b.heard("/run/offline.wav"))
	}
	if err := b.Link(true); err != nil {
		t.Fatal(err)
	}
	b.heals(3*time.Minute, "voice.lost")
	b.answers()
}

// TestDiskFull: not a byte is left. It says so, the conversation goes on, and what was set meanwhile is kept once there is
// room again.
func TestDiskFull(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.volume(40)
	b.run("fallocate -l $(df --output=avail -B1 / | tail -n 1) /fill || true; dd if=/dev/zero of=/fill2 bs=4k 2>/dev/null || true; df / | tail -n 1")
	b.run("(sleep 1; conch ask set the volume to 45 percent) >/dev/null 2>&1 &")
	b.hand(2*time.Minute, "wait 40s\nkeep /run/full.wav")
	b.begins(time.Minute, "state.unwritable")
	b.says("/run/full.wav", "disk_full")
	b.answers()
	if s := b.status(); s.Volume != 45 {
		t.Errorf("the volume is %d %%; it was asked to be 45", s.Volume)
	}
	b.run("rm /fill /fill2")
	b.heals(3*time.Minute, "state.unwritable")
	if now := b.volumeNow(); now != 45 {
		t.Errorf("the volume on the disk is %d %%; it was asked to be 45", now)
	}
}

// TestClock1970: a Pi has no clock of its own. It starts, says so, talks all the same where nothing is encrypted, and
// notices when the time has come.
func TestClock1970(t *testing.T) {
	b := readyStopped(t)
	// The second day of it: Linux sets no clock to a time before it was switched on.
	if err := b.SetClock(time.Unix(0, 0).Add(36 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.run("systemctl start conch")
	b.active(time.Minute)
	b.begins(time.Minute, "clock.wrong")
	b.hand(3*time.Minute, "wait 50s\nkeep /run/clock.wav")
	b.says("/run/clock.wav", "clock_wrong")
	b.answers()
	if err := b.SetClock(time.Now()); err != nil {
		t.Fatal(err)
	}
	b.heals(2*time.Minute, "clock.wrong")
	b.answers()
}
