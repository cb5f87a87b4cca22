package vm

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInstalled is a person's first minute: apt install ./conch_*.deb on a box that has nothing of it, no network, no
// configuration and no key. The service must be up by its own word, and a press must make it listen.
func TestInstalled(t *testing.T) {
	b := fresh(t)
	begun := time.Now()
	said := b.install(shared.deb)
	t.Logf("apt install %s: %.0f s", filepath.Base(shared.deb), time.Since(begun).Seconds())
	if strings.Contains(said, "error") {
		t.Errorf("apt said:\n%s", said)
	}
	p := b.properties("Type", "ActiveState", "SubState", "Result", "NRestarts", "UnitFileState", "User", "StatusText", "ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic")
	if p["Type"] != "notify" || p["ActiveState"] != "active" || p["SubState"] != "running" || p["NRestarts"] != "0" || p["UnitFileState"] != "enabled" || p["User"] != "conch" {
		t.Errorf("the service is %v; want it active by its own word, enabled, never restarted, as user conch", p)
	}
	t.Logf("from exec to ready: %.0f ms; it says: %s", millis(p["ActiveEnterTimestampMonotonic"])-millis(p["ExecMainStartTimestampMonotonic"]), p["StatusText"])
	for what, line := range map[string]string{
		"its user may use pins, sound and keypads": "id -nG conch | tr ' ' '\\n' | grep -qx gpio && id -nG conch | tr ' ' '\\n' | grep -qx audio",
		"pins belong to the group gpio":            "test \"$(stat -c %G:%a /dev/gpiochip0)\" = gpio:660",
		"its state is its own":                     "test \"$(stat -c %U:%a /var/lib/conch)\" = conch:700",
		"credentials are root's":                   "test \"$(stat -c %U:%a /etc/conch/credentials)\" = root:700",
		"no other process of its runs as root":     "! pgrep -u root -x conch",
	} {
		if r := b.try(line); r.Code != 0 {
			t.Errorf("not so: %s (%s)", what, line)
		}
	}
	before := b.run("conch why --all | wc -l")
	b.hand(time.Minute, "press\nwait 700ms\nrelease\nwait 500ms")
	after := b.run("conch why --all | wc -l")
	if number(t, after) <= number(t, before) {
		t.Errorf("a press left no trace: %s lines of facts before, %s after", strings.TrimSpace(before), strings.TrimSpace(after))
	}
}

// properties are those of conch.service.
func (b *box) properties(names ...string) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(b.run("systemctl show conch.service -p " + strings.Join(names, ","))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

// millis is a time of systemd's in milliseconds.
func millis(microseconds string) float64 {
	n, _ := strconv.ParseFloat(microseconds, 64)
	return n / 1000
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRebooted: it comes back by itself.
func TestRebooted(t *testing.T) {
	b := ready(t)
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	if err := b.Reboot(ctx); err != nil {
		t.Fatal(err)
	}
	b.active(2 * time.Minute)
	uptime := b.run("cut -d ' ' -f 1 /proc/uptime")
	p := b.properties("ActiveEnterTimestampMonotonic", "ExecMainStartTimestampMonotonic")
	t.Logf("ready %.1f s after power on, %.0f ms after exec (now %s s)", millis(p["ActiveEnterTimestampMonotonic"])/1000,
		millis(p["ActiveEnterTimestampMonotonic"])-millis(p["ExecMainStartTimestampMonotonic"]), strings.TrimSpace(uptime))
	b.answers()
}

// active waits until the service is up by its own word.
func (b *box) active(limit time.Duration) time.Duration {
	b.t.Helper()
	return b.eventually(limit, "conch.service is active", func() bool { return b.properties("ActiveState")["ActiveState"] == "active" })
}

// TestUpgraded: the version before, its configuration changed by hand and its volume by word, then this one: both are kept.
func TestUpgraded(t *testing.T) {
	b := fresh(t)
	b.install(older(t, shared.deb))
	b.configure()
	b.active(time.Minute)
	b.answers()
	b.volume(35)
	identity := b.run("conch room id; sha256sum /etc/conch/conch.toml /etc/conch/credentials/*")
	was := b.run("dpkg-query -W -f '${Version}' conch; conch version")
	b.install(shared.deb)
	b.active(time.Minute)
	if now := b.run("dpkg-query -W -f '${Version}' conch"); strings.HasPrefix(was, now) {
		t.Errorf("the version is still %s", now)
	}
	if now := b.run("conch room id; sha256sum /etc/conch/conch.toml /etc/conch/credentials/*"); now != identity {
		t.Errorf("identity and configuration were\n%s\nand are\n%s", identity, now)
	}
	if now := b.volumeNow(); now != 35 {
		t.Errorf("the volume was 35 %% before the upgrade and is %d %%", now)
	}
	b.answers()
}

// older is the package with an earlier version's number.
func older(t *testing.T, deb string) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "conch_0.0.1_"+shared.arch+".deb")
	script := fmt.Sprintf(`dpkg-deb -R %q %q/x && sed -i 's/^Version: .*/Version: 0.0.1/' %q/x/DEBIAN/control && dpkg-deb --root-owner-group -Zgzip -z1 -b %q/x %q`, deb, dir, dir, dir, out)
	here(t, script)
	return out
}

// TestPurged: not a file, user, group or unit of conch's is left.
func TestPurged(t *testing.T) {
	need(t)
	b := fresh(t)
	// What apt and systemd keep about every package that ever was is no trace of this one.
	const list = `find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /root -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/systemd -o -path /srv \) -prune -o -print | sort`
	before := strings.Split(b.run(list+"; getent passwd; getent group"), "\n")
	b.install(shared.deb)
	b.configure()
	b.active(time.Minute)
	b.answers()
	r, err := b.RunFor(10*time.Minute, "apt-get purge -y conch && apt-get autoremove -y --purge")
	if err == nil {
		err = r.Failed()
	}
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, line := range before {
		known[line] = true
	}
	groups := regexp.MustCompile(`^(gpio|spi|i2c):`) // of the system, as udev's rules and other packages use them
	backups := regexp.MustCompile(`^/etc/.*-$|^/var/lib/dpkg|^/var/backups|\.(cache|old)$|ld\.so`)
	for line := range strings.SplitSeq(b.run(list+"; getent passwd; getent group"), "\n") {
		switch {
		case known[line] || groups.MatchString(line) || backups.MatchString(line):
		case strings.HasPrefix(line, "audio:") || strings.HasPrefix(line, "input:"): // membership is gone with the user
			if strings.Contains(line, "conch") {
				t.Errorf("left: %s", line)
			}
		default:
			t.Errorf("left: %s", line)
		}
	}
	if out := b.run("systemctl list-unit-files --no-legend 'conch*'; ps -eo comm= | grep -x conch || true"); out != "" {
		t.Errorf("left: %s", out)
	}
}
