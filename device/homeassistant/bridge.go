package homeassistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
)

// Log events.
const (
	logUp        = "homeassistant.up"        // broker, links: it takes what it is told
	logDown      = "homeassistant.down"      // broker, err, again: it is gone, and tried again in so long
	logAsked     = "homeassistant.asked"     // entity, err: what somebody there wanted was done, or not
	logRefused   = "homeassistant.refused"   // entity, why, times: what somebody there wanted was not even tried
	logForgotten = "homeassistant.forgotten" // broker: nothing of this device is left there
	logLimits    = "homeassistant.limits"    // broker, not: what it does not take, so that it is told otherwise
	logTooLarge  = "homeassistant.too_large" // topic: the broker takes no message of that size
	logLeft      = "homeassistant.left"      // broker, err, again: something of this device is there that should not be
	logNote      = "homeassistant.note"      // err: a restart will not know what was told to whom
)

// Options are what a bridge needs.
type Options struct {
	Config  config.HomeAssistant // with the broker that counts: Resolve
	ID      string               // of the device, as the room knows it; empty: one of its own, that is kept in the note
	Name    string               // of the device, for people
	Version string
	Model   string // of the board; may be empty
	URL     string // where a browser of the house finds the device's page; may be empty
	Priced  bool   // what the voice uses has a price
	Note    string // file of what was told where, in the state directory; empty: nothing is kept

	Ask     func(ctx context.Context, method, path string, in, out any) error // the control socket's requests (control.Remote.Do)
	Feed    *control.Feed
	Picture func(ctx context.Context) control.Picture

	Conditions *condition.Book
	Log        *slog.Logger

	Random func() float64 // 0 to 1; nil: chance
	Retry  time.Duration  // before a broker is tried again, doubled each time; 0: a second
	Settle time.Duration  // how long an entity has to be away before it is taken away, with all that a person has made of it; 0: a minute
}

// Resolve is what the configuration says of Home Assistant, with the broker of the house that the room is at, where none is named.
func Resolve(c config.Config) config.HomeAssistant {
	h, at := c.HomeAssistant, c.Room.Brokers()[0]
	if h.Broker != "" || at == "embedded" {
		return h
	}
	h.Broker, h.CAFile = at, cmp.Or(h.CAFile, c.Room.CAFile)
	if h.User == "" && h.PasswordFile == "" {
		h.User, h.PasswordFile = c.Room.User, c.Room.PasswordFile
	}
	return h
}

// Bounds and times. Our choices.
const (
	retry        = time.Second
	retryMost    = time.Minute
	stable       = 30 * time.Second // a link that lasted so long was a good one
	birthDelay   = 3 * time.Second  // at most: a house of devices must not answer at once
	birthEvery   = 5 * time.Second  // at least between two births that are answered
	settle       = time.Minute      // and between two whole pictures
	askLimit     = 10 * time.Second
	sayLimit     = 5 * time.Minute
	maxSaying    = 4 // sentences that are being said or wait for it; and as many that are urgent
	maxWaiting   = 32
	lookEvery    = time.Second // at what has no event of its own, as the volume; another state is told at once
	maxNews      = 16
	newsLast     = 5 * time.Second // an older press is no news
	refusedEvery = 10 * time.Second
)

// Bridge is the device at Home Assistant's broker.
type Bridge struct {
	o Options
	a about // fixed before Run's goroutines begin

	changed chan struct{}           // 1: the view is another one
	news    chan told               // what happened
	lanes   map[string]chan request // by entity; "" for all others: what is asked for in order
	words   chan sentence           // what is said in order
	urgent  chan struct{}           // has a token for each sentence that waits behind no other
	start   time.Time

	held    atomic.Bool // the button is pressed from there
	mu      sync.Mutex
	v       view
	n       note
	away    map[string]time.Time // since when entities are, that were told of
	gate    gate
	refused map[problem]*line
}

// line is how often something was refused since the log was told of it.
type line struct {
	held int
	at   time.Time
}

// told is a happening and when it was.
type told struct {
	happening
	at time.Time
}

// New makes a bridge; nothing is opened before Run.
func New(o Options) *Bridge {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Retry, o.Settle = cmp.Or(o.Retry, retry), cmp.Or(o.Settle, settle)
	b := &Bridge{
		o: o, changed: make(chan struct{}, 1), news: make(chan told, maxNews), words: make(chan sentence, maxSaying-1), urgent: make(chan struct{}, maxSaying),
		start: time.Now(),
		lanes: map[string]chan request{}, refused: map[problem]*line{}, away: map[string]time.Time{},
	}
	for _, key := range []string{"", "stop", keyMicrophone, keyTalk} {
		b.lanes[key] = make(chan request, maxWaiting)
	}
	return b
}

// Run shows the device until ctx ends, and takes away what an earlier configuration has left elsewhere. Where the device is not to be
// shown, that is all it does. A broker that is not there is a condition, not an end.
func (b *Bridge) Run(ctx context.Context) error {
	n, err := load(b.o.Note)
	if err != nil {
		b.o.Log.Warn(logNote, "err", err)
	}
	shown := b.o.Config.Discovery && b.o.Config.Broker != ""
	if b.o.ID == "" && shown {
		if n.ID == "" {
			n.ID = newID()
		}
		b.o.ID = n.ID
	}
	b.n = n
	c := b.o.Config
	here := place{Broker: c.Broker, User: c.User, PasswordFile: c.PasswordFile, CAFile: c.CAFile, Prefix: c.Prefix, Device: b.o.ID}
	b.a = about{
		id: b.o.ID, name: b.o.Name, version: b.o.Version, model: b.o.Model, url: b.o.URL, prefix: c.Prefix,
		rules: rules{mayListen: c.MayListen, priced: b.o.Priced},
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	for _, p := range n.Places {
		if !shown || !p.same(here) {
			parts.Go(func() { b.forget(ctx, p, shown && p.Broker == here.Broker && p.Device == here.Device) })
		}
	}
	if c.Discovery && c.Broker == "" {
		b.o.Conditions.Set(condition.HomeUnseen, "Home Assistant does not see this device: it has no broker that both could be at; the room's is conch's own",
			"set homeassistant.broker, for instance mqtt://homeassistant.local:1883")
	}
	if !shown {
		<-ctx.Done()
		return nil
	}
	b.picture(b.o.Picture(ctx)) // before anything is told: what is not known of is not gone
	parts.Go(func() { b.watch(ctx) })
	for _, lane := range b.lanes {
		parts.Go(func() { b.work(ctx, lane, &parts) })
	}
	parts.Go(func() { b.recite(ctx) })
	b.stay(ctx, here)
	return nil
}

// watch keeps the view.
func (b *Bridge) watch(ctx context.Context) {
	for ctx.Err() == nil {
		watching, cancel := context.WithCancel(ctx)
		recent, events := b.o.Feed.WatchEvery(watching, lookEvery)
		p := b.o.Picture(ctx)
		p.Recent = recent
		b.picture(p)
		b.follow(ctx, events)
		cancel()
		pause(ctx, time.Second) // behind: anew, and not in a hurry
	}
}

func (b *Bridge) follow(ctx context.Context, events <-chan control.Event) {
	again := time.NewTicker(b.o.Settle)
	defer again.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			b.see(e)
		case <-again.C:
			b.picture(b.o.Picture(ctx))
		}
	}
}

func (b *Bridge) picture(p control.Picture) {
	b.mu.Lock()
	b.v.begin(p)
	b.mu.Unlock()
	b.touch()
}

func (b *Bridge) see(e control.Event) {
	b.mu.Lock()
	before := b.v.p.Doing
	news := b.v.see(e)
	after := b.v.p.Doing
	b.mu.Unlock()
	for _, h := range news {
		select {
		case b.news <- told{h, time.Now()}:
		default: // nobody is there to hear it
		}
	}
	if e.Kind != control.EventDoing || before.State != after.State || before.Floor != after.Floor { // the level is told to nobody
		b.touch()
	}
}

func (b *Bridge) touch() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// stay keeps a link to the broker.
func (b *Bridge) stay(ctx context.Context, here place) {
	wait, reached, takes := b.o.Retry, false, unlimited
	for ctx.Err() == nil {
		began := time.Now()
		up, err := b.session(ctx, here, takes)
		if ctx.Err() != nil {
			return
		}
		if b.held.Swap(false) { // who pressed cannot let go any more
			b.ask(ctx, request{entity: keyTalk, path: "/release"})
		}
		if ctx.Err() == nil && hungUp(err) {
			if now := limitsOf(ctx, b.o.Config, "conch-ha-"+b.a.id+"-limits"); now != takes {
				takes = now
				b.o.Log.Warn(logLimits, "broker", here.Broker, "not", now.String())
				continue
			}
		}
		reached = reached || up
		if up && time.Since(began) >= stable {
			wait = b.o.Retry
		}
		text, do := explain(here.Broker, err, reached)
		b.o.Conditions.Set(condition.HomeUnseen, text, do)
		b.o.Log.Info(logDown, "broker", here.Broker, "err", err, "again", wait)
		pause(ctx, time.Duration((0.5+b.o.Random()/2)*float64(wait)))
		wait = min(2*wait, max(b.o.Retry, retryMost))
	}
}

// session is one link: it tells everything, and then what changes. up: the broker took this device.
func (b *Bridge) session(ctx context.Context, here place, takes limits) (up bool, err error) {
	linked, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &session{b: b, here: here, births: make(chan struct{}, 1), echo: make(chan struct{}, 1), sent: map[string]string{}, large: map[string]bool{}}
	l, err := dial(linked, b.o.Config, takes, "conch-ha-"+b.a.id, message{b.a.availability(), offline, true}, s.arrived)
	if err != nil {
		return false, err
	}
	defer l.close()
	if err := l.subscribe(linked, b.a.birth(), b.a.commands(), b.a.availability()); err != nil {
		return false, errors.Join(err, lostOf(l))
	}
	s.l = l
	err = s.run(ctx)
	if hungUp(err) && !s.up {
		err = fmt.Errorf("%w when it is told %s (%d bytes): %w", errCut, s.last.topic, len(s.last.payload), err)
	}
	if ctx.Err() != nil {
		bye := message{b.a.availability(), offline, true}
		_ = l.publish(context.WithoutCancel(ctx), bye, lastWords) // else the last will says it
	}
	return s.up, err
}

// lostOf is why a link is gone, where it is. The library fails what waited for the broker first, and says why a moment later.
func lostOf(l *link) error {
	var most time.Duration
	if !l.client.IsConnectionOpen() {
		most = time.Second
	}
	later := time.NewTimer(most)
	defer later.Stop()
	select {
	case err := <-l.lost:
		return err
	case <-later.C:
		return nil
	}
}

// session is what is known of a link.
type session struct {
	b      *Bridge
	l      *link
	here   place
	births chan struct{} // 1: Home Assistant has begun anew
	echo   chan struct{} // 1: what was said has come back

	up     bool
	last   message           // that was told
	large  map[string]bool   // topics of what the broker does not take
	sent   map[string]string // what the broker has, by topic
	want   []message         // as of the last look at the view
	answer time.Time         // when the last birth was answered
}

func (s *session) run(ctx context.Context) error {
	later := time.NewTimer(time.Hour) // a birth is answered
	defer later.Stop()
	waits := false
	silent := time.NewTimer(echoTimeout)
	defer silent.Stop()
	s.look()
	for {
		// One message, and then whatever else there is: nothing waits for all of them.
		more, ready := s.next()
		next := make(chan struct{})
		if ready {
			if err := s.publish(ctx, more); err != nil {
				return err
			}
			close(next)
			silent.Reset(echoTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.l.lost:
			return err
		case <-s.b.changed:
			s.look()
		case h := <-s.b.news:
			if err := s.happened(ctx, h); err != nil {
				return err
			}
		case <-s.echo:
			s.heard()
		case <-silent.C:
			if !s.up {
				return fmt.Errorf("%w: what it says under %s does not come back: may it write there and read it?", errRefused, s.b.a.availability())
			}
		case <-s.births:
			if !waits {
				waits = true
				later.Reset(time.Duration(s.b.o.Random()*float64(birthDelay)) + max(0, birthEvery-time.Since(s.answer)))
			}
		case <-later.C:
			waits = false
			s.answer = time.Now()
			clear(s.sent)
			s.look()
		case <-next:
		}
	}
}

// heard says that the broker takes what this device says, and lets it hear.
func (s *session) heard() {
	b := s.b
	if s.up {
		return
	}
	s.up = true
	b.mu.Lock()
	b.v.links++
	n := b.v.links
	b.mu.Unlock()
	b.touch()
	b.o.Conditions.Clear(condition.HomeUnseen)
	b.o.Log.Info(logUp, "broker", s.here.Broker, "links", n)
}

// look makes of the view what the broker is to have, and notes what it is told of before it is.
func (s *session) look() {
	b := s.b
	b.mu.Lock()
	there := platforms(b.v.entities(b.a.rules))
	p, noted := s.here, b.n.at(s.here)
	p.Entities = union(noted.Entities, there)
	s.want = slices.DeleteFunc(b.a.wanted(&b.v, b.gone(p.Entities, there, time.Now()), s.l.takes), s.tooLarge)
	for _, m := range s.want {
		if p.Parts > 0 && m.topic == b.a.part(p.Parts) || m.topic == b.a.part(1) {
			p.Parts = max(2, p.Parts+1)
		}
	}
	grown := len(p.Entities) != len(noted.Entities) || p.Parts > noted.Parts
	if grown {
		b.n = b.n.with(p)
	}
	n := b.n
	b.mu.Unlock()
	if grown {
		if err := n.save(b.o.Note); err != nil {
			b.o.Log.Warn(logNote, "err", err)
		}
	}
}

// tooLarge says that the broker does not take a message, and logs that once.
func (s *session) tooLarge(m message) bool {
	if s.l.takes.fits(m) {
		return false
	}
	if !s.large[m.topic] {
		s.large[m.topic] = true
		s.b.o.Log.Warn(logTooLarge, "topic", m.topic)
	}
	return true
}

// gone are entities that have not been there for long enough.
func (b *Bridge) gone(ever, there map[string]string, now time.Time) map[string]string {
	gone := map[string]string{}
	for key, platform := range ever {
		if _, ok := there[key]; ok {
			delete(b.away, key)
			continue
		}
		if _, ok := b.away[key]; !ok {
			b.away[key] = now
		}
		if now.Sub(b.away[key]) >= b.o.Settle {
			gone[key] = platform
		}
	}
	return gone
}

// next is what the broker has to be told next.
func (s *session) next() (message, bool) {
	for _, m := range s.want {
		if was, ok := s.sent[m.topic]; !ok || was != m.payload {
			return m, true
		}
	}
	return message{}, false
}

func (s *session) publish(ctx context.Context, m message) error {
	s.last = m
	if err := s.l.publish(ctx, m, ackTimeout); err != nil {
		return errors.Join(err, lostOf(s.l))
	}
	if m.retained {
		s.sent[m.topic] = m.payload
	}
	return nil
}

func (s *session) happened(ctx context.Context, h told) error {
	if time.Since(h.at) > newsLast {
		return nil
	}
	return s.publish(ctx, s.b.a.happened(h.happening))
}

// arrived takes what the broker brings. It runs on the library's goroutine, and does not wait.
func (s *session) arrived(m paho.Message) {
	var token chan<- struct{}
	switch m.Topic() {
	case s.b.a.birth():
		token = s.births
		if string(m.Payload()) == offline && s.b.a.rules.mayListen { // who pressed from there cannot let go any more
			select {
			case s.b.lanes[keyTalk] <- request{entity: keyTalk, path: "/release", lets: true}:
			default: // turn.listen_s ends it
			}
		}
	case s.b.a.availability():
		token = s.echo
	default:
		s.b.commanded(m)
		return
	}
	if m.Retained() || string(m.Payload()) != online { // what was kept is older than what this link tells
		return
	}
	select {
	case token <- struct{}{}:
	default:
	}
}

// commanded takes what somebody wants.
func (b *Bridge) commanded(m paho.Message) {
	b.mu.Lock()
	r, why := b.a.decode(b.v.entities(b.a.rules), m.Topic(), m.Payload())
	if why == "" && m.Retained() {
		why = isRetained // it would be obeyed at every start
	}
	if why == "" {
		why = b.gate.pass(r, time.Since(b.start))
	}
	b.mu.Unlock()
	if why == "" {
		lane, ok := b.lanes[r.entity]
		if !ok {
			lane = b.lanes[""]
		}
		select {
		case lane <- r:
			return
		default:
			why = queued
		}
	}
	b.refuse(m.Topic(), why)
}

// refuse logs what is not obeyed, a line now and then.
func (b *Bridge) refuse(topic string, why problem) {
	b.mu.Lock()
	l := b.refused[why]
	if l == nil {
		l = &line{}
		b.refused[why] = l
	}
	l.held++
	n := l.held
	if !l.at.IsZero() && time.Since(l.at) < refusedEvery {
		b.mu.Unlock()
		return
	}
	l.held, l.at = 0, time.Now()
	b.mu.Unlock()
	entity, _, _ := strings.Cut(strings.TrimPrefix(topic, b.a.base()+"/"), "/")
	b.o.Log.Info(logRefused, "entity", slug(entity), "why", string(why), "times", n)
}

// work does what is asked for, one after the other.
func (b *Bridge) work(ctx context.Context, lane <-chan request, parts *sync.WaitGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-lane:
			said, ok := r.body.(control.SayRequest)
			if !ok {
				b.ask(ctx, r)
				continue
			}
			in, err := said.Injection()
			if err != nil || said.Priority != "" && said.Priority != "normal" {
				select {
				case b.urgent <- struct{}{}:
					parts.Go(func() { // what waits for its turn to be said stands before nothing else
						defer func() { <-b.urgent }()
						b.ask(ctx, r)
					})
				default:
					b.refuse(b.a.of(r.entity, "set"), queued)
				}
				continue
			}
			select {
			case b.words <- sentence{r, said, time.Now(), in.TTL}:
			default:
				b.refuse(b.a.of(r.entity, "set"), queued)
			}
		}
	}
}

// sentence is one that is said behind those that came before it, unless that takes too long.
type sentence struct {
	request
	said control.SayRequest
	at   time.Time
	ttl  time.Duration
}

// recite has sentences said, one after the other.
func (b *Bridge) recite(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case x := <-b.words:
			waited := time.Since(x.at)
			if x.ttl-waited < time.Second {
				b.refuse(b.a.of(x.entity, "set"), tooLate)
				continue
			}
			if waited > time.Second {
				x.said.TTL = (x.ttl - waited).Round(time.Millisecond).String()
				x.body = x.said
			}
			b.ask(ctx, x.request)
		}
	}
}

func (b *Bridge) ask(ctx context.Context, r request) {
	limit := askLimit
	if r.words != "" {
		limit = sayLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if r.holds {
		b.held.Store(true)
	}
	var out any
	var hushed control.Hushed
	if r.path == hushPath {
		out = &hushed
	}
	err := b.o.Ask(ctx, "POST", r.path, r.body, out)
	if err == nil && !hushed.Whole() {
		err = errors.New(hushed.Words(language.English))
	}
	if r.lets {
		b.held.Store(false)
	}
	if err != nil {
		b.o.Log.Warn(logAsked, "entity", r.entity, "err", err)
		return
	}
	b.o.Log.Info(logAsked, "entity", r.entity)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
