package device

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio/twin"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
)

// icecast is a real server of streams on loopback, and a source that feeds it a tone.
type icecast struct {
	t       *testing.T
	dir     string
	address string
	song    string
	cmd     *exec.Cmd
	silent  atomic.Bool // the source sends nothing
	fed     chan struct{}
}

// newIcecast has one ready to be started, on a port that was free just now.
func newIcecast(t *testing.T) *icecast {
	t.Helper()
	for _, program := range []string{"icecast2", "sox", "lame"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: no radio station", program)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	i := &icecast{t: t, dir: t.TempDir(), address: l.Addr().String()}
	wave := filepath.Join(i.dir, "song.wav")
	i.song = filepath.Join(i.dir, "song.mp3")
	for _, args := range [][]string{
		{"sox", "-n", "-r", "44100", "-b", "16", "-c", "2", wave, "synth", "120", "sine", fmt.Sprint(oldHz), "vol", "0.4"},
		{"lame", "--quiet", "-b", "128", wave, i.song},
	} {
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
	owner := ""
	if os.Getuid() == 0 { // it does not run as root
		owner = "<changeowner><user>nobody</user><group>nogroup</group></changeowner>"
	}
	_, port, _ := net.SplitHostPort(i.address)
	conf := fmt.Sprintf(`<icecast><limits><clients>9</clients><sources>2</sources><source-timeout>30</source-timeout><burst-size>16384</burst-size></limits>
<authentication><source-password>hushed</source-password><admin-user>admin</admin-user><admin-password>hushed</admin-password></authentication>
<hostname>localhost</hostname><listen-socket><port>%s</port><bind-address>127.0.0.1</bind-address></listen-socket>
<paths><basedir>%s</basedir><logdir>%s</logdir><webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths>
<logging><accesslog>-</accesslog><errorlog>-</errorlog><loglevel>2</loglevel></logging><security><chroot>0</chroot>%s</security></icecast>`,
		port, i.dir, i.dir, owner)
	if err := os.WriteFile(filepath.Join(i.dir, "icecast.xml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.stop)
	return i
}

func (i *icecast) start() {
	i.t.Helper()
	i.cmd = exec.Command("icecast2", "-c", filepath.Join(i.dir, "icecast.xml"))
	i.cmd.Stdout, i.cmd.Stderr = i.t.Output(), i.t.Output()
	if err := i.cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.fed = make(chan struct{})
	go func() {
		defer close(i.fed)
		i.feed()
	}()
	late := time.Now().Add(20 * time.Second)
	for {
		res, err := http.Get("http://" + i.address + "/one.mp3")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(late) {
			i.t.Fatalf("no station after 20 s: %v", err)
		}
		time.Sleep(100 * time.Millisecond) // a server of its own time
	}
}

func (i *icecast) stop() {
	if i.cmd == nil {
		return
	}
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait()
	i.cmd = nil
	<-i.fed
}

// feed is the source: a little faster than it sounds, until the server has gone.
func (i *icecast) feed() {
	var c net.Conn
	for n := 0; c == nil && n < 100; n++ {
		var err error
		if c, err = net.Dial("tcp", i.address); err != nil {
			time.Sleep(50 * time.Millisecond) // a server of its own time
		}
	}
	if c == nil {
		return
	}
	defer c.Close()
	f, err := os.Open(i.song)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprint(c, "SOURCE /one.mp3 HTTP/1.0\r\nAuthorization: Basic c291cmNlOmh1c2hlZA==\r\nContent-Type: audio/mpeg\r\nice-name: One\r\n\r\n")
	piece := make([]byte, 1700)
	for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
		if i.silent.Load() {
			continue
		}
		if _, err := io.ReadFull(f, piece); err != nil {
			_, _ = f.Seek(0, io.SeekStart)
		}
		if _, err := c.Write(piece); err != nil {
			return
		}
	}
}

// A station is played by voice, stalls, ends and comes back by itself, and is silent where it is told to.
func TestTheRadioIsPlayedByVoice(t *testing.T) {
	t.Parallel()
	station := newIcecast(t)
	station.start()
	b := newBox(t, boxOptions{mind: rehearsal.Rules{}, clock: twin.WallClock(), config: func(c *config.Config) {
		c.Radio.Stations = []config.Station{{Name: "One", URL: "http://" + station.address + "/one.mp3"}, {Name: "Two", URL: "http://" + station.address + "/two.mp3"}}
	}})
	hears := func(what string, want bool) {
		t.Helper()
		b.until(what, func() bool {
			at := b.now()
			return b.coordinator.State() == turn.Idle && (pitch(b.card.Between(at-100*time.Millisecond, at-10*time.Millisecond), oldHz) > 1000) == want
		})
	}
	says := func(words string) string {
		n := len(b.turnsEnded())
		b.question(words)
		b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
		return b.turnsEnded()[n].Said
	}
	says("play the station one")
	hears("playing", true)
	says("what is two plus two")
	hears("playing again", true)
	station.silent.Store(true)
	hears("silent while the station stalls", false)
	station.silent.Store(false)
	hears("playing behind the stall", true)
	station.stop()
	hears("silent while there is no station", false)
	station.start()
	hears("playing once more", true)
	says("stop the radio")
	hears("silent", false)
	if said := says("play the station two"); !strings.Contains(said, "Two cannot be played: its server does not know that stream (404)") {
		t.Errorf("of a station that is not there: %q", said)
	}
	b.quiet()
}
