package audio

import (
	"os"
	"path/filepath"
	"testing"
)

// What libasound lists on a Raspberry Pi with an I2S board and two USB speakerphones of one model.
var hints = []rawDevice{
	{name: "null", text: "Discard all samples (playback) or generate zero samples (capture)"},
	{name: "default", text: "Default Audio Device", isDefault: true},
	{name: "hw:CARD=vc4hdmi0,DEV=0", text: "vc4-hdmi-0, MAI PCM i2s-hifi-0 (Direct hardware device without any conversions)"},
	{name: "hw:CARD=Headphones,DEV=0", text: "bcm2835 Headphones, bcm2835 Headphones (Direct hardware device without any conversions)"},
	{name: "hw:CARD=sndrpihifiberry,DEV=0", text: "snd_rpi_hifiberry_dac, HifiBerry DAC HiFi (Direct hardware device without any conversions)"},
	{name: "plughw:CARD=sndrpihifiberry,DEV=0", text: "snd_rpi_hifiberry_dac, HifiBerry DAC HiFi (Hardware device with all software conversions)"},
	{name: "sysdefault:CARD=sndrpihifiberry", text: "snd_rpi_hifiberry_dac (Default Audio Device)"},
	{name: "dmix:CARD=sndrpihifiberry,DEV=0", text: "…"},
	{name: "hw:CARD=USB,DEV=0", text: "Jabra SPEAK 410 USB, USB Audio (Direct hardware device without any conversions)"},
	{name: "hw:CARD=USB_1,DEV=0", text: "Jabra SPEAK 410 USB, USB Audio (Direct hardware device without any conversions)"},
	{name: "mydevice", text: "Somebody's own"},
}

func TestDevicesHaveOneStableIdentityEach(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	port := filepath.Join(sys, "devices/platform/usb1/1-1/1-1.2/1-1.2:1.0")
	for _, err := range []error{
		os.MkdirAll(port, 0o700), os.MkdirAll(filepath.Join(sys, "class/card3"), 0o700),
		os.Symlink("card3", filepath.Join(proc, "USB_1")), os.Symlink(port, filepath.Join(sys, "class/card3/device")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := identify(BackendALSA, PlaybackDevice, hints, proc, filepath.Join(sys, "class"))
	want := []Device{
		{ID: "alsa:CARD=sndrpihifiberry,DEV=0", Name: "snd_rpi_hifiberry_dac, HifiBerry DAC HiFi", Kind: "playback", Backend: "alsa", Default: true},
		{ID: "alsa:CARD=USB,DEV=0", Name: "Jabra SPEAK 410 USB, USB Audio", Kind: "playback", Backend: "alsa"},
		{ID: "alsa:CARD=USB_1,DEV=0", Name: "Jabra SPEAK 410 USB, USB Audio", Kind: "playback", Backend: "alsa", USB: "1-1.2"},
		{ID: "alsa:CARD=Headphones,DEV=0", Name: "bcm2835 Headphones, bcm2835 Headphones", Kind: "playback", Backend: "alsa"},
		{ID: "alsa:CARD=vc4hdmi0,DEV=0", Name: "vc4-hdmi-0, MAI PCM i2s-hifi-0", Kind: "playback", Backend: "alsa"},
		{ID: "alsa:mydevice", Name: "Somebody's own", Kind: "playback", Backend: "alsa"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d devices; want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("device %d is %+v; want %+v", i, got[i], want[i])
		}
	}
}

func TestMatch(t *testing.T) {
	list := identify(BackendALSA, PlaybackDevice, hints, "/nonexistent", "/nonexistent")
	list[2].USB = "1-1.2"
	list = append(list, Device{ID: "pulse:alsa_output.platform-soc_sound.stereo-fallback", Name: "Built-in Audio", Backend: BackendPulse})
	for _, row := range []struct{ name, want, id, err string }{
		{"an exact identity", "alsa:CARD=USB,DEV=0", "alsa:CARD=USB,DEV=0", ""},
		{"a sink's bare name", "alsa_output.platform-soc_sound.stereo-fallback", "pulse:alsa_output.platform-soc_sound.stereo-fallback", ""},
		{"a port", "usb:1-1.2", "alsa:CARD=USB_1,DEV=0", ""},
		{"a part of the name", "hifiberry", "alsa:CARD=sndrpihifiberry,DEV=0", ""},
		{"a glob over the identity", "alsa:CARD=snd*", "alsa:CARD=sndrpihifiberry,DEV=0", ""},
		{"a glob over the name, any case", "built-in*", "pulse:alsa_output.platform-soc_sound.stereo-fallback", ""},
		{"two of one model", "Jabra", "", `"Jabra" fits more than one device (alsa:CARD=USB,DEV=0, alsa:CARD=USB_1,DEV=0): give one of these`},
		{"all of them: the default", "alsa:CARD*", "alsa:CARD=sndrpihifiberry,DEV=0", ""},
		{"a slip of the finger", "alsa:CARD=UBS_1,DEV=0", "",
			`no device "alsa:CARD=UBS_1,DEV=0" (did you mean "alsa:CARD=USB_1,DEV=0"?); there are: alsa:CARD=sndrpihifiberry,DEV=0, alsa:CARD=USB,DEV=0, alsa:CARD=USB_1,DEV=0, alsa:CARD=Headphones,DEV=0, alsa:CARD=vc4hdmi0,DEV=0, alsa:mydevice, pulse:alsa_output.platform-soc_sound.stereo-fallback`},
		{"a broken glob", "[", "", `no device "["; there are: alsa:CARD=sndrpihifiberry,DEV=0, alsa:CARD=USB,DEV=0, alsa:CARD=USB_1,DEV=0, alsa:CARD=Headphones,DEV=0, alsa:CARD=vc4hdmi0,DEV=0, alsa:mydevice, pulse:alsa_output.platform-soc_sound.stereo-fallback`},
	} {
		d, err := Match(list, row.want)
		if d.ID != row.id || (err == nil) != (row.err == "") || (err != nil && err.Error() != row.err) {
			t.Errorf("%s: Match(%q) = %q, %v; want %q, %s", row.name, row.want, d.ID, err, row.id, row.err)
		}
	}
	if _, err := Match(nil, "x"); err == nil || err.Error() != `no device "x"; there is none at all (see: conch audio list)` {
		t.Errorf("Match in an empty list: %v", err)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("Jabra*", "alsa:CARD=x")
	f.Fuzz(func(t *testing.T, want, id string) {
		d, err := Match([]Device{{ID: id, Name: want}}, want)
		if err != nil || d.ID != id {
			t.Errorf("Match by the exact name %q failed: %v", want, err)
		}
		_, _ = Match([]Device{{ID: id}}, want)
	})
}
