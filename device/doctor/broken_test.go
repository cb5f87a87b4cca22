package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"conch/device/doctor"
	"conch/gpio"
)

// breakage is one thing wrong with a healthy box, and what must be found. Nothing else may be.
type breakage struct {
	name      string
	breaks    func(b *box)
	check     string
	level     doctor.Level
	text      string // parts of what is found
	cause, do string
	also      []string // checks that rightly speak too
}

func TestEachBreakageIsNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range [][]breakage{machineBreakages, serviceBreakages, buttonBreakages, soundBreakages, networkBreakages, voiceBreakages} {
		for _, x := range table {
			seen[x.check] = true
			t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
				b := healthy(t)
				x.breaks(b)
				x.holds(t, b.findings())
			})
		}
	}
	for _, c := range doctor.Checks() {
		if !seen[c.Name] && c.Name != "voice" && c.Name != "programs" && c.Name != "buses" { // these have notes only: TestNotes
			t.Errorf("nothing breaks %s: its alarm is not tested", c.Name)
		}
	}
}

func (x breakage) holds(t *testing.T, found []doctor.Finding) {
	t.Helper()
	named := false
	for _, f := range found {
		if f.Check == x.check && f.Level == x.level && strings.Contains(f.Text, x.text) && strings.Contains(f.Cause, x.cause) && strings.Contains(f.Do, x.do) {
			named = true
		}
		if (f.Level == doctor.Warn || f.Level == doctor.Bad) && (f.Cause == "" || f.Do == "") {
			t.Errorf("%s has no cause or no remedy: %+v", f.Check, f)
		}
	}
	if !named {
		t.Errorf("want %s %s %q, cause %q, do %q; got\n%s", x.level, x.check, x.text, x.cause, x.do, show(worse(found)))
	}
	if more := worse(found, append(x.also, x.check)...); len(more) > 0 {
		t.Errorf("false alarms beside it:\n%s", show(more))
	}
}

var machineBreakages = []breakage{
	{name: "processor of a Zero 1", check: "system", level: doctor.Bad, text: "ARMv6", cause: "ARMv7", do: "use one of these",
		breaks: func(b *box) { b.write("/proc/cpuinfo", "model name\t: ARMv6-compatible processor rev 7 (v6l)\n") }},
	{name: "kernel without GPIO version 2", check: "system", level: doctor.Bad, text: "kernel 5.4.51-v7+ is too old", cause: "5.10", do: "full-upgrade",
		breaks: func(b *box) { b.write("/proc/sys/kernel/osrelease", "5.4.51-v7+\n") }},
	{name: "bullseye", check: "system", level: doctor.Bad, text: "glibc 2.31", cause: "2.34", do: "bookworm",
		breaks: func(b *box) { b.says["getconf GNU_LIBC_VERSION"] = "glibc 2.31\n" }},
	{name: "under-voltage now", check: "power", level: doctor.Bad, text: "under-voltage", cause: "4.63 V", do: "supply",
		breaks: func(b *box) { b.throttled("50005") }},
	{name: "under-voltage since boot", check: "power", level: doctor.Warn, text: "since boot: under-voltage, the processor is throttled", cause: "loud sound", do: "supply",
		breaks: func(b *box) { b.throttled("50000") }},
	{name: "throttled for heat", check: "power", level: doctor.Warn, text: "now soft temperature limit; since boot the processor is throttled", cause: "hot", do: "heat sink",
		breaks: func(b *box) { b.throttled("40008") }},
	{name: "under-voltage told by vcgencmd", check: "power", level: doctor.Bad, text: "under-voltage", cause: "supply", do: "cable",
		breaks: func(b *box) {
			b.remove("/sys/devices/platform/soc/soc:firmware/get_throttled")
			delete(b.fails, "vcgencmd")
			b.says["vcgencmd get_throttled"] = "throttled=0x1\n"
		}},
	{name: "under-voltage told by the voltage sensor", check: "power", level: doctor.Bad, text: "under-voltage", cause: "supply", do: "cable",
		breaks: func(b *box) {
			b.remove("/sys/devices/platform/soc/soc:firmware/get_throttled")
			b.files(map[string]string{"/sys/class/hwmon/hwmon1/name": "rpi_volt\n", "/sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n"})
		}},
	{name: "hot", check: "temperature", level: doctor.Warn, text: "82 °C", cause: "80 °C", do: "heat sink",
		breaks: func(b *box) { b.write("/sys/class/thermal/thermal_zone0/temp", "82123\n") }},
	{name: "memory used up", check: "memory", level: doctor.Warn, text: "19 of 417 MiB", cause: "46 MiB", do: "ps ",
		breaks: func(b *box) { b.write("/proc/meminfo", "MemTotal: 427400 kB\nMemAvailable: 20000 kB\n") }},
	{name: "swap full", check: "memory", level: doctor.Warn, text: "swap is nearly full", cause: "too much runs", do: "ps ",
		breaks: func(b *box) {
			b.write("/proc/meminfo", "MemTotal: 427400 kB\nMemAvailable: 120000 kB\nSwapTotal: 102396 kB\nSwapFree: 10000 kB\n")
		}},
	{name: "programs ended for memory", check: "memory", level: doctor.Note, text: "ended programs for lack of memory (3)",
		breaks: func(b *box) { b.write("/proc/vmstat", "oom_kill 3\n") }},
	{name: "disk full", check: "disk", level: doctor.Bad, text: "120 KiB left", cause: "full", do: "vacuum",
		breaks: func(b *box) { b.space.Free = 120 << 10 }},
	{name: "no inodes", check: "disk", level: doctor.Bad, text: "3 more files", cause: "inodes", do: "du --inodes",
		breaks: func(b *box) { b.space.Left = 3 }},
	{name: "disk read-only", check: "disk", level: doctor.Bad, text: "read-only", cause: "errors", do: "remount,rw",
		breaks: func(b *box) { b.space.ReadOnly = true }},
	{name: "state in memory", check: "disk", level: doctor.Note, text: "lost at a restart",
		breaks: func(b *box) { b.space.Temporary = true }},
	{name: "state of another user", check: "disk", level: doctor.Bad, text: "cannot be written by user conch", cause: "somebody else", do: "sudo chown -R conch: /var/lib/conch",
		breaks: func(b *box) { b.owners["/var/lib/conch"] = [2]int{0, 0} }},
	{name: "file system with errors", check: "card-errors", level: doctor.Bad, text: "mmcblk0p2 has recorded 4 errors", cause: "card", do: "replace the card",
		breaks: func(b *box) { b.write("/sys/fs/ext4/mmcblk0p2/errors_count", "4\n") }},
	{name: "card fails", check: "card-errors", level: doctor.Bad, text: "failed 2 times", cause: "wears out", do: "dmesg",
		breaks: func(b *box) {
			b.says["dmesg"] = "[ 12.1] mmc0: timeout waiting for hardware interrupt\n[ 12.2] mmcblk0: error -110 transferring data\n[ 13.9] blk_update_request: I/O error, dev mmcblk0, sector 99 mmcblk0: I/O error\n"
		}},
	{name: "clock never set", check: "clock", level: doctor.Bad, text: "1970-01-01", cause: "no battery", do: "set-ntp true", also: []string{"tls", "silence"},
		breaks: func(b *box) { b.m.Now = func() time.Time { return time.Unix(120, 0) } }},
	{name: "no real-time in the unit", check: "priority", level: doctor.Warn, text: "up to 0", cause: "stutter", do: "systemctl cat",
		breaks: func(b *box) { b.unit(map[string]string{"LimitRTPRIO": "0"}) }},
	{name: "real-time allowed and not had", check: "priority", level: doctor.Warn, text: "without real-time priority", cause: "stutter", do: "journalctl",
		breaks: func(b *box) { b.write("/proc/613/task/614/stat", thread(0)) }},
	{name: "no real-time for a person", check: "priority", level: doctor.Warn, text: "up to 0", cause: "stutter", do: "limits.d", also: []string{"service"},
		breaks: func(b *box) {
			b.person()
			b.m.RTPrio = func() (uint64, error) { return 0, nil }
		}},
}

func (b *box) throttled(bits string) {
	b.write("/sys/devices/platform/soc/soc:firmware/get_throttled", bits+"\n")
}

// person: conch is not installed; somebody with all rights starts it by hand.
func (b *box) person() {
	b.s.Unit, b.s.User = "", ""
	b.m.Groups = []int{1000, conch, audioGroup, gpioGroup, spiGroup, i2cGroup}
	b.unit(map[string]string{"LoadState": "not-found", "MainPID": "0"})
	b.owners["/var/lib/conch"] = [2]int{1000, 1000}
	b.s.StateDir = "/var/lib/conch"
}

var serviceBreakages = []breakage{
	{name: "configuration refused", check: "config", level: doctor.Bad, text: "button.source = \"pedal\"", cause: "does not start", do: "conch check",
		breaks: func(b *box) {
			b.s.Refused = errors.New("config: audio.volume = 300: must be 0 to 100\nconfig: button.source = \"pedal\": must be auto")
		}},
	{name: "configuration with warnings", check: "config", level: doctor.Warn, text: "turn.tool_s", cause: "configuration", do: "conch check",
		breaks: func(b *box) { b.s.Warnings = []string{"config: turn.tool_s = 90 is longer than turn.next_s"} }},
	{name: "configuration unreadable for the service", check: "config", level: doctor.Bad, text: "cannot be read by user conch", cause: "mode", do: "sudo chmod 644 /etc/conch/conch.toml",
		breaks: func(b *box) { b.mode("/etc/conch/conch.toml", 0o600) }},
	{name: "masked", check: "service", level: doctor.Bad, text: "masked", cause: "systemctl mask", do: "sudo systemctl unmask conch && sudo systemctl enable --now conch",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"LoadState": "masked", "UnitFileState": "masked", "ActiveState": "inactive", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "stopped", check: "service", level: doctor.Bad, text: "not running (inactive)", cause: "stopped", do: "sudo systemctl start conch",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "never enabled", check: "service", level: doctor.Bad, text: "not running", cause: "never started", do: "enable --now conch",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"UnitFileState": "disabled", "ActiveState": "inactive", "SubState": "dead", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "disabled", check: "service", level: doctor.Warn, text: "will not start at the next boot", cause: "disabled", do: "sudo systemctl enable conch",
		breaks: func(b *box) { b.unit(map[string]string{"UnitFileState": "disabled"}) }},
	{name: "refuses its configuration over and over", check: "service", level: doctor.Bad, text: "(exit status 2) and is started again and again: 57 times", cause: "conch check", do: "journalctl -u conch",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"ActiveState": "activating", "SubState": "auto-restart", "Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "2", "NRestarts": "57", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "credentials not loaded", check: "service", level: doctor.Bad, text: "exit status 243", cause: "/etc/conch/credentials", do: "journalctl",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"ActiveState": "failed", "SubState": "failed", "Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "243", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "ended by the watchdog", check: "service", level: doctor.Bad, text: "the watchdog ended it", cause: "stuck", do: "journalctl",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"ActiveState": "failed", "SubState": "failed", "Result": "watchdog", "ExecMainCode": "3", "ExecMainStatus": "6", "MainPID": "0"})
		}, also: []string{"running"}},
	{name: "restarted again and again", check: "restarts", level: doctor.Warn, text: "restart it 9 times", cause: "watchdog", do: "journalctl",
		breaks: func(b *box) { b.unit(map[string]string{"NRestarts": "9"}) }},
	{name: "no watchdog", check: "watchdog", level: doctor.Warn, text: "no watchdog", cause: "WatchdogSec", do: "systemctl cat conch",
		breaks: func(b *box) { b.unit(map[string]string{"WatchdogUSec": "0"}) }},
	{name: "unit changed on disk", check: "reload", level: doctor.Warn, text: "has changed", cause: "edited", do: "daemon-reload",
		breaks: func(b *box) { b.unit(map[string]string{"NeedDaemonReload": "yes"}) }},
	{name: "user gone", check: "groups", level: doctor.Bad, text: "no user conch", cause: "removed", do: "systemd-sysusers",
		breaks: func(b *box) {
			b.write("/etc/passwd", "root:x:0:0::/root:/bin/bash\n")
			b.m.Groups = append(b.m.Groups, audioGroup, gpioGroup, spiGroup)
			b.owners["/var/lib/conch"] = [2]int{1000, 1000}
		}},
	{name: "user not in gpio", check: "groups", level: doctor.Bad, text: "user conch is not in the group gpio, which has the button", cause: "without it", do: "sudo usermod -aG gpio conch && sudo systemctl restart conch", also: []string{"gpio"},
		breaks: func(b *box) {
			b.write("/etc/group", strings.Replace(b.read("/etc/group"), "gpio:x:995:conch", "gpio:x:995:", 1))
		}},
	{name: "user not in audio", check: "groups", level: doctor.Bad, text: "group audio", cause: "without it", do: "sudo usermod -aG audio conch", also: []string{"sound"},
		breaks: func(b *box) {
			b.write("/etc/group", strings.Replace(b.read("/etc/group"), "audio:x:29:conch", "audio:x:29:", 1))
		}},
	{name: "does not answer", check: "running", level: doctor.Bad, text: "does not answer", cause: "stuck", do: "restart conch",
		breaks: func(b *box) {
			b.s.Running = func(context.Context) (doctor.Running, error) { return doctor.Running{}, context.DeadlineExceeded }
		}, also: []string{"gaps"}},
	{name: "a condition", check: "condition sound.lost", level: doctor.Bad, text: "the card is gone", cause: "running appliance", do: "plug it in",
		breaks: func(b *box) {
			b.run.Conditions = []doctor.Condition{{Code: "sound.lost", Text: "the card is gone", Do: "plug it in", Since: today}}
		}},
}

// stopped: the appliance does not run, so that it holds nothing and answers nobody.
func (b *box) stopped() {
	b.s.Running = nil
	for _, pcm := range []string{"pcm0p", "pcm0c"} {
		b.write("/proc/asound/card0/"+pcm+"/sub0/status", "closed\n")
		b.write("/proc/asound/card0/"+pcm+"/sub0/hw_params", "closed\n")
	}
	b.pins.Pins = free()
	b.s.Open = func(context.Context) (doctor.Opened, error) {
		return doctor.Opened{Backend: "alsa", Playback: "RPi Codec Zero", Capture: "RPi Codec Zero", Rate: 48000, Period: 240, Periods: 3}, nil
	}
}

var buttonBreakages = []breakage{
	{name: "no GPIO chip", check: "gpio", level: doctor.Bad, text: "no GPIO chip", cause: "driver", do: "dmesg", also: []string{"light"},
		breaks: func(b *box) {
			b.remove("/dev/gpiochip0")
			b.pins = gpio.Inventory{Error: "no GPIO chip"}
		}},
	{name: "the caller may not open the chip", check: "gpio", level: doctor.Bad, text: "this user may not open it", cause: "the group that may is gpio", do: "sudo usermod -aG gpio $USER, and log in again", also: []string{"light", "service"},
		breaks: func(b *box) {
			b.person()
			b.m.Groups = []int{1000, audioGroup}
			b.pins = gpio.Inventory{Error: "no right"}
		}},
	{name: "no udev rule", check: "gpio", level: doctor.Bad, text: "user conch may not open it", cause: "no udev rule", do: "udevadm trigger",
		breaks: func(b *box) {
			b.owners["/dev/gpiochip0"] = [2]int{0, 0}
			b.mode("/dev/gpiochip0", 0o600)
		}},
	{name: "a chip that is not there", check: "gpio", level: doctor.Bad, text: `labelled "pinctrl-rp1"; there is "pinctrl-bcm2835"`, cause: "another machine", do: "button.chip", also: []string{"light"},
		breaks: func(b *box) {
			b.s.Button.Chip = "pinctrl-rp1"
			b.pins.Header, b.pins.Pins = "", nil
		}},
	{name: "only another chip", check: "gpio", level: doctor.Bad, text: `there is "brcmvirt-gpio"`, cause: "unloaded", do: "button.chip", also: []string{"light"},
		breaks: func(b *box) {
			b.pins = gpio.Inventory{Chips: []gpio.ChipRow{{Label: "brcmvirt-gpio", Lines: 2}}}
		}},
	{name: "chip that does not answer", check: "gpio", level: doctor.Bad, text: "no GPIO chip can be opened: no such device", cause: "does not answer", do: "dmesg", also: []string{"light"},
		breaks: func(b *box) {
			b.m.UID = 0
			b.pins = gpio.Inventory{Error: "no such device"}
		}},
	{name: "input device not there", check: "gpio", level: doctor.Bad, text: `no input device is called "Jabra"; there is "AT keyboard"`, cause: "unplugged", do: "button.device",
		breaks: func(b *box) { b.s.Button.Source, b.s.Button.Device = "evdev", "Jabra" }},
	{name: "no right to input devices", check: "gpio", level: doctor.Bad, text: "/dev/input/event0: user conch may not read it", cause: "0600", do: "usermod -aG input conch",
		breaks: func(b *box) {
			b.s.Button.Source, b.s.Button.Device = "evdev", "keyboard"
			b.write("/dev/input/event0", "")
			b.mode("/dev/input/event0", 0o600)
		}},
	{name: "pin held by another program", check: "button", level: doctor.Bad, text: `GPIO27 is in use by "gpiomon"`, cause: "another program", do: "fuser -v /dev/gpiochip*",
		breaks: func(b *box) { b.held(27, "gpiomon") }},
	{name: "pin held by a driver", check: "button", level: doctor.Bad, text: `in use by "gpio_ir_recv"`, cause: "dtoverlay", do: "remove the overlay",
		breaks: func(b *box) { b.held(27, "gpio_ir_recv") }},
	{name: "pin held by nobody known", check: "button", level: doctor.Bad, text: "gave no name", cause: "program", do: "conch gpio list",
		breaks: func(b *box) { b.held(27, "") }},
	{name: "pin of the sound board", check: "button", level: doctor.Bad, text: "button.pin = 18", cause: "the board's own", do: "17",
		breaks: func(b *box) {
			b.s.Button.Pin = 18
			b.s.Misfits = []doctor.Misfit{{Part: "button", Text: "button.pin = 18: is the I2S bit clock", Do: "take another one, 17 on most boards"}}
		}},
	{name: "button and light on one pin", check: "light", level: doctor.Bad, text: "27 is the button's pin as well", cause: "one thing", do: "another pin",
		breaks: func(b *box) {
			b.s.Misfits = []doctor.Misfit{{Part: "light", Text: "light.pins = 27: 27 is the button's pin as well", Do: "give one of them another pin"}}
		}},
	{name: "no such pin", check: "button", level: doctor.Bad, text: "no line GPIO27", cause: "not a Pi's header", do: "button.pin", also: []string{"light"},
		breaks: func(b *box) { b.pins.Pins = b.pins.Pins[:8] }},
	{name: "another board than configured", check: "board", level: doctor.Warn, text: `IQaudIO Pi-Codec Zero", and device.board = "whisplay"`, cause: "another board", do: `device.board = "codec-zero"`,
		breaks: func(b *box) {
			b.s.Board = "whisplay"
			b.write("/proc/asound/cards", strings.Replace(b.read("/proc/asound/cards"), "["+card(), "[wm8960soundcard", 1))
			b.s.Sound.Playback, b.s.Sound.Capture = "", ""
		}, also: []string{"overlay"}},
	{name: "no such preset", check: "board", level: doctor.Bad, text: `device.board = "codek"`, cause: "slip", do: "conch gpio list",
		breaks: func(b *box) { b.s.Board = "codek" }},
	{name: "a board nobody configured", check: "board", level: doctor.Note, text: "no board is configured", do: `device.board = "codec-zero"`,
		breaks: func(b *box) { b.s.Board = "" }},
	{name: "light pin held", check: "light", level: doctor.Bad, text: `GPIO23, of the light, is in use by "gpioset"`, cause: "another program", do: "light.pins",
		breaks: func(b *box) { b.held(23, "gpioset") }},
	{name: "SPI off", check: "light", level: doctor.Bad, text: "there is no /dev/spidev0.0", cause: "SPI is off", do: "raspi-config nonint do_spi 0",
		breaks: func(b *box) {
			b.s.Light = doctor.LightSetting{Driver: gpio.LightAPA102, SPI: "0.0"}
			b.remove("/dev/spidev0.0")
		}},
	{name: "no right to SPI", check: "light", level: doctor.Bad, text: "/dev/spidev0.0: user conch may not open it", cause: "0660", do: "sudo usermod -aG spi conch",
		breaks: func(b *box) {
			b.s.Light = doctor.LightSetting{Driver: gpio.LightAPA102, SPI: "0.0"}
			b.write("/etc/group", strings.Replace(b.read("/etc/group"), "spi:x:994:conch", "spi:x:994:", 1))
		}, also: []string{"groups"}},
	{name: "no LED of the kernel", check: "light", level: doctor.Bad, text: `no LED is called "ktd202x:*"`, cause: "not loaded", do: "ls /sys/class/leds",
		breaks: func(b *box) { b.s.Light = doctor.LightSetting{Driver: gpio.LightSysfs, Sysfs: "ktd202x:*"} }},
	{name: "no right to an LED", check: "light", level: doctor.Bad, text: "ktd202x:red: user conch may not set it", cause: "mode", do: "udevadm trigger",
		breaks: func(b *box) {
			b.s.Light = doctor.LightSetting{Driver: gpio.LightSysfs, Sysfs: "ktd202x:*"}
			b.write("/sys/class/leds/ktd202x:red/brightness", "0")
		}},
}

var soundBreakages = []breakage{
	{name: "no card at all", check: "sound", level: doctor.Bad, text: "no sound card", cause: "driver", do: "USB",
		breaks: func(b *box) {
			b.nocard()
			b.s.Board = ""
			b.remove("/proc/device-tree/hat")
			b.remove("/proc/asound/card1")
			b.write("/proc/asound/cards", "--- no soundcards ---\n")
		}, also: []string{"gaps"}},
	{name: "overlay missing, the HAT says what it is", check: "overlay", level: doctor.Bad, text: `IQaudIO Pi-Codec Zero", and there is no sound card`, cause: "missing in /boot/firmware/config.txt",
		do: "echo 'dtoverlay=rpi-codeczero' | sudo tee -a /boot/firmware/config.txt && sudo reboot",
		breaks: func(b *box) {
			b.nocard()
			b.s.Board = ""
			b.write("/boot/firmware/config.txt", "#dtoverlay=rpi-codeczero\n")
		}, also: []string{"board"}},
	{name: "overlay missing, the configuration names the board", check: "overlay", level: doctor.Bad, text: `device.board = "codec-zero", and there is no sound card`, cause: "missing in /boot/config.txt",
		do: "echo 'dtoverlay=rpi-codeczero' | sudo tee -a /boot/config.txt && sudo reboot",
		breaks: func(b *box) {
			b.nocard()
			b.remove("/proc/device-tree/hat", "/boot/firmware")
			b.write("/boot/config.txt", "dtparam=audio=on\n")
		}},
	{name: "overlay not installed", check: "overlay", level: doctor.Bad, text: "no sound card seeed2micvoicec", cause: "driver is not installed: there is no overlay for dtoverlay=seeed-2mic-voicecard", do: "maker",
		breaks: func(b *box) {
			b.nocard()
			b.remove("/proc/device-tree/hat")
			b.write("/boot/firmware/overlays/rpi-codeczero.dtbo", "")
			b.s.Board = "respeaker-2mic"
		}},
	{name: "overlay there and no card", check: "overlay", level: doctor.Bad, text: "no sound card", cause: "found no board", do: "dmesg",
		breaks: func(b *box) { b.nocard() }},
	{name: "the configured card is gone", check: "sound", level: doctor.Bad, text: `audio.playback = "alsa:CARD=Jabra,DEV=0" is not there`, cause: "unplugged", do: "conch audio list",
		breaks: func(b *box) { b.s.Sound.Playback = "alsa:CARD=Jabra,DEV=0" }},
	{name: "no microphone", check: "microphone", level: doctor.Bad, text: "no card can record", cause: "the Pi itself has none", do: "USB",
		breaks: func(b *box) {
			b.remove("/proc/asound/card0/pcm0c", "/dev/snd/pcmC0D0c")
			b.s.Sound.Capture = ""
		}},
	{name: "only HDMI", check: "sound", level: doctor.Warn, text: "only loudspeaker is HDMI", cause: "not loaded", do: "device.board",
		breaks: func(b *box) {
			b.s.Board, b.s.Sound.Playback, b.s.Sound.Capture = "", "", ""
			b.remove("/proc/device-tree/hat", "/proc/asound/card0/pcm0p")
		}, also: []string{"board"}},
	{name: "no right to the card", check: "sound", level: doctor.Bad, text: "user conch may not open it", cause: "its mode is 0600", do: "usermod -aG audio conch",
		breaks: func(b *box) {
			b.owners["/dev/snd/pcmC0D0p"] = [2]int{0, 0}
			b.mode("/dev/snd/pcmC0D0p", 0o600)
		}},
	{name: "held by a sound server", check: "holder", level: doctor.Bad, text: "is held by pulseaudio", cause: "sound server", do: "systemctl --user mask --now pulseaudio.socket",
		breaks: func(b *box) {
			b.stopped()
			b.unit(map[string]string{"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"})
			b.write("/proc/asound/card0/pcm0p/sub0/status", "state: RUNNING\nowner_pid   : 411\n")
			b.write("/proc/411/comm", "pulseaudio\n")
		}, also: []string{"service", "running"}},
	{name: "held by another program", check: "holder", level: doctor.Bad, text: "playback of " + card() + " is held by aplay", cause: "one program", do: "sudo kill 412",
		breaks: func(b *box) {
			b.write("/proc/asound/card0/pcm0p/sub0/status", "state: RUNNING\nowner_pid   : 412\n")
			b.write("/proc/412/comm", "aplay\n")
		}},
	{name: "a period too long, granted to the service", check: "buffer", level: doctor.Warn, text: "1024 frames x 4: silent within 110 ms of a press, more than the 30 promised", cause: "in advance", do: "audio.period_ms",
		breaks: func(b *box) {
			b.write("/proc/asound/card0/pcm0p/sub0/hw_params", "format: S16_LE\nchannels: 2\nrate: 48000 (48000/1)\nperiod_size: 1024\nbuffer_size: 4096\n")
		}},
	{name: "a period too long, granted to a look", check: "buffer", level: doctor.Warn, text: "480 frames x 3 at 48000 Hz: silent within 43 ms", cause: "in advance", do: "another card",
		breaks: func(b *box) {
			b.asleep()
			b.s.Open = func(context.Context) (doctor.Opened, error) {
				return doctor.Opened{Backend: "alsa", Playback: "X", Capture: "X", Rate: 48000, Period: 480, Periods: 3}, nil
			}
		}, also: []string{"service", "running"}},
	{name: "sound card refuses", check: "buffer", level: doctor.Bad, text: "device or resource busy", cause: "refused", do: "conch audio list",
		breaks: func(b *box) {
			b.asleep()
			b.s.Open = func(context.Context) (doctor.Opened, error) {
				return doctor.Opened{}, errors.New("device or resource busy")
			}
		}, also: []string{"service", "running"}},
	{name: "only the null device", check: "buffer", level: doctor.Warn, text: "nothing will be heard", cause: "none is there", do: "plug in",
		breaks: func(b *box) {
			b.asleep()
			b.s.Open = func(context.Context) (doctor.Opened, error) {
				return doctor.Opened{Backend: "null", Playback: "null", Capture: "null", Rate: 48000, Period: 240, Periods: 3}, nil
			}
		}, also: []string{"service", "running"}},
	{name: "microphone refuses", check: "microphone", level: doctor.Bad, text: "no capture device", cause: "refused", do: "conch audio list",
		breaks: func(b *box) {
			b.asleep()
			b.s.Open = func(context.Context) (doctor.Opened, error) {
				return doctor.Opened{Backend: "alsa", Playback: "X", Rate: 48000, Period: 240, Periods: 3, CaptureErr: errors.New("no capture device")}, nil
			}
		}, also: []string{"service", "running"}},
	{name: "stutters", check: "gaps", level: doctor.Warn, text: "40 gaps in 12 turns", cause: "network", do: "wifi",
		breaks: func(b *box) { b.run.Metrics["conch_audio_underruns_total"] = 40 }},
	{name: "xruns", check: "gaps", level: doctor.Warn, text: "ran dry 7 times", cause: "real-time", do: "priority",
		breaks: func(b *box) { b.run.Metrics["conch_audio_xruns_total"] = 7 }},
	{name: "measured too slow", check: "silence", level: doctor.Warn, text: "worst 44.1 ms", cause: "30 ms", do: "conch bench silence",
		breaks: func(b *box) { b.s.Measured.P99, b.s.Measured.Worst = 43.2, 44.1 }},
	{name: "never measured", check: "silence", level: doctor.Note, text: "never measured", do: "conch bench silence",
		breaks: func(b *box) { b.s.Measured = doctor.Measured{} }},
	{name: "measured long ago", check: "silence", level: doctor.Note, text: "400 days ago", do: "measure again",
		breaks: func(b *box) { b.s.Measured.When = today.AddDate(0, 0, -400) }},
}

// nocard takes the board's card away; HDMI stays.
func (b *box) nocard() {
	b.remove("/proc/asound/card0", "/dev/snd/pcmC0D0p", "/dev/snd/pcmC0D0c")
	text := b.read("/proc/asound/cards")
	b.write("/proc/asound/cards", text[strings.Index(text, " 1 ["):])
}

// asleep: the service was stopped, and the card is free.
func (b *box) asleep() {
	b.stopped()
	b.unit(map[string]string{"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"})
}

var networkBreakages = []breakage{
	{name: "cable out", check: "network", level: doctor.Bad, text: "no way out", cause: "no network interface is connected (there is wlan0)", do: "nmtui", also: []string{"server"},
		breaks: func(b *box) {
			b.write("/proc/net/route", "Iface\tDestination\n")
			b.write("/sys/class/net/wlan0/operstate", "down\n")
			b.server.lookup = func(string) error { return unreachable }
		}},
	{name: "no address", check: "network", level: doctor.Bad, text: "no way out", cause: "wlan0 is up and got no address", do: "NetworkManager", also: []string{"server"},
		breaks: func(b *box) {
			b.write("/proc/net/route", "Iface\tDestination\nwlan0\t0000A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\n")
			b.server.lookup = func(string) error { return unreachable }
		}},
	{name: "no way to a server in the house", check: "network", level: doctor.Bad, text: "no way out", cause: "no router", do: "NetworkManager", also: []string{"server", "tls"},
		breaks: func(b *box) {
			b.s.Voice.URL = "wss://192.168.1.7/v1/realtime"
			b.write("/proc/net/route", "Iface\tDestination\n")
			b.server.lookup = func(string) error { return unreachable }
		}},
	{name: "Wi-Fi saves power", check: "wifi", level: doctor.Warn, text: "wlan0 saves power", cause: "sleeps", do: "iw dev wlan0 set power_save off",
		breaks: func(b *box) { b.says["iw dev wlan0 get power_save"] = "Power save: on\n" }},
	{name: "weak signal", check: "wifi", level: doctor.Warn, text: "-82 dBm", cause: "far", do: "cable",
		breaks: func(b *box) { b.write("/proc/net/wireless", " wlan0: 0000   28.  -82.  -256        0\n") }},
	{name: "no iw", check: "wifi", level: doctor.Note, text: "cannot be asked", do: "apt install iw",
		breaks: func(b *box) {
			delete(b.says, "iw dev wlan0 get power_save")
			b.fails["iw"] = fmt.Errorf("exec: %w", exec.ErrNotFound)
		}},
}

// What only notes can be made of, and what must not alarm.
func TestNotes(t *testing.T) {
	for _, x := range []breakage{
		{name: "no key", check: "voice", level: doctor.Note, text: "rehearsal", do: "sudo conch key",
			breaks: func(b *box) { b.s.Voice.Rehearsal, b.s.Voice.Why = true, "no key" }},
		{name: "programs of the rehearsal voice", check: "programs", level: doctor.Note, text: "flite", do: "sudo apt install flite", also: []string{"voice"},
			breaks: func(b *box) {
				b.s.Voice.Rehearsal = true
				b.remove("/usr/bin/flite")
			}},
		{name: "a server in the house without TLS", check: "tls", level: doctor.Note, text: "house's network in the clear", also: []string{"key"},
			breaks: func(b *box) {
				b.s.Voice.URL = "ws://192.168.1.7:8080/v1/realtime"
				b.server.plain()
			}},
		{name: "server without a list of models", check: "key", level: doctor.Note, text: "no list of models",
			breaks: func(b *box) { b.s.Voice.URL = "wss://api.openai.com/other/realtime" }},
		{name: "could be one of several boards", check: "board", level: doctor.Note, text: "could be codec-zero (the sound card Zero is up)", do: "device.board",
			breaks: func(b *box) {
				b.s.Board = ""
				b.remove("/proc/device-tree/hat")
			}},
		{name: "a server in the house and no way out", check: "tls", level: doctor.Note, text: "in the clear", also: []string{"key"},
			breaks: func(b *box) {
				b.s.Voice.URL = "ws://192.168.1.7:8080/v1/realtime"
				b.write("/proc/net/route", "Iface\tDestination\n")
				b.server.plain()
			}},
		{name: "a stranger asks while the service runs", check: "buffer", level: doctor.Note, text: "without root", do: "sudo conch doctor", also: []string{"running", "silence", "disk"},
			breaks: func(b *box) {
				b.stopped()
				b.m.Groups = []int{1000}
				b.s.Measured = doctor.Measured{Hidden: true}
				b.s.Open = func(context.Context) (doctor.Opened, error) {
					b.t.Error("the service's card was opened")
					return doctor.Opened{}, nil
				}
			}},
		{name: "muted", check: "muted", level: doctor.Note, text: "by wish", breaks: func(b *box) { b.run.Muted = true }},
		{name: "no key, says the appliance", check: "condition key.missing", level: doctor.Note, text: "no key", do: "sudo conch key",
			breaks: func(b *box) {
				b.run.Conditions = []doctor.Condition{{Code: "key.missing", Text: "there is no key", Do: "sudo conch key"}}
			}},
		{name: "I2C off", check: "buses", level: doctor.Note, text: "I2C is off", do: "do_i2c 0", also: []string{"overlay", "board"},
			breaks: func(b *box) {
				b.remove("/dev/i2c-1", "/proc/device-tree/hat")
				b.s.Board = "waveshare-wm8960"
			}},
		{name: "not installed", check: "service", level: doctor.Note, text: "not installed", breaks: (*box).person},
		{name: "not synchronised", check: "clock", level: doctor.Note, text: "nothing keeps it right",
			breaks: func(b *box) { b.m.Synced = func() (bool, error) { return false, nil } }},
		{name: "socket closed to the caller", check: "running", level: doctor.Note, text: "without root", do: "sudo conch doctor", also: []string{"disk"},
			breaks: func(b *box) {
				b.s.Running = nil
				b.m.Groups = []int{1000}
			}},
		{name: "kernel's messages closed to the caller", check: "card-errors", level: doctor.Note, text: "without root", do: "sudo conch doctor",
			breaks: func(b *box) {
				b.fails["dmesg"] = errors.New("exit status 1: dmesg: read kernel buffer failed: Operation not permitted")
			}},
		{name: "power unknown", check: "power", level: doctor.Note, text: "without root", do: "sudo vcgencmd get_throttled",
			breaks: func(b *box) { b.remove("/sys/devices/platform/soc/soc:firmware/get_throttled") }},
		{name: "key closed to the caller", check: "key", level: doctor.Note, text: "without root", do: "sudo conch doctor",
			breaks: func(b *box) { b.s.Voice.Key, b.s.Voice.KeyHidden = "", true }},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			b := healthy(t)
			x.breaks(b)
			x.holds(t, b.findings())
		})
	}
}
