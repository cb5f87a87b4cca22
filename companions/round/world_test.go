package round

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// world is a room of shipped machines in virtual time: a network, a stage per device, people. Stories (story_test.go) script
// it; the simulation (sim_test.go) lets everything go wrong in it. Nothing sleeps, and a seed gives the same life again.
type world struct {
	r     *rand.Rand
	now   time.Duration
	queue events
	order int
	devs  []*dev
	net   network
	stage stageManners

	arrivals map[link]time.Duration // of the last packet per sender, topic and receiver: these keep their order
	ids      int
	stop     bool
	slow     func(from, to *dev, topic string) time.Duration      // on top of the network's delay
	seen     func(d *dev, ev Event, before Machine, out []Effect) // watches every Step
}

type link struct {
	from, to *dev
	topic    string
}

// network is how packets travel.
type network struct {
	min, max time.Duration // delay, one way
	loss     float64       // QoS 0: lost; QoS 1: sent again after resend
	resend   time.Duration
	twice    float64       // QoS 1 delivered twice
	extra    time.Duration // of the slowest device
}

// bound is one network delay: the longest that a QoS 1 packet is under way.
func (n network) bound() time.Duration {
	if n.loss > 0 {
		return n.max + n.extra + n.resend
	}
	return n.max + n.extra
}

// stageManners is how voices behave; nil functions of the simulation are chances.
type stageManners struct {
	ready  func() time.Duration // from Prepare to the first sample it could play
	length func() time.Duration
	fail   func(c CompanionID) bool // nothing comes of it
	act    func(c CompanionID) bool // it does what it is asked for, without a word
	hang   func(c CompanionID) bool // it never says what became of it, until it is abandoned
	answer func(p Prepare) string
}

type dev struct {
	w         *world
	id        DeviceID
	name      string
	cfg       Config
	m         Machine
	alive     bool
	frozen    time.Duration // until then
	held      []func()      // what waits for the thaw
	group     int           // half of the network; -1: cut off
	offset    time.Duration // its clock began at another time
	life      int           // restarts
	wakeAt    time.Duration
	speeches  []*speech
	model     int // one of models, from 1; 0: any
	steps     int
	connected time.Duration // in the same half, awake, and alive since
	turn      string        // the button is held
	liar      bool          // says what it likes, besides what its machine says
	list      []Listed      // of members; none: nobody says
}

// speech is what the stage makes of one Prepare.
type speech struct {
	p        Prepare
	id       MessageID
	text     string
	ready    time.Duration
	spoken   bool
	sounding bool
	began    time.Duration
	unheard  time.Duration // from here on its words are made, and nobody hears them
	length   time.Duration
	over     bool
	dead     bool // hangs
	fails    bool
	acts     bool
}

type happening struct {
	at    time.Duration
	order int
	f     func()
}

type events []happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	old[len(old)-1] = happening{}
	*e = old[:len(old)-1]
	return x
}

func newWorld(seed, n uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, n)), arrivals: map[link]time.Duration{}}
	w.net = network{min: 5 * time.Millisecond, max: 5 * time.Millisecond}
	w.stage = stageManners{
		ready:  func() time.Duration { return 300 * time.Millisecond },
		length: func() time.Duration { return 2 * time.Second },
		fail:   func(CompanionID) bool { return false },
		act:    func(CompanionID) bool { return false },
		hang:   func(CompanionID) bool { return false },
		answer: func(p Prepare) string { return "This is " + string(p.Companion) + "." },
	}
	return w
}

func (w *world) after(d time.Duration, f func()) {
	w.order++
	heap.Push(&w.queue, happening{w.now + max(d, 0), w.order, f})
}

// run lets time pass up to t.
func (w *world) run(t time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= t && !w.stop {
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		h.f()
	}
	w.now = t
}

func (w *world) between(a, b time.Duration) time.Duration {
	if b <= a {
		return a
	}
	return a + time.Duration(w.r.Int64N(int64(b-a)))
}

func (w *world) newID() MessageID {
	w.ids++
	return MessageID(fmt.Sprintf("m%06d", w.ids))
}

// add makes a device; start lets it live.
func (w *world) add(id DeviceID, name string, cards ...Card) *dev {
	cfg := DefaultConfig()
	cfg.Self, cfg.Name, cfg.Cards = id, name, cards
	d := &dev{w: w, id: id, name: name, cfg: cfg}
	w.devs = append(w.devs, d)
	return d
}

func (d *dev) start() {
	d.alive, d.group, d.life = true, 0, d.life+1
	d.connected = d.w.now
	d.offset = d.w.now
	if d.w.r.IntN(2) == 0 {
		d.offset = -time.Duration(d.w.r.IntN(5)) * time.Hour // clocks hours apart
	}
	d.m, d.wakeAt, d.speeches, d.held, d.frozen, d.turn = New(d.cfg), 0, nil, nil, 0, ""
	if d.list != nil {
		d.step(MembersListed{d.clock(), d.list})
	}
	d.step(LinkChanged{d.clock(), true})
}

// clock is the device's own.
func (d *dev) clock() time.Duration { return d.w.now - d.offset }

// soon runs f for the device as it is now: not after a restart, and after a thaw.
func (d *dev) soon(after time.Duration, f func()) {
	life := d.life
	d.w.after(after, func() { d.whenAwake(life, f) })
}

func (d *dev) whenAwake(life int, f func()) {
	switch {
	case !d.alive || d.life != life:
	case d.frozen > d.w.now:
		d.held = append(d.held, f)
	default:
		f()
	}
}

// step feeds a fact and carries out the orders.
func (d *dev) step(ev Event) {
	before := d.m
	var out []Effect
	d.m, out = Step(d.m, ev)
	d.steps++
	for _, e := range out {
		d.carry(e)
	}
	if d.w.seen != nil {
		d.w.seen(d, ev, before, out)
	}
	if at, ok := d.m.Wake(); ok {
		if d.wakeAt == 0 || at < d.wakeAt {
			d.wakeAt = at
			d.soon(at-d.clock(), func() { d.wake(at) })
		}
	}
}

func (d *dev) wake(at time.Duration) {
	if d.wakeAt != at {
		return
	}
	d.wakeAt = 0
	d.step(Tick{At: d.clock(), ID: d.w.newID()})
}

func (d *dev) carry(e Effect) {
	switch e := e.(type) {
	case Send:
		d.w.send(d, e.Packet)
	case Prepare:
		d.prepare(e)
	case Speak:
		if s := d.speech(e.Place, e.Companion); s != nil {
			s.spoken = true
			d.begin(s)
		}
	case Abandon:
		if s := d.speech(e.Place, e.Companion); s != nil {
			d.cut(s)
		}
	case Hush:
		for _, s := range d.speeches {
			if e.Sounding && s.sounding { // its words are made to their end
				s.sounding, s.unheard = false, d.w.now
				d.soon(d.w.stage.ready(), func() { d.cut(s) })
			}
		}
		if e.Sounding {
			return
		}
		for _, s := range d.speeches {
			s.sounding = s.sounding && s.over // silent at once; the Abandon that follows tells the machine
			if !s.over {
				s.began = min(s.began, d.w.now)
			}
		}
	}
}

func (d *dev) speech(p Place, c CompanionID) *speech {
	for _, s := range d.speeches {
		if s.p.Place == p && s.p.Companion == c && !s.over {
			return s
		}
	}
	return nil
}

func (d *dev) prepare(p Prepare) {
	st := d.w.stage
	s := &speech{p: p, id: d.w.newID(), text: st.answer(p), ready: d.w.now + st.ready(), length: st.length(), dead: st.hang(p.Companion), fails: st.fail(p.Companion), acts: st.act(p.Companion)}
	d.speeches = append(slices.DeleteFunc(d.speeches, func(s *speech) bool { return s.over }), s)
	d.soon(s.ready-d.w.now, func() {
		switch {
		case s.over || s.dead:
		case s.fails:
			d.end(s, false, false)
		default:
			d.begin(s)
		}
	})
}

// begin lets it be heard when it is ready and may.
func (d *dev) begin(s *speech) {
	if s.over || s.dead || s.fails || s.sounding || s.unheard > 0 || !s.spoken || d.w.now < s.ready {
		return
	}
	if s.acts {
		d.act(s)
		return
	}
	s.sounding, s.began = true, d.w.now
	p, c := s.p.Place, s.p.Companion
	d.soon(0, func() {
		if !s.over {
			d.step(SpeechBegan{d.clock(), p, c})
		}
	})
	known := s.length / 2
	d.soon(known, func() {
		if !s.over && s.unheard == 0 {
			d.step(SpeechKnown{d.clock(), p, c, s.id, s.text, s.length - known})
		}
	})
	d.soon(s.length, func() { d.end(s, true, false) })
}

func (d *dev) end(s *speech, ok, cut bool) {
	if s.over || ok && s.unheard > 0 {
		return
	}
	s.over, s.sounding = true, false
	e := SpeechEnded{Place: s.p.Place, Companion: s.p.Companion, ID: s.id, OK: ok, Cut: cut}
	if d.w.now >= s.ready && !s.fails {
		e.Said = s.text
	}
	if s.began > 0 {
		e.Heard = cmp.Or(s.unheard, d.w.now) - s.began
		e.Text = s.text
		if cut {
			e.Text = s.text[:len(s.text)*int(min(e.Heard, s.length)*100/s.length)/100]
		}
	}
	d.soon(time.Millisecond, func() { e.At = d.clock(); d.step(e) })
}

// act ends one that does what it is asked for without a word.
func (d *dev) act(s *speech) {
	if s.over {
		return
	}
	s.over = true
	e := SpeechEnded{Place: s.p.Place, Companion: s.p.Companion, Acted: true, Why: "done"}
	d.soon(time.Millisecond, func() { e.At = d.clock(); d.step(e) })
}

func (d *dev) cut(s *speech) { d.end(s, false, s.began > 0) }

// sounding is what can be heard from the device now. A frozen one is silent: its sound card starves.
func (d *dev) soundings() []*speech {
	if !d.alive || d.frozen > d.w.now {
		return nil
	}
	var list []*speech
	for _, s := range d.speeches {
		if s.sounding && !s.over {
			list = append(list, s)
		}
	}
	return list
}

func topicOf(p Packet) (topic string, qos1, both bool) {
	switch p.(type) {
	case Beat, Gone, HistoryAsk, History, Control:
		return "presence", false, false
	case Message:
		return "messages", true, false
	case Votes:
		return "states", true, false
	case Press, PressOver:
		return "floor", true, true
	case Seen:
		return "ledger", false, false
	}
	return "floor", true, false
}

// send is the broker: topics are lanes that keep their order per sender, and do not keep it among each other.
func (w *world) send(from *dev, p Packet) {
	for _, to := range w.devs {
		if to != from {
			w.route(from, to, p)
		}
	}
}

func (w *world) route(from, to *dev, p Packet) {
	topic, qos1, both := topicOf(p)
	if from.group < 0 || from.group != to.group || !to.alive {
		return
	}
	lost := w.net.loss > 0 && w.r.Float64() < w.net.loss
	if both && !lost { // press: QoS 0, on a lane of its own, and again QoS 1
		w.deliver(from, to, "floor0", p, w.between(w.net.min, w.net.max))
	}
	switch {
	case lost && !qos1:
	case lost:
		w.deliver(from, to, topic, p, w.net.resend+w.between(w.net.min, w.net.max))
	default:
		w.deliver(from, to, topic, p, w.between(w.net.min, w.net.max))
	}
	if qos1 && w.net.twice > 0 && w.r.Float64() < w.net.twice {
		w.deliver(from, to, topic, p, w.between(w.net.min, w.net.max))
	}
}

func (w *world) deliver(from, to *dev, topic string, p Packet, delay time.Duration) {
	if w.slow != nil {
		delay += w.slow(from, to, topic)
	}
	l := link{from, to, topic}
	at := max(w.now+delay, w.arrivals[l])
	w.arrivals[l] = at
	life := to.life
	w.after(at-w.now, func() {
		if from.group < 0 || from.group != to.group {
			return // under way when the network broke
		}
		to.whenAwake(life, func() { to.step(Received{to.clock(), from.id, p}) })
	})
}

// kill ends a device like a pulled plug: the broker tells the others by its last will.
func (d *dev) kill() {
	d.alive, d.speeches, d.held = false, nil, nil
	d.w.lastWill(d)
}

func (w *world) lastWill(d *dev) {
	for _, to := range w.devs {
		if to != d && to.alive && to.group == d.group {
			w.deliver(d, to, "presence", Gone{}, w.between(w.net.min, w.net.max))
		}
	}
}

// freeze stops a device and keeps its connection: everything comes late.
func (d *dev) freeze(t time.Duration) {
	d.frozen = d.w.now + t
	life := d.life
	d.w.after(t, func() {
		if d.life != life || !d.alive {
			return
		}
		d.connected = d.w.now
		held := d.held
		d.held = nil
		for _, f := range held {
			d.whenAwake(life, f)
		}
	})
}

// cutOff takes a device from the broker; it notices after a while.
func (d *dev) cutOff(notices time.Duration) {
	d.w.lastWill(d)
	d.group = -1
	d.soon(notices, func() {
		if d.group < 0 {
			d.step(LinkChanged{d.clock(), false})
		}
	})
}

func (d *dev) plugIn() {
	d.group, d.connected = 0, d.w.now
	d.step(LinkChanged{d.clock(), false})
	d.step(LinkChanged{d.clock(), true})
}

// split tears the network in two halves without anybody being told; heal mends it.
func (w *world) split(second ...*dev) {
	for _, d := range second {
		if d.group == 0 {
			d.group = 1
		}
	}
}

func (w *world) heal() {
	for _, d := range w.devs {
		if d.group == 1 {
			d.group = 0
		}
		d.connected = w.now
	}
}

// press and say are the person at a device.
func (d *dev) press(turn string) {
	for _, s := range d.speeches {
		if s.sounding {
			d.cut(s) // the button's own path is shorter than any machine
		}
	}
	d.turn = turn
	d.step(Pressed{At: d.clock(), Turn: turn})
}

func (d *dev) say(turn, text string, to ...Participant) MessageID {
	id := d.w.newID()
	d.turn = ""
	d.step(Said{d.clock(), id, turn, text, to, false})
	return id
}
