package doctor

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/state"
	"conch/mqtt/broker"
	"conch/mqtt/mqtttest"
)

// diagnose examines a configuration on the machine of the test, with a home of its own and no sound.
func diagnose(t *testing.T, toml string, flags ...string) Diagnosis {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "conch.toml")
	text := fmt.Sprintf("%s\n[state]\ndir = %q\nruntime = %q\n[audio]\nbackend = \"null\"\n", toml, filepath.Join(dir, "state"), filepath.Join(dir, "run"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{LoadOptions: config.LoadOptions{File: file, Environ: append([]string{"HOME=" + dir}, flags...)},
		Tools: func(*config.Config) []turn.ToolSpec {
			return []turn.ToolSpec{{Name: "get_time", Description: "The time. It is asked for."}}
		}}
	return Examine(t.Context(), o)
}

// says fails unless a finding has the parts.
func says(t *testing.T, d Diagnosis, check string, level Level, text, cause, do string) {
	t.Helper()
	var out strings.Builder
	for _, f := range d.Findings {
		if f.Check == check && f.Level == level && strings.Contains(f.Text, text) && strings.Contains(f.Cause, cause) && strings.Contains(f.Do, do) {
			return
		}
	}
	Print(&out, d.Findings, true)
	t.Errorf("want %s %s %q, cause %q, do %q; got\n%s", level, check, text, cause, do, out.String())
}

// A server of one's own is trusted by the authority that voice.ca_file names, and by nobody without.
func TestDoctorTrustsTheAuthorityOfOnesOwn(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	voice := fmt.Sprintf("[voice]\nkind = \"realtime\"\nurl = \"wss%s/v1/realtime\"\n", strings.TrimPrefix(server.URL, "https"))
	says(t, diagnose(t, voice), "tls", Bad, "not signed by anybody known", "self-signed", "voice.ca_file")
	says(t, diagnose(t, voice+fmt.Sprintf("ca_file = %q\n", ca)), "server", OK, "answers in", "", "")
}

// What a real broker refuses is told apart, and the password is in no sentence.
func TestDoctorAtTheBroker(t *testing.T) {
	t.Parallel()
	const password = "the-password-of-the-house"
	broker := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"kitchen": password}})
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	room := func(name, user, password string) string {
		out := fmt.Sprintf("[room]\nbroker = %q\nname = %q\n", broker.URL(), name)
		if user != "" {
			out += fmt.Sprintf("user = %q\npassword_file = %q\n", user, file(password))
		}
		return out
	}
	for _, x := range []struct {
		name, toml      string
		level           Level
		text, cause, do string
	}{
		{"let in", room("kitchen", "kitchen", password), OK, "lets this device in", "", ""},
		{"nobody", room("kitchen", "", ""), Bad, "does not let this device into the room", "only those it knows", "set room.user and room.password_file"},
		{"wrong password", room("kitchen", "kitchen", "another-password-of-nobody"), Bad, "does not", "the user or the password is wrong", "check room.user and room.password_file"},
		{"not there", "[room]\nbroker = \"mqtt://127.0.0.1:1\"\n", Bad, "nothing listens there", "it is off", "check room.broker"},
		{"not TLS", strings.Replace(room("kitchen", "", ""), "mqtt://", "mqtts://", 1), Bad, "does not answer like an MQTT broker", "something else listens there", "scheme and port"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			d := diagnose(t, x.toml)
			says(t, d, "broker", x.level, x.text, x.cause, x.do)
			for _, f := range d.Findings {
				if text := f.Text + f.Cause + f.Do; strings.Contains(text, password) || strings.Contains(text, "another-password") {
					t.Errorf("the password is in: %+v", f)
				}
			}
		})
	}
}

// The room's other checks: cards, members, identity, the server that refines votes, each with cause and remedy.
func TestDoctorInTheRoom(t *testing.T) {
	t.Parallel()
	b, err := broker.New(broker.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "dora.toml"), []byte("name = \"Dora\"\ntalkativeness = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := diagnose(t, fmt.Sprintf("[room]\nbroker = \"embedded\"\ncards = %q\nlisten = %q\nvotes = \"auto\"\nvote_url = \"http://127.0.0.1:1/v1\"\nvote_model = \"m\"\nvote_key_file = \"/nonexistent\"\n", own, b.Addr().String()))
	says(t, d, "cards", Bad, "dora.toml", "not allowed", "mend the card")
	says(t, d, "identity", Note, "no id yet", "", "conch room id")
	says(t, d, "members", Warn, "names no other device", "hears only", "conch room id")
	says(t, d, "broker", Bad, "room.listen", "cannot listen", "another broker has the port")
	says(t, d, "votes", Bad, "room.vote_key_file", "missing", "mode 0600")
	troubles(t, d)
}

// TestDoctorOfVotes: who is asked about them, and what that takes.
func TestDoctorOfVotes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if f := checkVotes(t.Context(), new(config.Default())); len(f) > 0 {
		t.Errorf("nobody has asked for a model: %+v", f)
	}
	for _, row := range []struct {
		votes, server string
		level         Level
		text          string
	}{
		{"rules", "http://127.0.0.1:1/v1", Note, "no model is asked"},
		{"auto", "", Warn, "the rules alone vote"},
		{"model", "http://127.0.0.1:1/v1", Warn, "127.0.0.1:1"},
		{"auto", "http://" + l.Addr().String() + "/v1", OK, "small at " + l.Addr().String() + " votes within 700 ms, 3 calls a message at most"},
	} {
		cfg := config.Default()
		cfg.Room.Votes, cfg.Room.VoteURL, cfg.Room.VoteModel, cfg.Room.Calls = row.votes, row.server, "small", 3
		d := Diagnosis{Findings: checkVotes(t.Context(), &cfg)}
		says(t, d, "votes", row.level, row.text, "", "")
		troubles(t, d)
	}
	cfg := config.Default()
	cfg.Room.Votes, cfg.Voice.Kind, cfg.Voice.URL = "auto", "realtime", "wss://voices.example/v1/realtime"
	says(t, Diagnosis{Findings: checkVotes(t.Context(), &cfg)}, "votes", Warn, "the rules alone vote", "name a model of voices.example", "room.vote_url")
}

// troubles have a cause and a remedy each.
func troubles(t *testing.T, d Diagnosis) {
	t.Helper()
	for _, f := range d.Findings {
		if (f.Level == Warn || f.Level == Bad) && (f.Cause == "" || f.Do == "") {
			t.Errorf("no cause or no remedy: %+v", f)
		}
	}
}

// A refused configuration is a finding, and everything else is examined all the same.
func TestDoctorWithARefusedConfiguration(t *testing.T) {
	d := diagnose(t, "[device]\nnam = \"kitchen\"\n[button]\nsource = \"pedal\"\n")
	if d.Refused == nil {
		t.Fatal("taken")
	}
	says(t, d, "config", Bad, "device.nam: unknown key (did you mean device.name?)", "starts all the same: what was refused has its default", "conch check")
	says(t, d, "config", Bad, `button.source = "pedal"`, "starts all the same: what was refused has its default", "conch check")
	if len(d.Findings) < 10 {
		t.Errorf("only %d findings", len(d.Findings))
	}
	troubles(t, d)
}

// Pins that do not go together are findings of the button and the light.
func TestDoctorOfPinsThatDoNotFit(t *testing.T) {
	t.Parallel()
	d := diagnose(t, "[button]\nsource = \"gpio\"\npin = 18\n[light]\ndriver = \"gpio\"\npins = \"20\"\n")
	says(t, d, "button", Bad, "I2S bit clock", "the board's own", "conch gpio learn")
	says(t, d, "light", Bad, "I2S input", "the board's own", "conch gpio list")
}

// What was measured on a device that makes no sound is no measurement.
func TestDoctorOfANullCard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	report := state.Silence{When: time.Now(), Card: "this machine's card", Rows: []state.SilenceRow{{State: "speaking", N: 1, P99: 12, Max: 12}}}
	for backend, want := range map[string]string{audio.BackendNull: "never measured", "alsa": "worst 12.0 ms"} {
		report.Granted.Backend = backend
		if err := s.Save(state.SilenceFile, report); err != nil {
			t.Fatal(err)
		}
		d := Examine(t.Context(), Options{LoadOptions: config.LoadOptions{Environ: []string{"HOME=" + dir}, Flags: map[string]string{"state.dir": dir, "state.runtime": dir, "audio.backend": "null"}}})
		found := false
		for _, f := range d.Findings {
			found = found || f.Check == "silence" && strings.Contains(f.Text, want)
		}
		if !found {
			t.Errorf("%s: doctor does not say %q", backend, want)
		}
	}
}

// A broken file of the state directory is told of and left where it is: doctor changes nothing.
func TestDoctorLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, state.SilenceFile+".json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{LoadOptions: config.LoadOptions{Environ: []string{"HOME=" + dir}, Flags: map[string]string{"state.dir": dir, "state.runtime": dir, "audio.backend": "null"}}}
	says(t, Examine(t.Context(), o), "silence", Note, "broken", "", "")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != state.SilenceFile+".json" {
		t.Errorf("the directory holds %v (%v)", left, err)
	}
}

// The service is meant where it is installed and nobody says otherwise; then it is examined with what its unit gives it.
func TestDoctorExaminesTheService(t *testing.T) {
	root := t.TempDir()
	m := Real()
	m.Root = root
	for _, dir := range []string{"usr/lib/systemd/system", "etc/conch/credentials"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + root, "OPENAI_API_KEY=of-the-caller"}
	if isService(config.LoadOptions{Environ: environ}, m) {
		t.Error("a service that is not installed is examined")
	}
	for name, text := range map[string]string{"usr/lib/systemd/system/conch.service": "", "etc/conch/credentials/openai_api_key": "of-the-service\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, o := range map[string]config.LoadOptions{
		"an environment": {Environ: append(slices.Clone(environ), "CONCH_AUDIO_VOLUME=3")},
		"a flag":         {Environ: environ, Flags: map[string]string{"audio.volume": "3"}},
		"a file":         {Environ: environ, File: filepath.Join(root, "own.toml")},
	} {
		if isService(o, m) {
			t.Errorf("%s of one's own is not heeded", what)
		}
	}
	s := subject(Options{LoadOptions: config.LoadOptions{Environ: environ}, Machine: m}, m)
	if s.Unit != serviceUnit || s.User != serviceUser {
		t.Errorf("unit %q of user %q", s.Unit, s.User)
	}
	if s.Config.State.Dir != "/var/lib/conch" || s.Config.State.Runtime != "/run/conch" {
		t.Errorf("state in %s, socket in %s", s.Config.State.Dir, s.Config.State.Runtime)
	}
	if got := s.Config.Voice.Key.Reveal(); got != "of-the-service" {
		t.Errorf("the key is %q", got)
	}
}

// shortDir is a directory whose path is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "conch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// What a report leaves out also stands in the settings of the radio and of Home Assistant.
func TestHouseNamesAreThoseOfAllSettings(t *testing.T) {
	var cfg config.Config
	cfg.HomeAssistant.User, cfg.HomeAssistant.Broker = "greta", "mqtt://hass.lan:1883"
	cfg.Radio.Stations = []config.Station{{Name: "one", URL: "http://music.lan/one"}}
	all := houseNames(cfg)
	for _, name := range []string{"greta", "hass.lan", "music.lan"} {
		if !slices.Contains(all, name) {
			t.Errorf("%s is not left out: %q", name, all)
		}
	}
}
