package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/audio/mixer"
	"conch/companions/voice"
	"conch/companions/voice/kinds"
	"conch/device/config"
	"conch/device/doctor"
	"conch/gpio"
)

// A box is a healthy appliance: a Pi Zero 2 W with a Codec Zero on it, conch running as a service, and a server of its own
// behind the name api.openai.com, over real TLS. A test breaks one thing of it.
//
//	files   below a root of its own          commands  answered from a table      users   from the tree's passwd and group
//	server  httptest, a certificate by a CA of the test, dialled instead of the real one
type box struct {
	lineout int // a level of its card
	t       *testing.T
	m       *doctor.Machine
	s       *doctor.Subject
	owners  map[string][2]int // user and group of files, by the end of their path; else root's
	says    map[string]string // what commands print, by their beginning
	fails   map[string]error  // what commands fail with, by their beginning
	pins    gpio.Inventory    // but for what the tree shows of the board
	space   doctor.Space
	run     doctor.Running
	server  *server
}

const key = "sk-proj-ThisIsTheKeyOfTheTest0123456789"

// Numbers of users and groups in the tree.
const (
	conch, audioGroup, gpioGroup, spiGroup, i2cGroup = 997, 29, 995, 994, 993
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func healthy(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, owners: map[string][2]int{}, says: map[string]string{}, fails: map[string]error{}, server: serve(t), lineout: 48}
	root := t.TempDir()
	b.m = &doctor.Machine{Root: root, UID: 1000, Groups: []int{1000, conch}}
	b.files(map[string]string{
		"/proc/device-tree/model":                              "Raspberry Pi Zero 2 W Rev 1.0\x00",
		"/proc/device-tree/hat/product":                        "IQaudIO Pi-Codec Zero\x00",
		"/proc/device-tree/hat/vendor":                         "Raspberry Pi Ltd.\x00",
		"/proc/sys/kernel/osrelease":                           "6.6.31+rpt-rpi-v8\n",
		"/etc/os-release":                                      "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"/proc/cpuinfo":                                        "processor\t: 0\nmodel name\t: ARMv8 Processor rev 4 (v8l)\n",
		"/sys/devices/platform/soc/soc:firmware/get_throttled": "0\n",
		"/sys/class/thermal/thermal_zone0/temp":                "48312\n",
		"/proc/meminfo":                                        "MemTotal: 427400 kB\nMemAvailable: 231000 kB\nSwapTotal: 102396 kB\nSwapFree: 102396 kB\n",
		"/proc/vmstat":                                         "pgfault 12\noom_kill 0\n",
		"/sys/fs/ext4/mmcblk0p2/errors_count":                  "0\n",
		"/var/lib/conch/identity.key":                          "x",
		"/run/conch/control.sock":                              "",
		"/run/systemd/system/.keep":                            "",
		"/etc/conch/conch.toml":                                "",
		"/etc/passwd":                                          "root:x:0:0::/root:/bin/bash\nconch:x:997:997::/var/lib/conch:/usr/sbin/nologin\n",
		"/etc/group":                                           "root:x:0:\naudio:x:29:conch\ngpio:x:995:conch\nspi:x:994:conch\ni2c:x:993:conch\nconch:x:997:\n",
		"/dev/gpiochip0":                                       "",
		"/dev/snd/pcmC0D0p":                                    "",
		"/dev/snd/pcmC0D0c":                                    "",
		"/dev/spidev0.0":                                       "",
		"/dev/i2c-1":                                           "",
		"/boot/firmware/config.txt":                            "dtparam=audio=off\ndtoverlay=rpi-codeczero\n",
		"/proc/asound/cards":                                   " 0 [CodecZero      ]: RPi-simple - RPi Codec Zero\n                      RPi Codec Zero\n 1 [vc4hdmi        ]: vc4-hdmi - vc4-hdmi\n                      vc4-hdmi\n",
		"/proc/asound/card0/id":                                card() + "\n",
		"/proc/asound/card0/pcm0p/sub0/status":                 "state: RUNNING\nowner_pid   : 613\n",
		"/proc/asound/card0/pcm0p/sub0/hw_params":              "access: RW_INTERLEAVED\nformat: S16_LE\nchannels: 2\nrate: 48000 (48000/1)\nperiod_size: 240\nbuffer_size: 720\n",
		"/proc/asound/card0/pcm0c/sub0/status":                 "state: RUNNING\nowner_pid   : 614\n",
		"/proc/asound/card0/pcm0c/sub0/hw_params":              "access: RW_INTERLEAVED\nformat: S16_LE\nchannels: 2\nrate: 48000 (48000/1)\nperiod_size: 480\nbuffer_size: 1440\n",
		"/proc/asound/card1/id":                                "vc4hdmi\n",
		"/proc/asound/card1/pcm0p/sub0/status":                 "closed\n",
		"/proc/613/comm":                                       "conch\n",
		"/proc/613/task/613/stat":                              thread(0),
		"/proc/613/task/614/stat":                              thread(1),
		"/proc/614/comm":                                       "conch\n",
		"/proc/net/route":                                      "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nwlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\n",
		"/sys/class/net/lo/operstate":                          "unknown\n",
		"/sys/class/net/wlan0/operstate":                       "up\n",
		"/sys/class/net/wlan0/phy80211/name":                   "phy0\n",
		"/proc/net/wireless":                                   "Inter-| sta-|   Quality        |\n face | tus | link level noise |\n wlan0: 0000   64.  -46.  -256        0\n",
		"/etc/resolv.conf":                                     "nameserver 127.0.0.1\n",
		"/usr/bin/flite":                                       "",
		"/usr/bin/pocketsphinx_continuous":                     "",
		"/usr/bin/espeak-ng":                                   "",
	})
	b.write("/proc/asound/cards", strings.Replace(b.read("/proc/asound/cards"), "CodecZero ", card()+" ", 1))
	for path, group := range map[string]int{"/dev/gpiochip0": gpioGroup, "/dev/snd/pcmC0D0p": audioGroup, "/dev/snd/pcmC0D0c": audioGroup, "/dev/spidev0.0": spiGroup, "/dev/i2c-1": i2cGroup} {
		b.owners[path] = [2]int{0, group}
		b.mode(path, 0o660)
	}
	for _, path := range []string{"/var/lib/conch", "/run/conch"} {
		b.owners[path] = [2]int{conch, conch}
		b.mode(path, 0o750)
	}
	b.unit(nil)
	b.says["iw dev wlan0 get power_save"] = "Power save: off\n"
	b.says["getconf GNU_LIBC_VERSION"] = "glibc 2.36\n"
	b.says["dmesg"] = ""
	b.fails["vcgencmd"] = errors.New("exit status 1: VCHI initialization failed")
	b.pins = gpio.Inventory{Header: "pinctrl-bcm2835", Chips: []gpio.ChipRow{{Label: "pinctrl-bcm2835", Name: "gpiochip0", Lines: 54}}, Pins: free()}
	b.held(27, "conch@613")
	b.held(23, "conch@613")
	b.space = doctor.Space{Free: 20 << 30, Inodes: 1 << 20, Left: 1 << 19}
	b.run = doctor.Running{State: "IDLE", Turns: 12, Sound: "RPi Codec Zero", Voice: "realtime", Button: "GPIO27", Ready: true, Used: doctor.Used{Tokens: 1000},
		Metrics: map[string]float64{"conch_turns_total": 12, "conch_audio_underruns_total": 0, "conch_audio_callbacks_total": 1e6}}

	m := b.m
	m.Now = func() time.Time { return today }
	m.Synced = func() (bool, error) { return true, nil }
	m.Run = b.command
	m.Dial = b.server.dial
	m.Roots = b.server.roots
	m.GPIO = func(o gpio.InventoryOptions) gpio.Inventory {
		b.pins.Seen = gpio.Detect(o.Detect)
		return b.pins
	}
	m.Inputs = func() ([]gpio.InputDevice, int) { return []gpio.InputDevice{{Name: "AT keyboard"}}, 0 }
	m.Space = func(string) (doctor.Space, error) { return b.space, nil }
	m.RTPrio = func() (uint64, error) { return 50, nil }
	m.Levels = func(string) ([]mixer.Control, error) {
		return []mixer.Control{{Name: "Lineout Volume", Max: 63, Values: []int{b.lineout}}}, nil
	}
	m.Owner = func(info fs.FileInfo) (uid, gid int) {
		for path, o := range b.owners {
			if mine, err := os.Stat(filepath.Join(root, path)); err == nil && os.SameFile(mine, info) {
				return o[0], o[1]
			}
		}
		return 0, 0
	}
	b.s = &doctor.Subject{
		File: "/etc/conch/conch.toml", Unit: "conch.service", User: "conch",
		Board:  "codec-zero",
		Button: doctor.ButtonSetting{Source: "auto", Pin: 27},
		Light:  doctor.LightSetting{Driver: gpio.LightGPIO, Pins: []int{23}},
		Sound: doctor.SoundSetting{Backend: "auto", Playback: "alsa:CARD=" + card() + ",DEV=0", Capture: "alsa:CARD=" + card() + ",DEV=0",
			Fade: 3 * time.Millisecond, Promise: 30 * time.Millisecond, Priority: 50},
		Voice: doctor.VoiceSetting{Kind: kinds.Find("realtime"), Settings: voice.Settings{URL: "wss://api.openai.com/v1/realtime",
			Model: "gpt-realtime-2.1", Transcription: "gpt-transcribe", Key: keyed(key), CeilingTokens: 1_000_000,
			GiveKey: "sudo conch setup voice (the key alone: sudo conch key)"}},
		Web:      config.Web{Listen: config.DefaultWebListen},
		StateDir: "/var/lib/conch", Library: "/var/lib/conch/library", RuntimeDir: "/run/conch",
		Running:  func(context.Context) (doctor.Running, error) { return b.run, nil },
		Measured: doctor.Measured{When: today.Add(-24 * time.Hour), Card: "RPi Codec Zero", P99: 22.4, Worst: 22.9},
		Secrets:  []string{key},
	}
	return b
}

// keyed is a key that is configured.
func keyed(key string) func() string { return func() string { return key } }

// thread is /proc/PID/task/TID/stat of a thread with a scheduling policy.
func thread(policy int) string {
	return fmt.Sprintf("614 (conch audio (x)) S%s 50 %d 0 0 0\n", strings.Repeat(" 0", 36), policy)
}

// card is the id of the board's card in the table of boards.
func card() string {
	b, _ := gpio.FindBoard("codec-zero")
	return b.Cards[0]
}

// free are the pins of a header that nobody has.
func free() []gpio.PinRow {
	all := make([]gpio.PinRow, 28)
	for i := range all {
		all[i] = gpio.PinRow{Pin: i, Name: fmt.Sprintf("GPIO%d", i), Free: true}
	}
	return all
}

// held gives a pin to somebody.
func (b *box) held(pin int, by string) {
	b.pins.Pins[pin].Used, b.pins.Pins[pin].Consumer = true, by
}

// unit is what systemctl show says; changes go over a healthy service.
func (b *box) unit(changes map[string]string) {
	have := map[string]string{"LoadState": "loaded", "UnitFileState": "enabled", "ActiveState": "active", "SubState": "running", "Result": "success",
		"NRestarts": "0", "ExecMainCode": "0", "ExecMainStatus": "0", "User": "conch", "SupplementaryGroups": "", "LimitRTPRIO": "50",
		"WatchdogUSec": "10s", "MainPID": "613", "StatusText": "ready", "NeedDaemonReload": "no", "Type": "notify"}
	var out strings.Builder
	for k, v := range changes {
		have[k] = v
	}
	for k, v := range have {
		fmt.Fprintf(&out, "%s=%s\n", k, v)
	}
	b.says["systemctl show conch.service"] = out.String()
}

func (b *box) files(all map[string]string) {
	for path, text := range all {
		b.write(path, text)
	}
}

func (b *box) at(path string) string { return filepath.Join(b.m.Root, path) }

func (b *box) write(path, text string) {
	b.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.at(path)), 0o755), os.WriteFile(b.at(path), []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(path string) string {
	text, err := os.ReadFile(b.at(path))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *box) mode(path string, mode fs.FileMode) {
	b.t.Helper()
	if err := os.Chmod(b.at(path), mode); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) remove(paths ...string) {
	b.t.Helper()
	for _, p := range paths {
		if _, err := os.Stat(b.at(p)); err != nil {
			b.t.Fatalf("the healthy box has no %s to remove", p)
		}
		if err := os.RemoveAll(b.at(p)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// command answers by the longest beginning it knows.
func (b *box) command(_ context.Context, name string, args ...string) (string, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	best, text, err := "", "", error(nil)
	for known, says := range b.says {
		if strings.HasPrefix(line, known) && len(known) > len(best) {
			best, text, err = known, says, nil
		}
	}
	for known, fails := range b.fails {
		if strings.HasPrefix(line, known) && len(known) >= len(best) {
			best, text, err = known, "", fails
		}
	}
	if best == "" {
		b.t.Errorf("a command that no box answers: %s", line)
	}
	return text, err
}

func (b *box) findings() []doctor.Finding {
	return doctor.Run(b.t.Context(), b.m, b.s, doctor.Checks())
}

// server is a provider: it lists its models to whoever has the key.
type server struct {
	t       *testing.T
	http    *httptest.Server
	roots   *x509.CertPool
	address string
	lookup  func(host string) error // fails as a name server does; nil: every name is here
	answer  http.HandlerFunc        // instead of the list; nil: the list
	date    time.Time
	asked   []*http.Request
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, date: today}
	s.start(usual)
	return s
}

// start serves with a certificate, of a CA that clients know unless it says otherwise.
func (s *server) start(c certificate) {
	s.t.Helper()
	if s.http != nil {
		s.http.Close()
	}
	ca, pair := usualCA, usualPair
	if c != usual {
		ca, pair = c.make()
	}
	s.roots = x509.NewCertPool()
	s.roots.AddCert(ca)
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Clone(context.Background()))
		w.Header().Set("Date", s.date.Format(http.TimeFormat))
		switch {
		case s.answer != nil:
			s.answer(w, r)
		case r.URL.Path != "/v1/models":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","type":"invalid_request_error","code":"invalid_api_key"}}`, r.Header.Get("Authorization"))
		default:
			fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt-realtime-2.1"},{"id":"gpt-realtime-2.1-mini"},{"id":"gpt-realtime"},{"id":"gpt-transcribe"},{"id":"whisper-1"}]}`)
		}
	}))
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are what is tested
	s.http.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.http.StartTLS()
	s.address = s.http.Listener.Addr().String()
	s.t.Cleanup(s.http.Close)
}

// dial goes to this server, whatever the name.
func (s *server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	if s.lookup != nil {
		if err := s.lookup(host); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
	}
	return (&net.Dialer{}).DialContext(ctx, network, s.address)
}

// certificate is one to be made. Signed by a CA of its own.
type certificate struct {
	from, to time.Time
	host     string
}

// usual is the one that is right, made once.
var (
	usual              = certificate{from: today.AddDate(0, -1, 0), to: today.AddDate(0, 2, 0), host: "api.openai.com"}
	usualCA, usualPair = usual.make()
)

func (c certificate) make() (ca *x509.Certificate, pair tls.Certificate) {
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: c.from, NotAfter: c.to,
			BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature}
	}
	sign := func(child, parent *x509.Certificate, public any, private any) *x509.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, child, parent, public, private)
		if err != nil {
			panic(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			panic(err)
		}
		return made
	}
	caKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	leafKey, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	root := template("CA of a test", 1)
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign
	root.NotBefore, root.NotAfter = time.Unix(0, 0), today.AddDate(50, 0, 0)
	ca = sign(root, root, &caKey.PublicKey, caKey)
	leaf := template(c.host, 2)
	leaf.DNSNames, leaf.IPAddresses = []string{c.host}, []net.IP{net.IPv4(127, 0, 0, 1)}
	made := sign(leaf, ca, &leafKey.PublicKey, caKey)
	return ca, tls.Certificate{Certificate: [][]byte{made.Raw}, PrivateKey: leafKey}
}

// show is the findings as a person sees them.
func show(found []doctor.Finding) string {
	var out strings.Builder
	doctor.Print(&out, found, true)
	return out.String()
}

// worse are the findings that are not in order, without those named.
func worse(found []doctor.Finding, but ...string) (out []doctor.Finding) {
	for _, f := range found {
		if f.Level != doctor.OK && !slices.Contains(but, f.Check) {
			out = append(out, f)
		}
	}
	return out
}
