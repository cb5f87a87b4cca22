package device

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions"
	"conch/companions/round"
	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kinds"
	"conch/companions/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/buttons"
	"conch/device/cards"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/knob"
	"conch/device/lights"
	"conch/device/provider"
	"conch/device/room"
	"conch/device/service"
	"conch/device/sound"
	"conch/device/terminal"
	"conch/device/tone"
	"conch/device/usage"
	"conch/device/wait"
	"conch/gpio"
	"conch/gpio/light"
	"conch/mqtt/discovery"
)

// An effect is what comes of the values of a key, seen as far out as is cheap: on the tape of a card, on the wire of a server, in the
// hands of the package that does the work. A value is written into a file as a person would, and read by the loader.
//
// Whoever adds a key adds a row: values with what is to be seen of each, and how it is seen. Of a number the lowest and the highest
// value have to be there, of a choice all, of a switch both, and not all may look alike. "*" is anything: what is seen depends on the
// machine.
type effect struct {
	key  string
	with string // more of the file, in front
	see  func(*seam) string
	want map[string]string // value, as TOML has it, to a part of what is seen; "" is nothing at all
}

// seam is a configuration and what a device makes of it.
type seam struct {
	*testing.T
	cfg  *config.Config
	file string
	log  bytes.Buffer
}

// new is the device of it, which does not run.
func (s *seam) new(o Options) *Device {
	s.Helper()
	o.Log = slog.New(slog.NewTextHandler(&s.log, nil))
	if o.Card == nil {
		o.Card = twin.NewCard(twin.NewClock())
	}
	if o.Voice == nil {
		o.Voice = tone.New()
	}
	d, err := New(*s.cfg, o)
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// run starts parts of it; stop ends them and waits.
func (s *seam) run(parts ...func(context.Context) error) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, len(parts))
	for _, part := range parts {
		go func() { done <- part(ctx) }() // awaited by stop
	}
	return ctx, func() {
		cancel()
		for range parts {
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				s.Error(err)
			}
		}
	}
}

func runs(actors []actor) (parts []func(context.Context) error) {
	for _, a := range actors {
		parts = append(parts, a.run)
	}
	return parts
}

func printed(see func(*seam) any) func(*seam) string {
	return func(s *seam) string { return fmt.Sprintf("%+v", see(s)) }
}

// buttons are what the console offers where nobody sits at it.
func buttonsOf(s *seam) []gpio.Events {
	null, err := os.Open(os.DevNull)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = null.Close() })
	all, err := buttons.Choose(*s.cfg, null, terminal.Options{Clock: func() time.Duration { return 0 }}, nil)
	if err != nil {
		s.Fatal(err)
	}
	return all
}

func buttonNames(s *seam) string {
	var names []string
	for _, b := range buttonsOf(s) {
		names = append(names, b.String())
	}
	return strings.Join(names, ", ")
}

func turned(s *seam) string { return knob.New(*s.cfg, nil).String() }

func pressOptions(s *seam) any {
	o, err := buttons.Options(s.cfg, nil)
	if err != nil {
		s.Fatal(err)
	}
	return o
}

func lightOf(s *seam) any {
	c, err := lights.Config(s.cfg)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// brightest is what the LEDs get.
func brightest(s *seam) string {
	strip := newStrip()
	lamp := light.New(light.Options{Open: strip.shows, Settings: lights.Settings(s.cfg)})
	lamp.Tell(func(f *light.Facts) { f.Muted = true })
	ctx, stop := s.run(func(ctx context.Context) error { return lamp.Run(ctx) })
	_ = wait.Until(ctx, func() bool { return strip.count() > 0 })
	strip.mu.Lock()
	last := strip.frames[len(strip.frames)-1]
	strip.mu.Unlock()
	stop()
	return fmt.Sprintf("brightness %d.", last.Brightness)
}

// hoursAround are quiet hours that it is now, or is not.
func hoursAround(now bool) string {
	at := time.Now()
	if !now {
		at = at.Add(12 * time.Hour)
	}
	return fmt.Sprintf("%q", at.Add(-2*time.Hour).Format("15:04")+"-"+at.Add(2*time.Hour).Format("15:04"))
}

// asked is a card that is asked once, and refuses.
type asked struct{ of chan audio.StreamConfig }

func (a asked) OpenPlayback(c audio.StreamConfig, _ func([]int16)) (audio.Stream, error) {
	return a.open(c)
}

func (a asked) OpenCapture(c audio.StreamConfig, _ func([]int16)) (audio.Stream, error) {
	return a.open(c)
}

func (asked) Better(audio.Granted) bool { return false }
func (asked) Spent() bool               { return false }

func (a asked) open(c audio.StreamConfig) (audio.Stream, error) {
	select {
	case a.of <- c:
	default:
	}
	return nil, os.ErrNotExist
}

// opened is how a half of the card is opened.
func opened(half func(*Device) func(context.Context) error) func(*seam) string {
	return func(s *seam) string {
		card := asked{make(chan audio.StreamConfig, 1)}
		d := s.new(Options{Card: card})
		_, stop := s.run(func(ctx context.Context) error { return half(d)(ctx) })
		c := <-card.of
		stop()
		return fmt.Sprintf("%+v", c)
	}
}

var (
	playback = opened(func(d *Device) func(context.Context) error { return d.sound.RunPlayback })
	capture  = opened(func(d *Device) func(context.Context) error { return d.sound.RunCapture })
)

// render is so much of what the loudspeaker is given.
func render(d *Device, long time.Duration) []int16 {
	out := make([]int16, audio.CardFrames(long))
	for i := 0; i < len(out); i += 480 {
		d.speaker.Render(out[i:min(len(out), i+480)])
	}
	return out
}

// loudness is the peak of speech, in percent of what the voice gave.
func loudness(s *seam) string {
	d := s.new(Options{})
	d.hours.look(time.Now(), d.memory, d.speaker)
	render(d, 150*time.Millisecond) // it glides
	d.speaker.Open(audio.SourceSpeech, d.speaker.Generation()).Write(s.Context(), tone.Second()[:4800])
	return peakOf(render(d, 150*time.Millisecond))
}

func peakOf(out []int16) string {
	switch p := float64(audio.Peak(out)) / 11000; {
	case p == 0:
		return "silent"
	case p < 0.9:
		return "soft"
	default:
		return "full"
	}
}

// cued is the peak of a cue.
func cued(s *seam, c turn.Cue) string {
	d := s.new(Options{Cues: func(turn.Cue) []int16 { return tone.Second()[:4800] }})
	d.speakerAdapter().Cue(c, d.speaker.Generation())
	return peakOf(render(d, 150*time.Millisecond))
}

// faded is how long a dropped sound goes on; the end of the fade is below the least step of a sample.
func faded(s *seam) string {
	d := s.new(Options{})
	d.speaker.Open(audio.SourceSpeech, d.speaker.Generation()).Write(s.Context(), tone.Second())
	render(d, 100*time.Millisecond)
	d.speaker.Drop()
	rest, last := render(d, 50*time.Millisecond), 0
	for i, x := range rest {
		if x != 0 {
			last = i + 1
		}
	}
	return fmt.Sprintf("%.0f ms", math.Round(float64(last)/48))
}

// counted is a voice that counts what it is given to hear.
type counted struct {
	*tone.Voice
	samples int
}

func (c *counted) Append(_ turn.ID, pcm []int16) { c.samples += len(pcm) }

// heardBefore is how much from before the press comes to the voice.
func heardBefore(s *seam) string {
	clock := twin.NewClock()
	card := twin.NewCard(clock)
	voice := &counted{Voice: tone.New()}
	d := s.new(Options{Card: card, Voice: voice, Now: clock.Now})
	stream, err := d.sound.Mic.OpenOn(card, sound.Capture(config.Audio{}))
	if err != nil {
		s.Fatal(err)
	}
	defer stream.Close()
	listen := func(long time.Duration) {
		for range long / (10 * time.Millisecond) {
			card.Advance(10 * time.Millisecond)
			d.sound.Mic.Poll()
		}
	}
	listen(3 * time.Second)
	d.sound.Mic.Open("t-1", clock.Now())
	listen(200 * time.Millisecond)
	return fmt.Sprintf("%.1f s", math.Round(10*(audio.CardDuration(2*voice.samples)-200*time.Millisecond).Seconds())/10)
}

// A machine plays the turn machine of a configuration, fact by fact; time is that of the facts.
type machine struct {
	m      turn.Machine
	now    time.Duration
	orders []turn.Effect
}

func (m *machine) feed(events ...turn.Event) {
	for _, ev := range events {
		var out []turn.Effect
		m.m, out = turn.Step(m.m, ev)
		m.orders = append(m.orders, out...)
	}
}

// pressed is a machine whose button is down.
func pressed(s *seam) *machine {
	m := &machine{m: turn.New(s.new(Options{}).turnConfig()), now: time.Hour}
	m.feed(turn.SessionReady{At: m.now}, turn.Pressed{At: m.now, Turn: "t-1"}, turn.CaptureStarted{At: m.now, Turn: "t-1"})
	return m
}

// committed is one that waits for the answer; asks is one that was typed.
func committed(s *seam) *machine {
	m := &machine{m: turn.New(s.new(Options{}).turnConfig()), now: time.Hour}
	m.feed(turn.SessionReady{At: m.now}, turn.Asked{At: m.now, Turn: "t-1", Text: "hello"})
	return m
}

// wakes lets time pass until something is so, and says how long that took.
func (m *machine) wakes(so func() bool) string {
	begun := m.now
	for range 200 {
		at, ok := m.m.Wake()
		if !ok || so() {
			break
		}
		m.now = max(at, m.now)
		m.feed(turn.DeadlinePassed{At: m.now})
	}
	if !so() {
		return "never"
	}
	return (m.now - begun).String()
}

// over says that the turn is given up.
func (m *machine) over() bool { return m.m.State() == turn.Idle }

// toolTime is how long a tool is given.
type deadlines struct {
	tone.Tools
	of chan time.Duration
}

func (t deadlines) Call(ctx context.Context, _ turn.CallTool) coordinator.ToolResult {
	at, _ := ctx.Deadline()
	select {
	case t.of <- time.Until(at):
	default:
	}
	return coordinator.ToolResult{}
}

func toolTime(s *seam) string {
	card := twin.NewCard(twin.WallClock())
	voice := tone.New()
	tools := deadlines{tone.Tools{Voice: voice}, make(chan time.Duration, 1)}
	d := s.new(Options{Card: card, Voice: voice, Tools: tools, Now: card.Clock().Now})
	ctx, stop := s.run(func(ctx context.Context) error { return d.Run(ctx) })
	voice.Play("tool")
	_ = wait.Until(ctx, d.coordinator.Online)
	d.coordinator.Ask("use it")
	got := <-tools.of
	stop()
	return fmt.Sprintf("%.0f s", math.Ceil(got.Seconds()))
}

// greeting is what a server of the voice is told first: the request, and the session.
func greeting(s *seam) string {
	told := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"type":"session.created","event_id":"e","session":{"id":"s"}}`))
		_, data, _ := c.Read(ctx)
		select {
		case told <- fmt.Sprintf("%s %s %s", r.URL, r.Header.Get("Authorization"), data):
		default:
		}
	}))
	defer server.Close()
	d := s.new(Options{})
	address := "ws" + strings.TrimPrefix(server.URL, "http") + "/v1/realtime"
	if own := s.cfg.Voice.URL; own != config.Default().Voice.URL { // where it would go
		return provider.Host(own)
	}
	client := voiceAt(s, d, address)
	_, stop := s.run(func(ctx context.Context) error { return client.Run(ctx, deaf{}) })
	defer stop()
	select {
	case t := <-told:
		return t
	case <-time.After(patience):
		return "nothing"
	}
}

// voiceAt is the realtime voice of the first companion, which goes to that address.
func voiceAt(s *seam, d *Device, address string) voice.Session {
	s.Helper()
	kind := kinds.Find("realtime")
	settings, err := provider.Settings(&d.cfg, kind)
	if err != nil {
		s.Fatal(err)
	}
	settings.URL = address
	made, err := kind.New(settings, []voice.Companion{d.companionVoice(kind, 0, d.room.Cards[0])})
	if err != nil {
		s.Fatal(err)
	}
	return made.Sessions[0]
}

// deaf hears nothing.
type deaf struct{}

func (deaf) Post(turn.Event)                             {}
func (deaf) Audio(context.Context, turn.ID, []int16) int { return 0 }
func (deaf) Now() time.Duration                          { return 0 }

// trusts says whether the voice comes to a server whose certificate is nobody's that the system knows.
func trusts(s *seam) string {
	come := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case come <- struct{}{}:
		default:
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	d := s.new(Options{})
	client := voiceAt(s, d, "wss"+strings.TrimPrefix(server.URL, "https")+"/")
	lost := posted{make(chan turn.Event, 16)}
	_, stop := s.run(func(ctx context.Context) error { return client.Run(ctx, lost) })
	defer stop()
	select {
	case <-come:
		return "comes"
	case <-lost.events:
		return "refused"
	case <-time.After(patience):
		return "nothing"
	}
}

// posted hears what is posted, as far as there is room.
type posted struct{ events chan turn.Event }

func (p posted) Post(ev turn.Event) {
	select {
	case p.events <- ev:
	default:
	}
}
func (posted) Audio(context.Context, turn.ID, []int16) int { return 0 }
func (posted) Now() time.Duration                          { return 0 }

// used is what a ceiling makes of a day on which much was used.
func used(s *seam) string {
	dir := s.TempDir()
	s.cfg.State.Dir = dir
	data, _ := json.Marshal(map[string]any{"day": time.Now().Format(time.DateOnly), "today": map[string]any{"text_in": 2_000_000_000, "cost": 200_000}})
	if err := os.WriteFile(filepath.Join(dir, usage.File+".json"), data, 0o600); err != nil {
		s.Fatal(err)
	}
	d := s.new(Options{})
	return voiceAt(s, d, "ws://localhost/").Usage().Refusing
}

// cost is what an answer of the rehearsal voice costs.
func cost(s *seam) string {
	v := s.cfg.Voice
	b := newBox(s.T, boxOptions{config: func(c *config.Config) {
		c.Voice.PriceIn, c.Voice.PriceOut, c.Voice.Prices = v.PriceIn, v.PriceOut, v.Prices
	}})
	b.answered(b.ask("short"))
	if u, err := b.usage.Report(); err != nil || u.Cost > 0 {
		return "dear"
	}
	return "free"
}

// cachedCost is what tokens cost that a server has cached; the rehearsal has none.
func cachedCost(s *seam) string {
	p := configured(s)
	return fmt.Sprintf("text %.0f, sound %.0f", p.Of(voice.Counts{TextIn: 10, TextCached: 10}), p.Of(voice.Counts{AudioIn: 10, AudioCached: 10}))
}

// heardCost is what tokens of sound cost that were sent; the rehearsal counts none.
func heardCost(s *seam) string {
	p := configured(s)
	return fmt.Sprintf("%.0f", p.Of(voice.Counts{AudioIn: 10}))
}

func configured(s *seam) *voice.Prices {
	settings, err := provider.Settings(s.cfg, kinds.Find("realtime"))
	if err != nil {
		s.Fatal(err)
	}
	p := settings.PricesAt("ws://box.lan/", "its-model")
	return &p
}

// talkKept says what becomes of a talk.
func talkKept(s *seam) string {
	dir := s.TempDir()
	s.cfg.State.Dir = dir
	d := s.new(Options{})
	kind := kinds.Find("realtime")
	path := filepath.Join(dir, room.TalkName(kind, "ada")+".json")
	if err := os.WriteFile(path, []byte(`{"lines":[{"text":"hello"}]}`), 0o600); err != nil {
		s.Fatal(err)
	}
	var conf voice.Companion
	d.room.Remembers(&conf, kind, "ada")
	_, err := os.Stat(path)
	return fmt.Sprintf("on disk %v, recalled %d, kept %v", err == nil, len(conf.Recall), conf.Keep != nil)
}

// connects is what the room's broker is told first: how the device comes, and its CONNECT; else why it is not.
func connects(s *seam, secure bool) string {
	url, how := greeted(s, secure)
	s.cfg.Room.Broker = url
	d := s.new(Options{Anyway: true})
	return first(s, d, how, condition.RoomCut)
}

// housed is what Home Assistant's broker is told first, likewise. A minute's silence is none: it is not even tried.
func housed(s *seam, secure bool) string {
	url, how := greeted(s, secure)
	if s.cfg.HomeAssistant.Broker == "" {
		s.cfg.HomeAssistant.Broker = url
	}
	d := s.new(Options{Anyway: true})
	d.actors = nil
	d.wireHomeAssistant()
	return first(s, d, how, condition.HomeUnseen)
}

// first is what comes first when parts of a device run: how somebody was greeted, or a condition.
func first(s *seam, d *Device, how <-chan string, of condition.Code) string {
	ctx, stop := s.run(runs(d.actors)...)
	defer stop()
	trouble := ""
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = wait.Until(ctx, func() bool {
		for _, c := range d.conds.List() {
			if c.Code == of {
				trouble = c.Text
			}
		}
		return len(how) > 0 || trouble != ""
	})
	select {
	case text := <-how:
		return text
	default:
		return trouble
	}
}

// greeted is the address of a broker that says nothing, and how somebody came to it.
func greeted(s *seam, secure bool) (string, <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	how := make(chan string, 1)
	listener := l
	if secure {
		web := httptest.NewUnstartedServer(nil)
		web.StartTLS()
		web.Close()
		listener = tls.NewListener(l, &tls.Config{Certificates: web.TLS.Certificates, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12})
	}
	ended := make(chan struct{})
	go func() { // ends with the listener
		defer close(ended)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			buf := make([]byte, 4096)
			n, err := c.Read(buf)
			text := string(buf[:n])
			if t, ok := c.(*tls.Conn); ok {
				name := "nobody"
				for _, p := range t.ConnectionState().PeerCertificates {
					name = p.Subject.CommonName
				}
				text = fmt.Sprintf("%s, trusted %v %s", name, err == nil, text)
			}
			select {
			case how <- text:
			default:
			}
			_ = c.Close()
		}
	}()
	s.Cleanup(func() { _ = l.Close(); <-ended })
	scheme := "mqtt://"
	if secure {
		scheme = "mqtts://"
	}
	return scheme + l.Addr().String(), how
}

func plain(s *seam) string  { return connects(s, false) }
func secure(s *seam) string { return connects(s, true) }

// wallet is a directory of certificates: ca.pem of the brokers above, one.pem and two.pem with the key own.key, and another key.
func wallet(t *testing.T) string {
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewTLSServer(nil)
	web.Close()
	write("ca.pem", "CERTIFICATE", web.Certificate().Raw, nil)
	var own *ecdsa.PrivateKey
	for _, name := range []string{"another.key", "own.key"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		write(name, "PRIVATE KEY", der, err)
		own = key
	}
	for _, name := range []string{"one", "two"} {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, own.Public(), own)
		write(name+".pem", "CERTIFICATE", der, err)
	}
	return dir
}

// kept is how many of many messages a room remembers.
func kept(s *seam) string {
	d := s.new(Options{})
	ctx, stop := s.run(func(ctx context.Context) error { return d.room.Room.Run(ctx) })
	for i := range 60 {
		d.room.Room.Said(fmt.Sprint("t-", i), fmt.Sprint("word number ", i), nil)
	}
	_ = wait.Until(ctx, func() bool {
		r := d.room.Room.Recent()
		return len(r) > 0 && strings.HasSuffix(r[len(r)-1].Text, " 59")
	})
	n := len(d.room.Room.Recent())
	stop()
	return fmt.Sprint(n, " of 60")
}

// refines is the chat server that refines votes, as it is asked.
func refines(s *seam) string {
	told := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case told <- fmt.Sprintf("%s key %q %s", r.URL, r.Header.Get("Authorization"), body):
		default:
		}
	}))
	defer server.Close()
	if s.cfg.Room.Votes == "rules" {
		if r := s.new(Options{Room: RoomOptions{Cards: companions.DefaultCards()[:2]}}).room.Refiner; r != nil {
			s.Error("votes are refined by nobody")
		}
		return "rules alone"
	}
	if s.cfg.Room.VoteURL == "" {
		address, model, _ := provider.Votes(s.cfg)
		return address + " " + model
	}
	s.cfg.Room.VoteBudget = patience
	s.cfg.Room.VoteURL = server.URL + strings.TrimPrefix(s.cfg.Room.VoteURL, "http://votes")
	d := s.new(Options{Room: RoomOptions{Cards: companions.DefaultCards()[:2]}})
	r := d.room.Refiner
	defer r.Close()
	message := round.Message{ID: "m", From: round.Human("x"), Text: "hello"}
	r.Refine(s.Context(), round.Refine{Message: message, Votes: []round.Vote{{MessageID: "m", From: "ada", Importance: 5}}, Until: d.now() + patience}, d.now()+patience, func([]round.Vote) {})
	select {
	case t := <-told:
		return t
	case <-time.After(patience):
		return "nothing"
	}
}

func manners(s *seam) any { return room.RoundConfig(s.cfg) }

// secretIn is the name of a file that holds text.
func secretIn(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// effects is the table.
func effects(t *testing.T) []effect {
	certs := wallet(t)
	key1, key2 := secretIn(t, "sk-one"), secretIn(t, "sk-two")
	ownSound := t.TempDir()
	if err := os.WriteFile(filepath.Join(ownSound, "the_sea.wav"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ownWords := t.TempDir()
	file := "language = \"en\"\nscript = \"latin\"\n[cue.goodbye]\nwords = [\"toodle pip\"]\n"
	if err := os.WriteFile(filepath.Join(ownWords, "en.toml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	if err := os.WriteFile(own+"/dora.toml", []byte("name = \"Dora\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state, run := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "r")
	q := func(s string) string { return fmt.Sprintf("%q", s) }
	const id = "fwpqmvaxjuvugrnc65zj"
	mode := func(m gpio.Mode) string { return fmt.Sprintf("Mode:%v", m) }
	who := func(s *seam) string {
		all, problems := cards.Find(s.cfg)
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		return fmt.Sprint(names, problems)
	}
	return []effect{
		{"device.name", "", func(s *seam) string { // in the record of each turn
			got := ""
			d := s.new(Options{OnTurn: func(r control.Turn) { got = r.Device }})
			d.turnEnded(coordinator.Record{})
			return got
		}, map[string]string{`""`: "*", `"kitchen"`: "kitchen"}},
		{"device.language", "", func(s *seam) string { // on the screen, for the model, and for who writes down what it hears
			hint, err := provider.Settings(s.cfg, voice.Kind{Local: true})
			return fmt.Sprint(s.new(Options{}).pairing.Now().Text, " ", provider.Spoken(s.cfg), hint.Languages, err, s.new(Options{}).skillHost("timers").Language)
		}, map[string]string{
			`""`: "Nothing is being paired. [] <nil>en", `"en"`: "Nothing is being paired. English[en] <nil>en", `"de"`: "Es wird nichts gekoppelt. German[de] <nil>de",
			`"es"`: "No se está emparejando nada. Spanish[es] <nil>es", `"fr"`: "Aucun appairage en cours. French[fr] <nil>fr",
			`"de,en"`: "Es wird nichts gekoppelt. German or English[de en] <nil>de", `"ja"`: "Nothing is being paired. Japanese[ja] <nil>en",
		}},
		{"device.board", "[button]\nsource = \"gpio\"\n", buttonNames, map[string]string{`""`: "GPIO17", `"aiy-v1"`: "GPIO23"}},
		{"device.companion", "", who, map[string]string{`"Ada"`: "[Ada] []", `"Ben, Zoe"`: "[Ben Zoe] []"}},

		{"button.source", "", buttonNames, map[string]string{`"auto"`: "GPIO17", `"gpio"`: "GPIO17", `"evdev"`: "*", `"keyboard"`: "keyboard", `"lines"`: "lines on standard input", `"none"`: ""}},
		{"button.chip", "[button]\nsource = \"gpio\"\n", printed(pressOptions), map[string]string{`""`: "Chip: ", `"pinctrl-none"`: "Chip:pinctrl-none"}},
		{"button.pin", "[button]\nsource = \"gpio\"\n", buttonNames, map[string]string{"0": "GPIO0", "17": "GPIO17", "27": "GPIO27"}},
		{"button.active", "", printed(pressOptions), map[string]string{`"low"`: "ActiveHigh:false", `"high"`: "ActiveHigh:true"}},
		{"button.bias", "", printed(pressOptions), map[string]string{`"auto"`: "Bias:auto", `"up"`: "Bias:up", `"down"`: "Bias:down", `"off"`: "Bias:off"}},
		{"button.mode", "", printed(pressOptions), map[string]string{`"hold"`: mode(gpio.Hold), `"tap"`: mode(gpio.Tap), `"hybrid"`: mode(gpio.Hybrid)}},
		{"button.again", "", func(s *seam) string { return fmt.Sprint(s.new(Options{}).again != nil) }, map[string]string{"true": "true", "false": "false"}},
		{"button.press_ms", "[button]\nsource = \"gpio\"\n", printed(pressOptions), map[string]string{"5": "Press:5ms", "25": "Press:25ms", "50": "Press:50ms"}},
		{"button.device", "[button]\nsource = \"evdev\"\n", buttonNames, map[string]string{`""`: "*", `"Jabra*"`: "Jabra*"}},
		{"button.keys", "[button]\nsource = \"evdev\"\ndevice = \"none\"\n", func(s *seam) string {
			return gpio.FindKeys(gpio.KeysOptions{Device: s.cfg.Button.Device, Keys: s.cfg.Button.Keys}).Error() + s.cfg.Button.Keys
		}, map[string]string{`"KEY_PHONE"`: "KEY_PHONE", `"KEY_F5,KEY_MUTE"`: "KEY_F5,KEY_MUTE"}},

		{"light.driver", "", printed(lightOf), map[string]string{`"auto"`: "Driver:none", `"none"`: "Driver:none", `"gpio"`: "Driver:gpio", `"rgb"`: "Driver:rgb",
			`"apa102"`: "Driver:apa102", `"apa102-gpio"`: "Driver:apa102-gpio", `"sysfs"`: "Driver:sysfs"}},
		{"light.pins", "", printed(lightOf), map[string]string{`""`: "Pins:[]", `"25"`: "Pins:[25]", `"0,13,27"`: "Pins:[0 13 27]"}},
		{"light.spi", "[light]\ndriver = \"apa102\"\n", func(s *seam) string {
			c, _ := lights.Config(s.cfg)
			on, err := light.Open(c)
			if err == nil {
				_ = on.Close()
			}
			return fmt.Sprint(c.SPI, " ", err)
		}, map[string]string{`"0.0"`: "0.0", `"9.9"`: "9.9"}},
		{"light.sysfs", "", printed(lightOf), map[string]string{`""`: "Sysfs: ", `"ACT"`: "Sysfs:ACT"}},
		{"light.count", "", printed(lightOf), map[string]string{"1": "Count:1 ", "64": "Count:64"}},
		{"light.invert", "", printed(lightOf), map[string]string{"false": "Invert:false", "true": "Invert:true"}},
		{"light.brightness", "", brightest, map[string]string{"0": "brightness 0.", "40": "brightness 102.", "100": "brightness 255."}},
		{"device.quiet", "[light]\nquiet_brightness = 20\nbrightness = 100\n", brightest, map[string]string{`""`: "brightness 255.", hoursAround(true): "brightness 51.", hoursAround(false): "brightness 255."}},
		{"light.quiet_brightness", "[device]\nquiet = " + hoursAround(true) + "\n[light]\nbrightness = 100\n", brightest, map[string]string{"0": "brightness 0.", "100": "brightness 255."}},

		{"audio.backend", "", func(s *seam) string {
			card, err := audio.NewCard(s.cfg.Audio.Backend, slog.New(slog.DiscardHandler))
			if err != nil {
				return err.Error()
			}
			defer card.Close()
			stream, err := card.OpenPlayback(audio.StreamConfig{Period: 10 * time.Millisecond, Periods: 3}, func(out []int16) { clear(out) })
			if err != nil {
				return s.cfg.Audio.Backend + ": " + err.Error()
			}
			defer stream.Close()
			return stream.Granted().Backend
		}, map[string]string{`"auto"`: "*", `"alsa"`: "alsa", `"pulse"`: "pulse", `"null"`: "null"}},
		{"audio.playback", "", playback, map[string]string{`""`: "{Device: ", `"alsa:CARD=Nobody"`: "{Device:alsa:CARD=Nobody "}},
		{"audio.capture", "", capture, map[string]string{`""`: "{Device: ", `"alsa:CARD=Nobody"`: "{Device:alsa:CARD=Nobody "}},
		{"audio.period_ms", "", playback, map[string]string{"2": "Period:2ms", "2.5": "Period:2.5ms", "20": "Period:20ms"}},
		{"audio.periods", "", playback, map[string]string{"0": "Periods:0", "2": "Periods:2", "16": "Periods:16"}},
		{"audio.fade_ms", "", faded, map[string]string{"1": "1 ms", "3": "2 ms", "5": "4 ms"}},
		{"audio.preroll_ms", "", heardBefore, map[string]string{"0": "0.0 s", "500": "0.5 s", "1000": "1.0 s"}},
		{"audio.postroll_ms", "", func(s *seam) string {
			m := pressed(s)
			m.now += time.Second
			m.feed(turn.Released{At: m.now, Held: audio.Rate})
			return fmt.Sprintf("%+v", m.orders)
		}, map[string]string{"0": "Tail:0s", "500": "Tail:500ms"}},
		{"audio.night_volume", "[audio]\nvolume = 100\n[device]\nquiet = " + hoursAround(true) + "\n", loudness, map[string]string{"0": "silent", "40": "soft", "100": "full"}},
		{"audio.volume", "", loudness, map[string]string{"0": "silent", "40": "soft", "100": "full"}},
		{"audio.cues", "[audio]\ncue_volume = 100\nvolume = 100\n", func(s *seam) string {
			return cued(s, turn.CueThinking) + ", ready " + cued(s, turn.CueReady)
		}, map[string]string{"true": "full, ready full", "false": "silent, ready full"}},
		{"audio.cue_volume", "[audio]\nvolume = 100\n", func(s *seam) string { return cued(s, turn.CueThinking) }, map[string]string{"0": "silent", "40": "soft", "100": "full"}},

		{"voice.kind", "[voice]\nkey_file = " + q(key1) + "\n", func(s *seam) string { kind, _ := provider.Kind(s.cfg); return kind.Name },
			map[string]string{`"auto"`: "realtime", `"realtime"`: "realtime", `"cascade"`: "cascade", `"rehearsal"`: "rehearsal"}},
		{"voice.url", "", greeting, map[string]string{`"wss://api.openai.com/v1/realtime"`: "/v1/realtime", `"ws://box:8080/v1"`: "box:8080"}},
		{"voice.model", "", greeting, map[string]string{`"one"`: "model=one", `"two"`: "model=two"}},
		{"voice.transcription", "", func(s *seam) string { return regexp.MustCompile(`"transcription":\{[^}]*\}`).FindString(greeting(s)) },
			map[string]string{`"ears-1"`: `"model":"ears-1"`, `""`: ""}},
		{"voice.name", "", greeting, map[string]string{`"cedar"`: `"voice":"cedar"`, `"ash"`: `"voice":"ash"`}},
		{"voice.instructions", "", greeting, map[string]string{`"Be a parrot."`: "Be a parrot.", `"Be an owl."`: "Be an owl."}},
		{"voice.dialect", "", greeting, map[string]string{`"auto"`: `"type":"realtime"`, `"ga"`: `"type":"realtime"`, `"azure"`: "*", `"localai"`: "*", `"speaches"`: "*", `"speech-to-speech"`: "*",
			`"xai"`: "*", `"qwen"`: `"input_audio_format":"pcm"`}},
		{"voice.reasoning", "", func(s *seam) string { return regexp.MustCompile(`"effort":"[a-z]+"`).FindString(greeting(s)) }, map[string]string{
			`"auto"`: `"effort":"minimal"`, `"off"`: "", `"minimal"`: `"effort":"minimal"`, `"low"`: `"effort":"low"`, `"medium"`: `"effort":"medium"`,
			`"high"`: `"effort":"high"`, `"xhigh"`: `"effort":"xhigh"`,
		}},
		{"voice.noise_reduction", "", func(s *seam) string { return regexp.MustCompile(`"noise_reduction":\{[^}]*\}`).FindString(greeting(s)) },
			map[string]string{`"far_field"`: `"type":"far_field"`, `"near_field"`: `"type":"near_field"`, `"off"`: ""}},
		{"voice.server", chained, asksChain, map[string]string{`"auto"`: "model tts-1", `"compatible"`: "*", `"openai"`: "*", `"ollama"`: "*", `"llama.cpp"`: "*", `"vllm"`: "*", `"localai"`: "*",
			`"speaches"`: "*", `"kokoro"`: "model kokoro", `"whisper.cpp"`: "*", `"piper"`: "*"}},
		{"voice.hear", chained, asksChain, map[string]string{`""`: "heard by box.lan:1", `"pocketsphinx"`: "heard by pocketsphinx", `"whisper.cpp http://ear.lan:8080"`: "heard by ear.lan:8080"}},
		{"voice.speak", chained, asksChain, map[string]string{`""`: "spoken by box.lan:1", `"kokoro http://mouth.lan:8880"`: "spoken by mouth.lan:8880"}},
		{"voice.speak_model", chained, asksChain, map[string]string{`""`: "model tts-1", `"my-voice"`: "model my-voice"}},
		{"voice.key_file", "", greeting, map[string]string{q(key1): "Bearer sk-one", q(key2): "Bearer sk-two"}},
		{"voice.hear_key_file", chained, func(s *seam) string { return chainKey(s, "hear", "/transcriptions") }, map[string]string{`""`: "no key", q(key1): "Bearer sk-one", q(key2): "Bearer sk-two"}},
		{"voice.speak_key_file", chained, func(s *seam) string { return chainKey(s, "speak", "/speech") }, map[string]string{`""`: "no key", q(key1): "Bearer sk-one", q(key2): "Bearer sk-two"}},
		{"voice.remember", "", talkKept, map[string]string{"true": "on disk true, recalled 1, kept true", "false": "on disk false, recalled 0, kept false"}},
		{"voice.ceiling_tokens", "", used, map[string]string{"0": "", "1": "of 1 tokens", "1000000000": "of 1000000000 tokens"}},
		{"voice.ceiling_cost", "[voice]\nprice_in = 1\n", used, map[string]string{"0": "", "0.5": "of 0.50", "100000": "of 100000.00"}},
		{"voice.ca_file", "", func(s *seam) string { return trusts(s) }, map[string]string{`""`: "refused", q(certs + "/ca.pem"): "comes"}},
		{"voice.price_in", "", cost, map[string]string{"0": "free", "100000": "dear"}},
		{"voice.price_out", "", cost, map[string]string{"0": "free", "100000": "dear"}},
		{"voice.price_text_in", "", cost, map[string]string{"0": "free", "100000": "dear"}},
		{"voice.price_text_cached", "", cachedCost, map[string]string{"0": "text 0, sound 0", "100000": "text 1, sound 0"}},
		{"voice.price_text_out", "", cost, map[string]string{"0": "free", "100000": "dear"}},
		{"voice.price_audio_in", "", heardCost, map[string]string{"0": "0", "100000": "1"}},
		{"voice.price_audio_cached", "", cachedCost, map[string]string{"0": "text 0, sound 0", "100000": "text 0, sound 1"}},
		{"voice.price_audio_out", "", cost, map[string]string{"0": "free", "100000": "dear"}},
		{"voice.price_hear", chained, chainCost, map[string]string{"0": "free", "100000": "to hear"}},
		{"voice.price_speak", chained, chainCost, map[string]string{"0": "free", "100000": "to speak"}},

		{"turn.listen_s", "", func(s *seam) string {
			m := pressed(s)
			return m.wakes(func() bool { return m.m.State() != turn.Listening })
		}, map[string]string{"5": "5s", "600": "10m0s"}},
		{"turn.commit_s", "", func(s *seam) string { m := committed(s); return m.wakes(m.over) }, map[string]string{"1": "1s", "120": "2m0s"}},
		{"turn.response_s", "", func(s *seam) string {
			m := committed(s)
			m.feed(turn.ResponseStarted{At: m.now, Turn: "t-1", Response: "r"}, turn.DeltaArrived{At: m.now, Turn: "t-1", Response: "r", Item: "i"})
			return m.wakes(m.over)
		}, map[string]string{"1": "1s", "120": "2m0s"}},
		{"turn.next_s", "", func(s *seam) string {
			m := committed(s)
			m.feed(turn.ResponseStarted{At: m.now, Turn: "t-1", Response: "r"}, turn.ToolCalled{At: m.now, Turn: "t-1", Response: "r", Call: "c", Name: "x"},
				turn.ResponseDone{At: m.now, Turn: "t-1", Response: "r"}, turn.ToolReturned{At: m.now, Turn: "t-1", Call: "c"})
			return m.wakes(m.over)
		}, map[string]string{"1": "1s", "120": "2m0s"}},
		{"turn.tool_s", "", toolTime, map[string]string{"1": "1 s", "120": "120 s"}},
		{"turn.thinking_ms", "", func(s *seam) string {
			m := committed(s)
			return m.wakes(func() bool { return thinks(m.orders) })
		}, map[string]string{"100": "100ms", "5000": "5s"}},
		{"turn.reconnect_s", "", func(s *seam) string {
			m := pressed(s)
			m.feed(turn.SessionLost{At: m.now}, turn.Released{At: m.now, Held: audio.Rate}, turn.CaptureEnded{At: m.now, Turn: "t-1", Samples: audio.Rate})
			return m.wakes(m.over)
		}, map[string]string{"0": "0s", "60": "1m0s"}},

		{"room.broker", "[room]\nlisten = \"127.0.0.1:0\"\n", func(s *seam) string {
			switch s.cfg.Room.Broker {
			case "":
				return fmt.Sprint("bus ", s.new(Options{}).bus)
			case "embedded":
				return listens(s)
			}
			return plain(s)
		}, map[string]string{`""`: "bus <nil>", `"embedded"`: "listen=127.0.0.1:", `"mqtt://x"`: "MQTT"}},
		{"room.name", "", plain, map[string]string{`"home"`: "home/", `"attic"`: "attic/"}},
		{"room.listen", "[room]\nbroker = \"embedded\"\n", func(s *seam) string {
			return listens(s)
		}, map[string]string{`"127.0.0.1:0"`: "listen=127.0.0.1:", `"127.0.0.2:0"`: "listen=127.0.0.2:"}},
		{"room.members", "", func(s *seam) string { return fmt.Sprint(s.new(Options{}).link.Belongs()(id)) }, map[string]string{`""`: "false", q(id): "true"}},
		{"room.user", "", plain, map[string]string{`"ann"`: "ann", `"bob"`: "bob"}},
		{"room.password_file", "[room]\nuser = \"ann\"\n", plain, map[string]string{q(key1): "sk-one", q(key2): "sk-two"}},
		{"room.ca_file", "", secure, map[string]string{`""`: "*", q(certs + "/ca.pem"): "trusted true"}},
		{"room.cert_file", "[room]\nca_file = " + q(certs+"/ca.pem") + "\nkey_file = " + q(certs+"/own.key") + "\n", secure,
			map[string]string{q(certs + "/one.pem"): "one, trusted true", q(certs + "/two.pem"): "two, trusted true"}},
		{"room.key_file", "[room]\nca_file = " + q(certs+"/ca.pem") + "\ncert_file = " + q(certs+"/one.pem") + "\n", secure,
			map[string]string{q(certs + "/own.key"): "one, trusted true", q(certs + "/another.key"): "private key does not match"}},
		{"room.port", "", func(s *seam) string {
			return fmt.Sprint(s.new(Options{Room: RoomOptions{Reachable: func(port int) []string { return []string{fmt.Sprint("port ", port)} }}}).link.Reachable(0))
		}, map[string]string{"0": "[port 0]", "7483": "[port 7483]", "65535": "[port 65535]"}},
		{"room.pairing", "", func(s *seam) string {
			d := s.new(Options{Room: RoomOptions{Finder: &finds{lan: &lan{says: map[round.DeviceID]discovery.Found{}}}}})
			gesture(d, gpio.Event{Kind: gpio.LongPressed})
			ctx, stop := s.run(d.pairing.Parts()[0].Run)
			defer stop()
			line, err := d.pairing.Cancel(ctx)
			return fmt.Sprint(line.State, err)
		}, map[string]string{"true": "cancelled", "false": "idle"}},
		{"room.discovery", "", func(s *seam) string {
			found, ok := s.new(Options{}).link.Finder.(*discovery.Discovery)
			return fmt.Sprintf("%v %+v", ok, found)
		}, map[string]string{`"auto"`: "auto", `"avahi"`: "avahi", `"own"`: "own", `"off"`: "off"}},
		{"room.cards", "", who, map[string]string{`""`: "[Ada]", q(own): "[Dora]"}},
		{"room.words", "", func(s *seam) string {
			x, err := cards.Words(s.cfg)
			if x == nil {
				x = words.Known()
			}
			return fmt.Sprint(x.IntentOf("toodle pip"), err)
		}, map[string]string{`""`: "statement<nil>", q(ownWords): "closing<nil>"}},
		{"room.people", "", func(s *seam) string { return fmt.Sprint(room.HouseholdOf(s.new(Options{}).room).People()) }, map[string]string{`[]`: "[]", `["Max", "Lena: hall"]`: "[Max Lena]"}},
		{"room.people_learn", "[device]\ncompanion = \"Ada, Ben\"\n", func(s *seam) string { return fmt.Sprint(room.HouseholdOf(s.new(Options{}).room).Report().Learns) },
			map[string]string{`"ask"`: "true", `"off"`: "false"}},
		{"room.involvement", "", func(s *seam) string { return string(s.new(Options{}).room.Cards[0].Involvement) },
			map[string]string{`"off"`: "off", `"low"`: "low", `"medium"`: "medium", `"high"`: "high"}},
		{"room.threshold", "", printed(manners), map[string]string{"1": "Threshold:1 ", "9": "Threshold:9 "}},
		{"room.pause_ms", "", printed(manners), map[string]string{"0": "Pause:0s NoPause:true", "2000": "Pause:2s NoPause:false"}},
		{"room.silence_s", "", printed(manners), map[string]string{"2": "Silence:2s", "600": "Silence:10m0s"}},
		{"room.chain", "", printed(manners), map[string]string{"1": "ChainLimit:1 ", "50": "ChainLimit:50 "}},
		{"room.handoffs", "", printed(manners), map[string]string{"0": "Handoffs:0 ", "50": "Handoffs:50 "}},
		{"room.extras", "", printed(manners), map[string]string{"0": "ExtraLimit:0 ", "2": "ExtraLimit:2 "}},
		{"room.share_percent", "", printed(manners), map[string]string{"20": "ShareLimit:0.2 ", "100": "ShareLimit:1 "}},
		{"room.repetition_percent", "", printed(manners), map[string]string{"30": "Repetition:0.3}", "100": "Repetition:1}"}},
		{"room.memory", "[device]\ncompanion = \"Ada, Ben\"\n", kept, map[string]string{"5": "5 of 60", "50": "50 of 60"}},
		{"room.votes", "[room]\nvote_url = \"http://votes/v1\"\n", refines, map[string]string{`"rules"`: "rules alone", `"auto"`: "/v1/chat/completions", `"model"`: "/v1/chat/completions"}},
		{"room.calls", "", printed(manners), map[string]string{"1": "Calls:1 ", "20": "Calls:20 "}},
		{"room.vote_url", "[room]\nvotes = \"auto\"\n[voice]\nkind = \"realtime\"\n", refines, map[string]string{`""`: "https://api.openai.com/v1 " + provider.VoteModel, `"http://votes/v2"`: "/v2/chat/completions"}},
		{"room.vote_model", "[room]\nvotes = \"model\"\nvote_url = \"http://votes/v1\"\n", refines, map[string]string{`"small"`: `"model":"small"`, `"big"`: `"model":"big"`}},
		{"room.vote_budget_ms", "[room]\nvotes = \"auto\"\nvote_url = \"http://votes\"\n", printed(manners), map[string]string{"50": "VoteBudget:50ms", "900": "VoteBudget:900ms"}},
		{"room.vote_key_file", "[room]\nvotes = \"auto\"\nvote_url = \"http://votes/v1\"\n", refines, map[string]string{`""`: `key ""`, q(key2): "Bearer sk-two"}},

		{"knob.encoder", "", turned, map[string]string{`""`: "no encoder", `"GPIO5,GPIO6"`: "GPIO5,GPIO6"}},
		{"knob.keys", "[button]\nsource = \"evdev\"\n", turned, map[string]string{`"auto"`: "no encoder, volume keys", `"on"`: "no encoder, volume keys", `"off"`: "no encoder"}},
		{"knob.step", "", func(s *seam) string {
			d := s.new(Options{})
			d.memory.KeepVolume(50)
			k := knob.New(*s.cfg, d.log)
			k.Key(gpio.Louder)
			ctx, stop := s.run(func(ctx context.Context) error { return k.Run(ctx, dial{d}) })
			_ = wait.Until(ctx, func() bool { return d.memory.Volume() != 50 })
			stop()
			return fmt.Sprint(d.memory.Volume())
		}, map[string]string{"1": "51", "20": "70"}},
		{"library.folder", "", func(s *seam) string {
			all, err := s.new(Options{}).skillHost("library").Library.Titles()
			names := []string{}
			for _, t := range all {
				names = append(names, t.File+" "+t.Name)
			}
			return fmt.Sprint(names, err)
		}, map[string]string{`""`: "[] <nil>", q(ownSound): "[the_sea.wav the sea] <nil>"}},

		{"intercom.enabled", "[room]\nbroker = \"mqtt://broker:1883\"\n", func(s *seam) string {
			return fmt.Sprint(s.new(Options{}).skillHost("intercom").Intercom != nil)
		}, map[string]string{"false": "false", "true": "true"}},
		{"intercom.port", "[room]\nbroker = \"mqtt://broker:1883\"\n", func(s *seam) string {
			return fmt.Sprint(s.new(Options{}).cfg.Intercom.Port)
		}, map[string]string{"1024": "1024", "65535": "65535"}},

		{"web.listen", "", func(s *seam) string { return s.page("http", "") }, map[string]string{`""`: "no page", `"127.0.0.1:0"`: "content=\"no\""}},
		{"web.talk", "[web]\nlisten = \"127.0.0.1:0\"\n", func(s *seam) string { return s.page("http", "") },
			map[string]string{"false": "conch-talk\" content=\"no\"", "true": "conch-talk\" content=\"yes\""}},
		{"web.cert", "[web]\nlisten = \"127.0.0.1:0\"\nkey = " + q(certs+"/own.key") + "\n", func(s *seam) string { return s.page("https", "") },
			map[string]string{`""`: "no page", q(certs + "/one.pem"): "by one", q(certs + "/two.pem"): "by two"}},
		{"web.key", "[web]\nlisten = \"127.0.0.1:0\"\ncert = " + q(certs+"/one.pem") + "\n", func(s *seam) string { return s.page("https", "") },
			map[string]string{`""`: "no page", q(certs + "/own.key"): "by one", q(certs + "/another.key"): "no page"}},
		{"web.authority", "[web]\nlisten = \"127.0.0.1:0\"\n", func(s *seam) string { return s.page("https", "") },
			map[string]string{"false": "no page", "true": "by conch"}},

		{"homeassistant.discovery", "", func(s *seam) string { return housed(s, false) }, map[string]string{"false": "", "true": "MQTT"}},
		{"homeassistant.broker", house + "[room]\nbroker = \"embedded\"\nlisten = \"127.0.0.1:0\"\n", func(s *seam) string {
			d := s.new(Options{Anyway: true})
			d.wireHomeAssistant()
			return first(s, d, nil, condition.HomeUnseen)
		}, map[string]string{`""`: "no broker", `"mqtt://127.0.0.1:1"`: "refused"}},
		{"homeassistant.user", house, func(s *seam) string { return housed(s, false) }, map[string]string{`"ann"`: "ann", `"bob"`: "bob"}},
		{"homeassistant.password_file", house + "user = \"ann\"\n", func(s *seam) string { return housed(s, false) },
			map[string]string{q(key1): "sk-one", q(key2): "sk-two"}},
		{"homeassistant.ca_file", house, func(s *seam) string { return housed(s, true) }, map[string]string{`""`: "*", q(certs + "/ca.pem"): "trusted true"}},
		{"homeassistant.prefix", house, shown, map[string]string{`"homeassistant"`: "homeassistant/device/conch_", `"attic"`: "attic/device/conch_"}},
		{"homeassistant.may_listen", house, shown, map[string]string{"false": "no talk", "true": "and talk"}},

		{"radio.stations", "", func(s *seam) string {
			if r := s.new(Options{}).skillHost("radio").Radio; r != nil {
				return fmt.Sprint(r.Stations)
			}
			return "no radio"
		}, map[string]string{`[]`: "no radio", `["One = http://a", "Two = http://b"]`: "[One Two]"}},
		{"tools.allow", "", func(s *seam) string {
			box, err := s.new(Options{}).newTools()
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(box.(toolbox).Widened("room", "set_home"))
		}, map[string]string{`[]`: "false", `["room:set_home"]`: "true"}},

		{"state.dir", "", func(s *seam) string {
			s.new(Options{})
			files, _ := filepath.Glob(s.cfg.State.Dir + "/*")
			return fmt.Sprint(files)
		}, map[string]string{`""`: "/conch/identity.key", q(state): state + "/identity.key"}},
		{"state.runtime", "", func(s *seam) string {
			l, err := control.Listen(s.cfg.State.Socket())
			if err != nil {
				return err.Error()
			}
			defer l.Close()
			return l.Addr().String()
		}, map[string]string{`""`: "/conch/control.sock", q(run): run + "/control.sock"}},
		{"log.level", "", func(s *seam) string {
			var b bytes.Buffer
			log, _ := service.LiveLogger(s.cfg.Log, &b)
			for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				log.Log(s.Context(), l, "x")
			}
			return fmt.Sprint(strings.Count(b.String(), "\n"), " of 4")
		}, map[string]string{`"debug"`: "4 of 4", `"info"`: "3 of 4", `"warn"`: "2 of 4", `"error"`: "1 of 4"}},
		{"log.format", "", func(s *seam) string {
			var b bytes.Buffer
			log, _ := service.LiveLogger(s.cfg.Log, &b)
			log.Info("x")
			return b.String()
		}, map[string]string{`"text"`: "event=x", `"json"`: `"event":"x"`}},
	}
}

// listens is where the embedded broker is.
func listens(s *seam) string {
	d := s.new(Options{})
	ctx, stop := s.run(runs(d.actors)...)
	m := regexp.MustCompile(`listen=\S+`)
	_ = wait.Until(ctx, func() bool { return d.bus.Stats().Up })
	stop()
	return m.FindString(s.log.String())
}

func thinks(orders []turn.Effect) bool {
	return slices.ContainsFunc(orders, func(o turn.Effect) bool { c, ok := o.(turn.PlayCue); return ok && c.Cue == turn.CueThinking })
}

var numbers = regexp.MustCompile(`^(?:a whole number, )?([0-9]+) to ([0-9]+)$`)

type keyOfTheExample struct{ name, allowed string }

// keysOfTheExample are all that there are, by a test beside the file.
func keysOfTheExample(t *testing.T) (keys []keyOfTheExample) {
	t.Helper()
	text, err := os.ReadFile("config/conch.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	section, allowed := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, _, is := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case strings.HasPrefix(line, "# Allowed: "):
			allowed = strings.TrimSuffix(strings.TrimPrefix(line, "# Allowed: "), ".")
		case is && !strings.HasPrefix(line, "#"):
			keys = append(keys, keyOfTheExample{section + "." + name, allowed})
		}
	}
	if len(keys) < 50 {
		t.Fatalf("%d keys in the example; this test would prove nothing", len(keys))
	}
	return keys
}

// Every key has an effect, and so has its lowest and its highest value: zero means zero.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	rows := make(map[string]effect)
	for _, e := range effects(t) {
		rows[e.key] = e
	}
	for _, k := range keysOfTheExample(t) {
		e, ok := rows[k.name]
		delete(rows, k.name)
		if !ok {
			t.Errorf("%s has no row in effects (config_effect_test.go): add one, with values, what is seen of each, and how it is seen", k.name)
			continue
		}
		var values []string
		switch m := numbers.FindStringSubmatch(k.allowed); {
		case m != nil:
			values = m[1:]
		case k.allowed == "true or false":
			values = []string{"true", "false"}
		case regexp.MustCompile(`^[a-z0-9-]+(, [a-z0-9-]+)* or [a-z0-9-]+$`).MatchString(k.allowed):
			for _, v := range regexp.MustCompile(", | or ").Split(k.allowed, -1) {
				values = append(values, fmt.Sprintf("%q", v))
			}
		}
		for _, v := range values {
			if _, ok := e.want[v]; !ok {
				t.Errorf("%s: the row in effects has no %s, which is allowed (%s)", k.name, v, k.allowed)
			}
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			e.test(t)
		})
	}
	for name := range rows {
		t.Errorf("%s has a row in effects and is no key", name)
	}
}

func (e effect) test(t *testing.T) {
	section, name, _ := strings.Cut(e.key, ".")
	seen := make(map[string]string)
	for value, want := range e.want {
		home := t.TempDir()
		head := e.with
		if !strings.Contains(head, "["+section+"]") {
			head += "[" + section + "]\n"
		}
		// The key goes below its section's heading, wherever that is.
		text := strings.Replace(head, "["+section+"]\n", fmt.Sprintf("[%s]\n%s = %s\n", section, name, value), 1)
		file := filepath.Join(home, "conch.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_RUNTIME_DIR=" + home}})
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		got := e.see(&seam{T: t, cfg: cfg, file: file})
		switch {
		case want == "*":
		case want == "" && got != "", !strings.Contains(got, want):
			t.Errorf("%s = %s: seen is %q; want %q", e.key, value, got, want)
		}
		seen[got] = value
	}
	if len(seen) < 2 {
		t.Errorf("%s: all of its values look alike: %v", e.key, seen)
	}
}

// chained is a configuration with a chain at home, of which each key says something.
const chained = "[voice]\nkind = \"cascade\"\nurl = \"http://box.lan:1\"\n"

// chainCost is for what an answer of a chain costs that was had.
func chainCost(s *seam) string {
	x, trouble := chainAnswers(s, cascadetest.Script{Models: []string{"m"}})
	if trouble != "" {
		return trouble
	}
	switch u := x.Usage().Today; {
	case u.HearCost > 0:
		return "to hear"
	case u.SpeakCost > 0:
		return "to speak"
	}
	return "free"
}

// chainKey is what the server of a stage is shown, that is another host's than the voice's.
func chainKey(s *seam, stage, path string) string {
	var seen atomic.Value
	other := httptest.NewServer(cascadetest.New(cascadetest.Script{Models: []string{"m"}, Before: func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if strings.HasSuffix(r.URL.Path, path) {
			seen.Store(cmp.Or(r.Header.Get("Authorization"), "no key"))
		}
		return false
	}}))
	defer other.Close()
	s.cfg.Voice.Own[stage] = other.URL
	if _, trouble := chainAnswers(s, cascadetest.Script{Models: []string{"m"}}); trouble != "" {
		return trouble
	}
	return fmt.Sprint(seen.Load())
}

// chainAnswers has a chain of that script answer once.
func chainAnswers(s *seam, script cascadetest.Script) (x voice.Session, trouble string) {
	server := httptest.NewServer(cascadetest.New(script))
	defer server.Close()
	s.cfg.Voice.URL = server.URL
	kind := kinds.Find("cascade")
	settings, err := provider.Settings(s.cfg, kind)
	if err != nil {
		return x, err.Error()
	}
	made, err := kind.New(settings, []voice.Companion{{Log: slog.New(slog.DiscardHandler)}})
	if err != nil {
		return x, err.Error()
	}
	x = made.Sessions[0]
	out := posted{make(chan turn.Event, 64)}
	ctx, stop := s.run(func(ctx context.Context) error { return x.Run(ctx, out) })
	x.Do(turn.ClearInput{Turn: "t-1"})
	x.Append("t-1", make([]int16, audio.Rate))
	x.Do(turn.CommitInput{Turn: "t-1"})
	x.Do(turn.CreateResponse{Turn: "t-1"})
	for over := false; !over; {
		select {
		case ev := <-out.events:
			_, over = ev.(turn.ResponseDone)
		case <-ctx.Done():
			over = true
		}
	}
	stop()
	return x, ""
}

// asksChain is what the chain is called, and what it asks for.
func asksChain(s *seam) string {
	kind := kinds.Find("cascade")
	settings, err := provider.Settings(s.cfg, kind)
	if err != nil {
		return err.Error()
	}
	called, err := cascade.Called(settings)
	if err != nil {
		return err.Error()
	}
	cfg, _ := cascade.Configure(settings, voice.Companion{})
	return called + ", model " + cfg.MouthModel
}
