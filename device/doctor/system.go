package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// number reads the leading number of a text such as "6.6.31+rpt", version-wise.
func version(text string) (major, minor int) {
	_, _ = fmt.Sscanf(text, "%d.%d", &major, &minor)
	return major, minor
}

func older(text string, major, minor int) bool {
	a, b := version(text)
	return a != 0 && (a < major || a == major && b < minor)
}

func checkSystem(ctx context.Context, m *Machine, _ *Subject) []Finding {
	kernel := m.say("/proc/sys/kernel/osrelease")
	name := "Linux"
	for line := range strings.Lines(m.say("/etc/os-release")) {
		if v, is := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); is {
			name = strings.Trim(v, `"`)
		}
	}
	model := cmp.Or(m.say("/proc/device-tree/model"), "not a Raspberry Pi")
	out := ok("", "%s, %s, kernel %s", model, name, kernel)
	libc, _ := m.Run(ctx, "getconf", "GNU_LIBC_VERSION") // "glibc 2.36"
	libc = strings.TrimPrefix(strings.TrimSpace(libc), "glibc ")
	for line := range strings.Lines(m.say("/proc/cpuinfo")) {
		// "CPU architecture: 7" is said of the processor of a Zero too; the model name is honest.
		if k, v, is := strings.Cut(line, ":"); is && strings.TrimSpace(k) == "model name" && strings.Contains(v, "ARMv6") {
			return bad("", model+" has an ARMv6 processor", "conch is built for ARMv7 and later (Pi 2, 3, 4, 5, Zero 2 W)", "use one of these")
		}
	}
	switch {
	case older(kernel, 5, 10):
		return bad("", "kernel "+kernel+" is too old for the button", "GPIO by character device, version 2, came with 5.10",
			"sudo apt update && sudo apt full-upgrade, and reboot")
	case libc != "" && older(libc, 2, 34):
		return bad("", "glibc "+libc+" is too old", "conch needs 2.34, which came with Debian 12 (bookworm)", "install Raspberry Pi OS bookworm or later")
	}
	return out
}

// The bits of get_throttled (Raspberry Pi documentation, vcgencmd).
var throttled = []struct {
	bit  uint
	text string
	heat bool
}{
	{0, "under-voltage", false}, {1, "the processor is capped", false}, {2, "the processor is throttled", false}, {3, "soft temperature limit", true},
}

func checkPower(ctx context.Context, m *Machine, _ *Subject) []Finding {
	bits, have := m.throttled(ctx)
	if !have {
		for _, hwmon := range m.glob("/sys/class/hwmon/hwmon*/name") {
			if m.say(hwmon) != "rpi_volt" {
				continue
			}
			if m.say(path.Dir(hwmon)+"/in0_lcrit_alarm") == "1" {
				return weak("under-voltage")
			}
			return ok("", "no under-voltage")
		}
		if m.isPi() {
			return unknown("", "under-voltage", "sudo vcgencmd get_throttled")
		}
		return nil
	}
	var now, before []string
	hot := false
	for _, t := range throttled {
		if bits>>t.bit&1 == 1 {
			now = append(now, t.text)
		} else if bits>>(t.bit+16)&1 == 1 {
			before = append(before, t.text)
		}
		hot = hot || t.heat && (bits>>t.bit|bits>>(t.bit+16))&1 == 1
	}
	dips := bits&1 == 1 || bits>>16&1 == 1
	switch {
	case dips && bits&1 == 1:
		return weak(named(now) + " (now)")
	case dips:
		return warn("", "since boot: "+named(before), "the supply or its cable gave way, as when a loud sound began; some Pis restart by that",
			"use the board's own supply (5 V, 3 A; Pi 5: 5 A) and a short cable, and feed a loud amplifier separately")
	case len(now) > 0 || len(before) > 0:
		cause := "the supply is weak, or the board is hot"
		if hot {
			cause = "the board is hot"
		}
		return warn("", "throttling: now "+orNone(now)+"; since boot "+orNone(before), cause, "give it air or a heat sink; vcgencmd measure_temp")
	}
	return ok("", "no under-voltage and no throttling since boot")
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return named(words)
}

func weak(what string) []Finding {
	return bad("", what, "the supply gives less than 4.63 V: sound stutters, the card's data suffers, and the Pi may restart when a sound begins",
		"use the board's own supply (5 V, 3 A; Pi 5: 5 A) and a short cable, and feed a loud amplifier separately")
}

// throttled reads the firmware's word: from sysfs, which all may read, or by vcgencmd, which needs the group video.
func (m *Machine) throttled(ctx context.Context) (uint64, bool) {
	var text string
	for _, p := range m.glob("/sys/devices/platform/*/*:firmware/get_throttled") {
		text = m.say(p)
	}
	if text == "" {
		text, _ = m.Run(ctx, "vcgencmd", "get_throttled")
	}
	text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "throttled="), "0x")
	bits, err := strconv.ParseUint(text, 16, 32)
	return bits, err == nil && text != ""
}

// hot is where the firmware begins to slow a Pi down (Raspberry Pi documentation, thermal control).
const hot = 80.0

func checkHeat(_ context.Context, m *Machine, _ *Subject) []Finding {
	highest, have := 0.0, false
	for _, zone := range m.glob("/sys/class/thermal/thermal_zone*/temp") {
		if t, err := strconv.ParseFloat(m.say(zone), 64); err == nil {
			highest, have = max(highest, t/1000), true
		}
	}
	switch {
	case !have:
		return nil
	case highest >= hot:
		return warn("", fmt.Sprintf("%.0f °C", highest), "from 80 °C a Pi slows down, and sound may stutter", "give it air or a heat sink")
	}
	return ok("", "%.0f °C", highest)
}

// What memory conch needs when it talks, with room for a burst (APPLIANCE.md 5: 46 MiB).
const spareMemory = 64 << 10 // KiB

func checkMemory(_ context.Context, m *Machine, _ *Subject) []Finding {
	have := map[string]uint64{}
	for line := range strings.Lines(m.say("/proc/meminfo")) {
		if f := strings.Fields(line); len(f) >= 2 {
			have[strings.TrimSuffix(f[0], ":")], _ = strconv.ParseUint(f[1], 10, 64)
		}
	}
	total, free, swap, swapFree := have["MemTotal"], have["MemAvailable"], have["SwapTotal"], have["SwapFree"]
	if total == 0 {
		return nil
	}
	var killed string
	for line := range strings.Lines(m.say("/proc/vmstat")) {
		if n, is := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); is && n != "0" {
			killed = n
		}
	}
	switch {
	case free < spareMemory:
		return warn("", fmt.Sprintf("%d of %d MiB of memory are left", free>>10, total>>10), "something uses the rest; conch talking takes up to 46 MiB",
			"ps --sort=-rss -eo rss,comm | head, and end what is not needed; a desktop does not fit beside it on a small Pi")
	case killed != "":
		return note("", "%d of %d MiB free; since boot the kernel ended programs for lack of memory (%s)", free>>10, total>>10, killed)
	case swap > 0 && swapFree*4 < swap:
		return warn("", fmt.Sprintf("swap is nearly full (%d of %d MiB)", (swap-swapFree)>>10, swap>>10),
			"too much runs on this machine; what is swapped out answers late", "ps --sort=-rss -eo rss,comm | head, and end what is not needed")
	}
	return ok("", "%d of %d MiB free", free>>10, total>>10)
}

const (
	minFree  = 16 << 20 // bytes: what a year of small state files needs, amply
	minFiles = 64       // inodes
)

func checkDisk(_ context.Context, m *Machine, s *Subject) []Finding {
	dir := s.StateDir
	probe, there := dir, true
	for ; probe != path.Dir(probe); probe = path.Dir(probe) { // it may not exist yet: look at the nearest that does
		if _, err := m.stat(probe); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		there = false
	}
	space, err := m.Space(m.Path(probe))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unknown("", dir, "sudo conch doctor")
	case err != nil:
		return warn("", probe+": "+err.Error(), "the file system does not answer", "set state.dir to a local file system")
	case space.ReadOnly:
		return bad("", probe+" is read-only: volume, usage and memory will not be kept", "it is mounted so, or the kernel found errors and protects the data",
			"dmesg | grep -iE 'remount|ext4|mmc', then: sudo mount -o remount,rw /")
	case space.Free < minFree:
		return bad("", fmt.Sprintf("%s has %d KiB left: volume, usage and memory will not be kept", probe, space.Free>>10), "the disk is full",
			"sudo journalctl --vacuum-size=50M; sudo apt clean; df -h")
	case space.Inodes > 0 && space.Left < minFiles:
		return bad("", fmt.Sprintf("%s can hold %d more files: volume, usage and memory will not be kept", probe, space.Left),
			"the file system has no inodes left: very many small files",
			"sudo du --inodes -xd2 / | sort -n | tail")
	}
	if a := s.account(m); there || a.Caller { // the unit's StateDirectory is made by systemd
		if can, _, err := m.may(a, probe, 3); err == nil && !can {
			do := "sudo chown -R " + a.Name + ": " + dir
			if a.Caller {
				do = "give this user the directory, or set state.dir"
			}
			return bad("", probe+" cannot be written by "+a.String(), "it belongs to somebody else", do)
		}
	}
	if space.Temporary {
		return note("", "%s is in memory: what is kept there is lost at a restart", dir)
	}
	return ok("", "%s, %d MiB free", dir, space.Free>>20)
}

func (m *Machine) stat(p string) (fs.FileInfo, error) { return os.Stat(m.Path(p)) }

func checkCardErrors(ctx context.Context, m *Machine, _ *Subject) []Finding {
	for _, p := range m.glob("/sys/fs/ext4/*/errors_count") { // ext4 counts what it found, over restarts
		if n := m.say(p); n != "" && n != "0" {
			return bad("", "the file system on "+path.Base(path.Dir(p))+" has recorded "+n+" errors",
				"the card or its contacts fail, or the power was cut while it wrote",
				"save what matters, then replace the card, or check it: sudo touch /forcefsck && sudo reboot")
		}
	}
	out, err := m.Run(ctx, "dmesg", "--level=emerg,alert,crit,err")
	if err != nil {
		if strings.Contains(err.Error(), "not permitted") || strings.Contains(err.Error(), "ermission denied") {
			return unknown("", "errors of the SD card", "sudo conch doctor")
		}
		return nil // no dmesg: the file system has spoken above
	}
	failed := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "mmcblk") && (strings.Contains(line, "I/O error") || strings.Contains(line, "error -")) ||
			strings.Contains(line, "mmc0: ") && strings.Contains(line, "error -") {
			failed++
		}
	}
	if failed > 0 {
		return bad("", fmt.Sprintf("the SD card failed %d times since boot", failed), "the card wears out or has a bad contact",
			"save what matters and replace the card; dmesg | grep mmc")
	}
	return ok("", "no errors since boot")
}

// BuiltAfter is a date before which no conch exists: a clock that shows less was never set (a Pi has no battery for it).
var BuiltAfter = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func checkClock(_ context.Context, m *Machine, s *Subject) []Finding {
	now := m.Now()
	if now.Before(BuiltAfter) {
		return bad("", "the clock says "+now.UTC().Format("2006-01-02 15:04")+": no encrypted connection can be trusted",
			"it was never set: a Pi has no battery for it, and asks the network at boot",
			"sudo timedatectl set-ntp true, and see that the network lets NTP through (UDP port 123)")
	}
	synced, err := m.Synced()
	if err != nil || synced {
		return ok("", "%s", now.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	// Not an alarm by itself: virtual machines and boxes with chrony in some modes are right and say so. The server's date tells.
	return note("", "%s, and nothing keeps it right (no NTP)", now.UTC().Format("2006-01-02 15:04:05 UTC"))
}
