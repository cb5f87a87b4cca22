package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"conch/device/doctor"
	"conch/gpio"
)

// Button, light and sound; the network.

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
	{name: "encoder on the button's pin", check: "knob", level: doctor.Bad, text: "27 is the button's pin as well", cause: "one thing", do: "two pins",
		breaks: func(b *box) {
			b.s.Knob.Encoder = "27,5"
			b.s.Misfits = []doctor.Misfit{{Part: "knob", Text: "knob.encoder = 27,5: 27 is the button's pin as well", Do: "take two pins that nothing else has"}}
		}},
	{name: "encoder held by another program", check: "knob", level: doctor.Bad, text: `GPIO6, of the encoder, is in use by "gpiomon"`, cause: "another program", do: "knob.encoder",
		breaks: func(b *box) {
			b.s.Knob.Encoder = "GPIO5,GPIO6"
			b.held(6, "gpiomon")
		}},
	{name: "encoder that the running conch has not", check: "knob", level: doctor.Warn, text: "encoder on GPIO5, GPIO6: conch runs and does not hold it", cause: "before the setting", do: "restart conch",
		breaks: func(b *box) { b.s.Knob.Encoder = "GPIO5,GPIO6" }},
	{name: "encoder without a header", check: "knob", level: doctor.Bad, text: "the chip with the header cannot be used", cause: "see gpio", do: "knob.encoder = []", also: []string{"gpio", "light"},
		breaks: func(b *box) {
			b.s.Knob.Encoder = "GPIO5,GPIO6"
			b.m.UID = 0
			b.pins = gpio.Inventory{Chips: []gpio.ChipRow{{Label: "brcmvirt-gpio", Lines: 2}}}
		}},
	{name: "no right to volume keys", check: "knob", level: doctor.Bad, text: "/dev/input/event0: user conch may not read it", cause: "0600", do: "usermod -aG input conch",
		breaks: func(b *box) {
			b.s.Knob.Keys = true
			b.write("/dev/input/event0", "")
			b.mode("/dev/input/event0", 0o600)
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
	{name: "turned down", check: "levels", level: doctor.Warn, text: "at zero or muted: Lineout Volume", cause: "nobody ever turned it up", do: "sset 'Lineout' 80%",
		breaks: func(b *box) { b.lineout = 0 }},
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
				return doctor.Opened{Backend: "alsa", Playback: "X", Capture: "X", Buffer: "480 frames x 3 at 48000 Hz", Bound: 43e6}, nil
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
				return doctor.Opened{Backend: "null", Playback: "null", Capture: "null", Buffer: "240 frames x 3 at 48000 Hz"}, nil
			}
		}, also: []string{"service", "running"}},
	{name: "microphone refuses", check: "microphone", level: doctor.Bad, text: "no capture device", cause: "refused", do: "conch audio list",
		breaks: func(b *box) {
			b.asleep()
			b.s.Open = func(context.Context) (doctor.Opened, error) {
				return doctor.Opened{Backend: "alsa", Playback: "X", Buffer: "240 frames x 3 at 48000 Hz", CaptureErr: errors.New("no capture device")}, nil
			}
		}, also: []string{"service", "running"}},
	{name: "stutters", check: "gaps", level: doctor.Warn, text: "40 gaps in 12 turns", cause: "network", do: "wifi",
		breaks: func(b *box) { b.run.Metrics["conch_audio_underruns_total"] = 40 }},
	{name: "xruns", check: "gaps", level: doctor.Warn, text: "ran dry 7 times in the last hour, or lost what it had captured (40 since the start)", cause: "real-time", do: "audio.period_ms = 10",
		breaks: func(b *box) {
			b.run.Metrics["conch_audio_xruns_total"], b.run.Metrics["conch_audio_xruns_hour"] = 40, 7
		}},
	{name: "xruns of long ago", check: "gaps", level: doctor.Note, text: "ran dry 1 times in the last hour, 40 since the start",
		breaks: func(b *box) {
			b.run.Metrics["conch_audio_xruns_total"], b.run.Metrics["conch_audio_xruns_hour"] = 40, 1
		}},
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
