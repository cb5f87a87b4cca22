package audio

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"conch/device/spelling"
)

// The backends' names, as in Granted.Backend.
const (
	BackendALSA  = "alsa"
	BackendPulse = "pulseaudio" // also what PipeWire speaks
	BackendNull  = "null"       // goes nowhere
	BackendTwin  = "twin"       // a virtual card, made of a clock and a tape
)

// Kind says which half of a card a device is.
type Kind string

// The kinds.
const (
	PlaybackDevice Kind = "playback"
	CaptureDevice  Kind = "capture"
)

// Device is one that can be named in a configuration. Its identity survives a reboot and another order of plugging:
//
//	alsa:CARD=sndrpihifiberry,DEV=0   an ALSA card by its id, never by its index
//	alsa:mydevice                     a PCM somebody defined in asound.conf
//	pulse:alsa_output.usb-Jabra_...   a PulseAudio or PipeWire sink or source
//	usb:1-1.2                         whatever card is in that socket: for two of the same model
type Device struct {
	ID      string
	Name    string // for people
	Kind    Kind
	Backend string
	USB     string // the port, as in usb:1-1.2; empty when it is not on USB or not known
	Default bool   // the one an empty identity opens
}

// hardware says whether d is a card itself and not a plug-in in front of one.
func (d Device) hardware() bool { return strings.HasPrefix(d.ID, "alsa:CARD=") }

// UnknownDeviceError says that a name fits none, or more than one.
type UnknownDeviceError struct {
	Want      string
	Nearest   string   // the most similar identity, if any is similar
	Fits      []string // more than one: identities that all fit
	Available []string
}

func (e *UnknownDeviceError) Error() string {
	if len(e.Fits) > 0 {
		return fmt.Sprintf("%q fits more than one device (%s): give one of these", e.Want, strings.Join(e.Fits, ", "))
	}
	s := fmt.Sprintf("no device %q", e.Want)
	if e.Nearest != "" {
		s += fmt.Sprintf(" (did you mean %q?)", e.Nearest)
	}
	if len(e.Available) == 0 {
		return s + "; there is none at all (see: conch audio list)"
	}
	return s + "; there are: " + strings.Join(e.Available, ", ")
}

// Match finds the device that want names: by exact identity, by USB port, by glob (*, ?) over identity or name, or by a part
// of identity or name, whatever the case; the first of these ways that finds any decides. More than one: the default among
// them if it is one, else an error.
func Match(list []Device, want string) (Device, error) {
	low := strings.ToLower(want)
	flat := strings.NewReplacer("/", "|") // path.Match stops * at a slash; a name is not a path
	glob := func(s string) bool {
		ok, _ := path.Match(flat.Replace(low), flat.Replace(strings.ToLower(s)))
		return ok
	}
	ways := []func(Device) bool{
		func(d Device) bool { return d.ID == want || strings.TrimPrefix(d.ID, "pulse:") == want },
		func(d Device) bool { return d.USB != "" && "usb:"+d.USB == want },
		func(d Device) bool { return strings.EqualFold(d.Name, want) },
		func(d Device) bool { return isPattern(want) && (glob(d.ID) || glob(d.Name)) },
		func(d Device) bool {
			return strings.Contains(strings.ToLower(d.ID), low) || strings.Contains(strings.ToLower(d.Name), low)
		},
	}
	e := &UnknownDeviceError{Want: want}
	for _, fits := range ways {
		found := slices.DeleteFunc(slices.Clone(list), func(d Device) bool { return !fits(d) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			if i := slices.IndexFunc(found, func(d Device) bool { return d.Default }); i >= 0 {
				return found[i], nil
			}
			for _, d := range found {
				e.Fits = append(e.Fits, d.ID)
			}
			return Device{}, e
		}
	}
	best := min(len(want)/2+1, spelling.Most) // more than half of it wrong is not a slip of the finger
	for _, d := range list {
		e.Available = append(e.Available, d.ID)
		_, bare, _ := strings.Cut(d.ID, ":")
		for _, s := range []string{d.ID, bare, d.Name} {
			if n := spelling.Distance(low, strings.ToLower(s)); n < best {
				best, e.Nearest = n, d.ID
			}
		}
	}
	return Device{}, e
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// rawDevice is a device as a backend lists it.
type rawDevice struct {
	name, text string
	isDefault  bool
}

// alsaPlumbing are PCM names that every alsa.conf defines: ways to a card, not cards, or ways to nowhere.
var alsaPlumbing = []string{"null", "default", "sysdefault", "pulse", "pipewire", "jack", "oss", "hw", "plughw", "plug", "dmix",
	"dsnoop", "dshare", "front", "rear", "center_lfe", "side", "surround21", "surround40", "surround41", "surround50", "surround51",
	"surround71", "iec958", "spdif", "hdmi", "modem", "phoneline", "usbstream", "lavrate", "samplerate", "speexrate", "speex", "upmix", "vdownmix"}

// identify turns a backend's list into ours: each device once, under its stable identity, with its USB port.
func identify(backend string, kind Kind, raw []rawDevice, procAsound, sysSound string) []Device {
	var list []Device
	seen := map[string]bool{}
	for _, r := range raw {
		d := Device{Name: r.text, Kind: kind, Backend: backend, Default: r.isDefault}
		switch backend {
		case BackendPulse:
			d.ID = "pulse:" + r.name
		case BackendALSA:
			plugin, card, _ := strings.Cut(r.name, ":")
			switch {
			case (plugin == "hw" || plugin == "plughw") && strings.HasPrefix(card, "CARD="):
				d.ID = "alsa:" + card
				d.Name, _, _ = strings.Cut(r.text, " (") // what follows describes the plug-in
				id, _, _ := strings.Cut(strings.TrimPrefix(card, "CARD="), ",")
				d.USB = usbPort(id, procAsound, sysSound)
			case slices.Contains(alsaPlumbing, plugin):
				continue
			default:
				d.ID = "alsa:" + r.name
			}
		}
		d.Name = cmp.Or(d.Name, r.name)
		if !seen[d.ID] {
			seen[d.ID] = true
			list = append(list, d)
		}
	}
	// ALSA has no default among its cards: it is the first here, which is what an empty identity opens.
	if backend == BackendALSA {
		slices.SortStableFunc(list, func(a, b Device) int { return a.likely() - b.likely() })
		if len(list) > 0 && list[0].hardware() {
			list[0].Default = true
		}
	}
	return list
}

// likely orders cards by how sure it is that somebody put them there to be heard: a board or a USB device was plugged in by
// hand, a Raspberry Pi's headphone socket is on most models, and its HDMI card is there whether a screen is or not.
func (d Device) likely() int {
	switch low := strings.ToLower(d.ID); {
	case !d.hardware():
		return 3
	case strings.Contains(low, "hdmi"):
		return 2
	case strings.HasPrefix(low, "alsa:card=headphones"), strings.HasPrefix(low, "alsa:card=alsa,"): // bcm2835, by its newer and older name
		return 1
	}
	return 0
}

// usbPort finds the port of an ALSA card: /proc/asound/ID is a link to cardN, whose device in sysfs is an interface of a USB
// device, named port:configuration.interface.
func usbPort(cardID, procAsound, sysSound string) string {
	card, err := os.Readlink(filepath.Join(procAsound, cardID))
	if err != nil {
		return ""
	}
	device, err := filepath.EvalSymlinks(filepath.Join(sysSound, filepath.Base(card), "device"))
	if err != nil {
		return ""
	}
	port, _, isInterface := strings.Cut(filepath.Base(device), ":")
	if !isInterface || !strings.Contains(device, "/usb") {
		return ""
	}
	return port
}

// alsaHardware says whether the kernel has any PCM at all.
func alsaHardware() bool {
	found, _ := filepath.Glob("/proc/asound/card*/pcm*")
	return len(found) > 0
}

// pulseAnswers says whether somebody listens where PulseAudio's clients would connect. A server on TCP is only believed.
func pulseAnswers() bool {
	server := strings.TrimSpace(os.Getenv("PULSE_SERVER"))
	if i := strings.LastIndex(server, "}"); strings.HasPrefix(server, "{") && i > 0 { // {machine-id}unix:/path
		server = server[i+1:]
	}
	var sockets []string
	switch {
	case strings.HasPrefix(server, "unix:"):
		sockets = []string{strings.TrimPrefix(server, "unix:")}
	case strings.HasPrefix(server, "/"):
		sockets = []string{server}
	case server != "":
		return true
	default:
		for _, v := range []struct{ env, below string }{{"PULSE_RUNTIME_PATH", "native"}, {"XDG_RUNTIME_DIR", "pulse/native"}} {
			if dir := os.Getenv(v.env); dir != "" {
				sockets = append(sockets, filepath.Join(dir, v.below))
			}
		}
		sockets = append(sockets, "/run/pulse/native") // a server for the whole system
	}
	for _, s := range sockets {
		if conn, err := net.DialTimeout("unix", s, 200*time.Millisecond); err == nil {
			_ = conn.Close()
			return true
		}
	}
	return false
}
