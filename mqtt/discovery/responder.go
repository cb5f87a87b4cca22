package discovery

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	probesWanted  = 3                      // RFC 6762 8.1
	probeEvery    = 250 * time.Millisecond // likewise
	announceTwice = 2                      // RFC 6762 8.3
	announceTries = 10                     // an IPv6 address cannot send for the first second or two of its life
	sameAgain     = time.Second            // RFC 6762 6: the same records on the same link
	sameAgainRace = 250 * time.Millisecond // likewise, where a name is at stake
	alonePerSec   = 20
)

// sending is a packet to go out; to is not valid when it is for everybody.
type sending struct {
	link link
	to   netip.AddrPort
	data []byte
	tell bool // an announcement: unsent tells the responder when it failed
}

// responder decides what this device says when it answers itself. It is pure: time comes in, packets come in and go out.
// Owned by runOwn.
//
//	setService ──> probing ── 3 probes, 250 ms apart ──> ours ── announce, 1 s, announce ──> answers
//	                  ^  │ somebody has the name, or wants it and wins                          │
//	                  └──┴── the next label ("kitchen" -> "kitchen abcd") <── a conflict ───────┘
type responder struct {
	random  *rand.Rand // fixed
	service *Service   // nil: nothing is said
	level   int        // of label
	probes  int        // sent of this label
	probeAt time.Time  // the next one's, or when the last one has gone unanswered for long enough
	ours    bool       // nobody objected to the label
	ifs     []iface
	links   map[link]*linkState

	// Answers to somebody alone in this second.
	aloneSecond time.Time
	aloneCount  int
}

// linkState is what is due on one link. At every time an announcement and an answer are the same packet.
type linkState struct {
	said       time.Time // when everything was said last
	due        time.Time // zero: nothing is due
	meta       bool      // the answer that is due names the kind of service too
	announces  int       // announcements still to come
	tries      int       // announcements that could not be sent
	announceAt time.Time
}

func newResponder(random *rand.Rand) *responder {
	return &responder{random: random, links: map[link]*linkState{}}
}

func (r *responder) zone(index int) zone {
	z := zone{service: *r.service, label: label(*r.service, r.level)}
	for _, i := range r.ifs {
		if i.index == index {
			z.addrs = i.addrs()
		}
	}
	return z
}

// setService changes what is said; what is returned takes back what no longer holds.
func (r *responder) setService(now time.Time, s *Service) []sending {
	if r.service != nil && s != nil && *r.service == *s {
		return nil
	}
	if r.service != nil && s != nil && r.service.Name == s.Name && r.service.Device == s.Device {
		r.service = s
		r.announce(now)
		return nil
	}
	var out []sending
	if r.ours {
		out = r.everywhere(reply{ttl: 0})
	}
	r.service, r.level = s, 0
	r.probe(now)
	return out
}

// probe begins the contest for the label. The random wait is for devices that get their power at the same time.
func (r *responder) probe(now time.Time) {
	r.ours, r.probes, r.probeAt = false, 0, now.Add(time.Duration(r.random.Int64N(int64(probeEvery/2))))
	for _, l := range r.links {
		*l = linkState{said: l.said}
	}
}

// announce says everything on every link, twice, now if it is ours.
func (r *responder) announce(now time.Time) {
	for _, l := range r.links {
		l.announces, l.tries, l.announceAt = announceTwice, 0, now
	}
}

// setInterfaces changes where it is said. A link that is new, or whose addresses are, hears it unasked.
func (r *responder) setInterfaces(now time.Time, ifs []iface) {
	old := r.ifs
	r.ifs = ifs
	links := map[link]*linkState{}
	for _, i := range ifs {
		same := slices.ContainsFunc(old, func(o iface) bool {
			return o.index == i.index && o.name == i.name && slices.Equal(o.prefix, i.prefix)
		})
		for _, l := range i.links() {
			links[l] = r.links[l]
			if links[l] == nil || !same {
				links[l] = &linkState{announces: announceTwice, announceAt: now}
			}
		}
	}
	r.links = links
}

// next is when tick has something to do; zero: not before something happens.
func (r *responder) next() time.Time {
	if r.service == nil || len(r.links) == 0 {
		return time.Time{}
	}
	if !r.ours {
		return r.probeAt
	}
	var next time.Time
	for _, l := range r.links {
		for _, t := range []time.Time{l.due, l.announceTime()} {
			if !t.IsZero() && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

func (l *linkState) announceTime() time.Time {
	if l.announces == 0 {
		return time.Time{}
	}
	return l.announceAt
}

// tick sends what is due.
func (r *responder) tick(now time.Time) []sending {
	if r.service == nil || len(r.links) == 0 {
		return nil
	}
	if !r.ours {
		if now.Before(r.probeAt) {
			return nil
		}
		if r.probes == probesWanted {
			r.ours = true
			r.announce(now)
			return r.tick(now)
		}
		r.probes++
		r.probeAt = now.Add(probeEvery)
		var out []sending
		for l := range r.links {
			if data, err := r.zone(l.index).probe(); err == nil {
				out = append(out, sending{link: l, data: data})
			}
		}
		return out
	}
	var out []sending
	for l, st := range r.links {
		announce := st.announces > 0 && !now.Before(st.announceAt)
		if !announce && (st.due.IsZero() || now.Before(st.due)) {
			continue
		}
		if data, err := r.zone(l.index).answer(reply{ttl: ttl, meta: st.meta}); err == nil {
			out = append(out, sending{link: l, data: data, tell: announce})
		}
		if announce {
			st.announces--
			st.announceAt = now.Add(sameAgain)
		}
		st.said, st.due, st.meta = now, time.Time{}, false
	}
	return out
}

// unsent says that an announcement could not be sent: it is tried again, for a while.
func (r *responder) unsent(l link) {
	if st := r.links[l]; st != nil && st.tries < announceTries {
		st.tries++
		st.announces++
	}
}

func (r *responder) everywhere(how reply) []sending {
	var out []sending
	for l := range r.links {
		if data, err := r.zone(l.index).answer(how); err == nil {
			out = append(out, sending{link: l, data: data})
		}
	}
	return out
}

// handle takes a packet.
func (r *responder) handle(now time.Time, p packet, m message) []sending {
	st := r.links[p.link]
	if r.service == nil || st == nil || !r.neighbour(p) {
		return nil
	}
	z := r.zone(p.link.index)
	mine := fold(z.instance())
	if m.response {
		if p.from.Port() == mdnsPort && r.taken(z, mine, m.records) {
			r.rename(now)
		}
		return nil
	}
	if !r.ours {
		if r.beaten(z, mine, m.proposed) {
			r.rename(now)
		}
		return nil
	}
	asked, meta, unique, alone := r.asked(z, mine, m)
	if !asked {
		return nil
	}
	if p.from.Port() != mdnsPort {
		return r.legacy(now, p, m, z, meta)
	}
	// Who has asked for it is answered alone, if everybody else has heard it not long ago.
	if alone && now.Sub(st.said) < ttl*time.Second/4 && r.spare(now) {
		if data, err := z.answer(reply{ttl: ttl, meta: meta}); err == nil {
			return []sending{{link: p.link, to: p.from, data: data}}
		}
	}
	wait, again := time.Duration(0), sameAgain
	switch {
	case slices.ContainsFunc(m.proposed, func(rec record) bool { return rec.name == mine }):
		again = sameAgainRace
	case !unique: // others may have an answer too (RFC 6762 6)
		wait = 20*time.Millisecond + time.Duration(r.random.Int64N(int64(100*time.Millisecond)))
	}
	at := now.Add(wait)
	if soonest := st.said.Add(again); at.Before(soonest) {
		at = soonest
	}
	if st.due.IsZero() || at.Before(st.due) {
		st.due = at
	}
	st.meta = st.meta || meta
	return nil
}

// neighbour says that a packet came from the link, not through a router (RFC 6762 11).
func (r *responder) neighbour(p packet) bool {
	if p.group || p.from.Addr().IsLinkLocalUnicast() {
		return true
	}
	for _, i := range r.ifs {
		if onLink, _ := i.near(p.from.Addr()); i.index == p.link.index && onLink {
			return true
		}
	}
	return false
}

// asked says what of a query concerns us, whether only we can answer it, and whether the asker alone wants to know.
func (r *responder) asked(z zone, mine string, m message) (asked, meta, unique, alone bool) {
	known := slices.ContainsFunc(m.records, func(rec record) bool {
		return rec.kind == dnsmessage.TypePTR && rec.name == serviceName && rec.target == mine && rec.ttl >= ttl/2 // RFC 6762 7.1
	})
	is := func(q question, kinds ...dnsmessage.Type) bool {
		return q.kind == dnsmessage.TypeALL || slices.Contains(kinds, q.kind)
	}
	unique, alone = true, true
	for _, q := range m.questions {
		before := asked
		asked = false
		switch {
		case q.name == serviceName && is(q, dnsmessage.TypePTR) && !known:
			asked, unique = true, false
		case q.name == metaName && is(q, dnsmessage.TypePTR):
			asked, meta, unique = true, true, false
		case q.name == mine && is(q, dnsmessage.TypeSRV, dnsmessage.TypeTXT),
			q.name == fold(z.host()) && is(q, dnsmessage.TypeA, dnsmessage.TypeAAAA):
			asked = true
		}
		alone = alone && (q.alone || !asked)
		asked = asked || before
	}
	return asked, meta, unique, alone
}

// legacy answers one that does not speak multicast DNS: at once, to it alone, with its questions (RFC 6762 6.7). A sender's
// address is easily a lie, so that such answers are few and not much larger than what asked for them deserves.
func (r *responder) legacy(now time.Time, p packet, m message, z zone, meta bool) []sending {
	if len(m.questions) > 4 || !r.spare(now) {
		return nil
	}
	var echo []dnsmessage.Question
	for _, q := range m.questions {
		q.as.Class &^= topBit
		echo = append(echo, q.as)
	}
	data, err := z.answer(reply{ttl: legacyTTL, meta: meta, legacy: &m, echo: echo})
	if err != nil {
		return nil
	}
	return []sending{{link: p.link, to: p.from, data: data}}
}

// spare says that there is room for one more answer to somebody alone in this second.
func (r *responder) spare(now time.Time) bool {
	if now.Sub(r.aloneSecond) >= time.Second {
		r.aloneSecond, r.aloneCount = now, 0
	}
	r.aloneCount++
	return r.aloneCount <= alonePerSec
}

// taken says that an answer gives our label to another machine. The same device id is no other: it is we, through an avahi
// that ran until now, or under an older port.
func (r *responder) taken(z zone, mine string, records []record) bool {
	other := false
	for _, rec := range records {
		if rec.name != mine || rec.ttl == 0 {
			continue
		}
		switch rec.kind {
		case dnsmessage.TypeSRV:
			other = other || rec.target != fold(z.host())
		case dnsmessage.TypeTXT:
			if s, ok := readText(rec.text); ok && s.Device == r.service.Device {
				return false
			}
		}
	}
	return other
}

// beaten says that another one wants the same label at the same time and wins: the later data does (RFC 6762 8.2).
func (r *responder) beaten(z zone, mine string, proposed []record) bool {
	srv, err := z.srv()
	if err != nil {
		return false
	}
	own := srvData(srv)
	return slices.ContainsFunc(proposed, func(rec record) bool {
		return rec.name == mine && rec.kind == dnsmessage.TypeSRV && rec.target != fold(z.host()) && bytes.Compare(rec.rdata, own) > 0
	})
}

// rename takes the next label, if there is one: an objector that never ends is lying, and then the last one stays.
func (r *responder) rename(now time.Time) {
	if r.level < lastLevel {
		r.level++
		r.probe(now)
	}
}
