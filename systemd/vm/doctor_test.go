package vm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// finding is one of conch doctor --json.
type finding struct{ Check, Level, Text, Cause, Do, Group string }

// doctor asks the doctor in the guest, as root.
func (b *box) doctor() (found []finding) {
	b.t.Helper()
	r := b.try("conch doctor --json")
	if err := json.Unmarshal([]byte(r.Out), &found); err != nil {
		b.t.Fatalf("conch doctor --json: %v\n%s", err, r.Text())
	}
	return found
}

// wrong are the findings that are warnings or worse, in words.
func wrong(found []finding) (lines []string) {
	for _, f := range found {
		if f.Level == "warn" || f.Level == "bad" {
			lines = append(lines, f.Level+" "+f.Check+": "+f.Text+" | "+f.Cause+" | "+f.Do)
		}
	}
	return lines
}

// rightNow is a guest that runs conch and knows what time it is: a saved one lives in the past, and doctor would say so.
func rightNow(t *testing.T) *box {
	t.Helper()
	b := readyStopped(t)
	if err := b.SetClock(time.Now()); err != nil {
		t.Fatal(err)
	}
	b.run("systemctl start conch")
	b.active(time.Minute)
	return b
}

// TestDoctorOnAHealthyGuest: it runs as it should, and doctor finds nothing to say against it, asked by root or by somebody
// who is neither root nor a member of anything.
func TestDoctorOnAHealthyGuest(t *testing.T) {
	b := rightNow(t)
	b.answers()
	began := time.Now()
	found := b.doctor()
	t.Logf("conch doctor took %.1f s", time.Since(began).Seconds())
	for _, line := range wrong(found) {
		t.Errorf("a false alarm: %s", line)
	}
	if len(found) < 20 {
		t.Errorf("only %d findings", len(found))
	}
	t.Logf("as root:\n%s", b.try("conch doctor -v").Text())
	for _, line := range strings.Split(b.try("runuser -u nobody -- env HOME=/nonexistent conch doctor 2>&1").Text(), "\n") {
		t.Logf("as nobody: %s", line)
		if strings.HasPrefix(line, "  bad") || strings.HasPrefix(line, "  warn") {
			t.Errorf("a false alarm to a stranger: %s", line)
		}
	}
}

// TestDoctorNamesWhatIsBroken breaks one thing at a time in a healthy guest. What is wrong must be named, with what to do;
// besides it only what follows from it may be complained of.
func TestDoctorNamesWhatIsBroken(t *testing.T) {
	for _, x := range []struct {
		name   string
		breaks string // lines of shell
		check  string // that names it
		text   string // part of what it says
		do     string // part of its remedy
		also   string // checks that follow
	}{
		{"sound card gone", "echo snd_aloop.0 >/sys/bus/platform/drivers/snd_aloop/unbind; sleep 2",
			"sound", "no sound card", "USB", "condition buffer gaps microphone"},
		{"GPIO chip gone", "pins down; sleep 2", "gpio", "chip", "dmesg", "condition light"},
		{"pin held by another program", "systemctl stop conch; " + holds("gpiomon", 17) + "; systemctl start conch",
			"button", `GPIO17 is in use by "gpiomon"`, "fuser", "condition"},
		{"pin of the light held by another program", "systemctl stop conch; " + holds("gpiomon", 25) + "; systemctl start conch",
			"light", `GPIO25, of the light, is in use by "gpiomon"`, "light.pins", "condition"},
		// two hours later than nought: the kernel refuses a time before that of the boot
		{"clock at 1970", "timedatectl set-ntp false; date -u -s 1970-01-01T02:00:00", "clock", "1970-01-01", "timedatectl set-ntp true", "condition silence skew tls"},
		{"network down", "ip link set $(ls /sys/class/net | grep -v -e lo -e sit -e tun | head -n 1) down", "network", "no way out", "plug in the cable", "condition server"},
		{"disk full", "fallocate -l $(($(stat -f -c '%a*%S' /var/lib))) /fill || dd if=/dev/zero of=/fill bs=1M; true", "disk", "KiB left", "vacuum", "condition"},
		{"key refused", refusing + "; sed -i 's,^url = .*,url = \"ws://127.0.0.1:8401/v1/realtime\",' /etc/conch/conch.toml; systemctl restart conch",
			"key", "does not accept the key", "sudo conch key", "condition"},
		{"key that is none", "printf 'two\\nlines\\n' >/etc/conch/credentials/openai_api_key; systemctl restart conch",
			"key", "must be one line", "sudo conch key", "condition"},
		{"service masked", "systemctl disable --now conch; systemctl mask conch", "service", "masked", "sudo systemctl unmask conch", ""},
		{"service stopped", "systemctl stop conch", "service", "not running", "sudo systemctl start conch", ""},
		{"service that refuses its configuration", "echo 'volumne = 3' >>/etc/conch/conch.toml; systemctl restart conch; sleep 3",
			"config", "unknown key", "conch check", "service restarts"},
		{"period too long", "printf '[audio]\\nperiod_ms = 20\\nperiods = 4\\n' >>/etc/conch/conch.toml; systemctl restart conch",
			"buffer", "more than the 30 promised", "audio.period_ms", "config condition"},
		{"broker refuses", "printf '[room]\\nbroker = \"mqtt://127.0.0.1:1\"\\n' >>/etc/conch/conch.toml; systemctl restart conch; sleep 3",
			"broker", "not connected", "room.cut", "condition members"},
		{"user not in the group", "systemctl stop conch; gpasswd -d conch gpio; systemctl start conch",
			"groups", "user conch is not in the group gpio", "sudo usermod -aG gpio conch", "condition gpio button light"},
		{"nobody but root may use the chip", "systemctl stop conch; chmod 600 /dev/gpiochip*; systemctl start conch",
			"gpio", "user conch may not open it", "udevadm", "condition light"},
		{"restarted over and over", "for i in 1 2 3; do systemctl kill -s KILL conch; sleep 6; done", "restarts", "had to restart it", "journalctl", "condition"},
		{"no watchdog", "mkdir -p /etc/systemd/system/conch.service.d; printf '[Service]\\nWatchdogSec=0\\n' >/etc/systemd/system/conch.service.d/x.conf; systemctl daemon-reload; systemctl restart conch",
			"watchdog", "no watchdog", "systemctl cat conch", ""},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			b := rightNow(t)
			b.try(x.breaks)
			// The guest counts time in instructions: what took long on a busy host has left its clock behind the server's.
			if x.check != "clock" {
				if err := b.SetClock(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			var found []finding
			named := func() bool {
				found = b.doctor()
				for _, f := range found {
					if f.Check == x.check && (f.Level == "bad" || f.Level == "warn") && strings.Contains(f.Text, x.text) && strings.Contains(f.Do, x.do) && f.Cause != "" {
						t.Logf("%s %s: %s\n\tcause %s\n\tdo    %s", f.Level, f.Check, f.Text, f.Cause, f.Do)
						return true
					}
				}
				return false
			}
			// What only time shows (a service that is just starting, a card that is being missed) is given some.
			for begun := time.Now(); !named(); <-time.After(2 * time.Second) {
				if time.Since(begun) > 40*time.Second {
					t.Errorf("%s is not named; found\n%s", x.check, strings.Join(wrong(found), "\n"))
					break
				}
			}
			for _, f := range found {
				kind, _, _ := strings.Cut(f.Check, " ") // "condition sound.lost"
				if (f.Level == "warn" || f.Level == "bad") && f.Check != x.check && !strings.Contains(" "+x.also+" ", " "+kind+" ") {
					t.Errorf("a false alarm beside it: %s %s: %s | %s | %s", f.Level, f.Check, f.Text, f.Cause, f.Do)
				}
			}
		})
	}
}

// holds is a program that takes a pin of the chip with the header and keeps it. gpiod 2 names the chip in another way than 1.
func holds(program string, pin int) string {
	return fmt.Sprintf("chip=$(gpiodetect | sed -n 's/ .pinctrl-bcm.*//p'); "+
		"systemd-run -q --unit=holder sh -c \"%[1]s --num-events=1000 $chip %[2]d || %[1]s --num-events=1000 --chip $chip %[2]d\"; sleep 1", program, pin)
}

// refusing is a server that accepts no key: systemd listens, and a shell answers.
const refusing = `cd /run/systemd/system && printf '[Socket]\nListenStream=127.0.0.1:8401\nAccept=yes\n' >refuser.socket &&
printf '[Service]\nStandardInput=socket\nStandardOutput=socket\nExecStart=/bin/sh /run/refuse\n' >refuser@.service &&
printf 'read -r line\nprintf "HTTP/1.1 401 Unauthorized\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"\nsleep 0.3\n' >/run/refuse &&
systemctl daemon-reload && systemctl start refuser.socket`
