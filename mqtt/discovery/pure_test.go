package discovery

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/dns/dnsmessage"
	"pgregory.net/rapid"

	"conch/companions/round"
)

// eth is an interface as the pure parts see one.
func eth(index int, prefix ...string) iface {
	i := iface{index: index, name: fmt.Sprint("eth", index)}
	for _, p := range prefix {
		i.prefix = append(i.prefix, netip.MustParsePrefix(p))
	}
	return i
}

func testService(letter byte, name string) *Service {
	return &Service{Name: name, Room: "home", RoomID: "rabcdefghijklmno", Device: deviceID(letter), Port: 7483}
}

// play is a responder in time of its own.
type play struct {
	t   *testing.T
	r   *responder
	now time.Time
}

func newPlay(t *testing.T, ifs ...iface) *play {
	p := &play{t: t, r: newResponder(rand.New(rand.NewPCG(1, 2))), now: time.Unix(1000, 0)}
	p.r.setInterfaces(p.now, ifs)
	return p
}

// pass lets time go by and returns what was sent, and when.
func (p *play) pass(d time.Duration) (out []sent) {
	end := p.now.Add(d)
	for {
		next := p.r.next()
		if next.IsZero() || next.After(end) {
			p.now = end
			return out
		}
		if next.After(p.now) {
			p.now = next
		}
		for _, s := range p.r.tick(p.now) {
			out = append(out, sent{s, p.now, p.read(s.data)})
		}
	}
}

type sent struct {
	sending
	at time.Time
	m  message
}

func (p *play) read(data []byte) message {
	p.t.Helper()
	m, err := parse(data)
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *play) established(s *Service) *play {
	p.r.setService(p.now, s)
	p.pass(5 * time.Second)
	if !p.r.ours {
		p.t.Fatal("the name is not ours")
	}
	return p
}

func (p *play) hear(data []byte, from string) []sending {
	p.t.Helper()
	return p.r.handle(p.now, packet{data: data, link: link{index: 1}, from: netip.MustParseAddrPort(from), group: true}, p.read(data))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

const neighbour = "10.0.0.2:5353"

// Three probes, then two announcements a second apart, then silence (RFC 6762 8).
func TestAnnouncing(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24"))
	p.r.setService(p.now, testService('a', "kitchen"))
	out := p.pass(time.Hour)
	var probes, answers []sent
	for _, s := range out {
		if s.m.response {
			answers = append(answers, s)
		} else {
			probes = append(probes, s)
		}
	}
	if len(probes) != 3 || len(answers) != 2 {
		t.Fatalf("%d probes, %d announcements", len(probes), len(answers))
	}
	if probes[2].at.Sub(probes[0].at) != 2*probeEvery || answers[0].at.Sub(probes[2].at) < probeEvery || answers[1].at.Sub(answers[0].at) != time.Second {
		t.Errorf("times: %v %v %v", probes[0].at, answers[0].at, answers[1].at)
	}
	bye := p.r.setService(p.now, nil)
	if len(bye) != 1 {
		t.Fatalf("%d goodbyes", len(bye))
	}
	for _, r := range p.read(bye[0].data).records {
		if r.ttl != 0 {
			t.Errorf("not a goodbye: %+v", r)
		}
	}
	if out := p.pass(time.Hour); len(out) > 0 {
		t.Errorf("it goes on: %v", out)
	}
}

// However often one asks, everything is said once a second on a link, a moment later than asked, and not to who knows it.
func TestAnswers(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24"), eth(2, "10.1.0.1/24")).established(testService('a', "kitchen"))
	ask := must(query(nil, nil, false))
	var answers []sent
	for range 300 {
		p.hear(ask, neighbour)
		answers = append(answers, p.pass(10*time.Millisecond)...)
	}
	if len(answers) != 3 {
		t.Errorf("%d answers in three seconds", len(answers))
	}
	for _, a := range answers {
		if a.link.index != 1 {
			t.Errorf("answered on another interface: %+v", a.link)
		}
		for _, r := range a.m.records {
			if r.kind == dnsmessage.TypeA && r.addr.String() != "10.0.0.1" {
				t.Errorf("the other interface's address: %v", r.addr)
			}
		}
	}
	p.pass(time.Minute)
	p.hear(must(query([]string{"kitchen"}, nil, false)), neighbour)
	if out := p.pass(time.Minute); len(out) > 0 {
		t.Error("answered what was known")
	}
	p.hear(must(query([]string{"kitchen"}, []question{{name: "kitchen." + serviceName, kind: dnsmessage.TypeTXT}}, false)), neighbour)
	if out := p.pass(time.Minute); len(out) != 1 {
		t.Errorf("%d answers to a question for one record", len(out))
	}
}

// The first question of a look is answered at once and alone where everybody has just heard the same, and else for everybody.
func TestAnswerAlone(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24")).established(testService('a', "kitchen"))
	ask := must(query(nil, nil, true))
	out := p.hear(ask, neighbour)
	if len(out) != 1 || out[0].to.String() != neighbour {
		t.Fatalf("%+v", out)
	}
	if out := p.pass(time.Minute); len(out) > 0 {
		t.Error("and everybody was told too")
	}
	if out := p.hear(ask, neighbour); len(out) > 0 {
		t.Error("nobody has heard it for a minute, and only one was told")
	}
	if out := p.pass(time.Second); len(out) != 1 || out[0].to.IsValid() {
		t.Errorf("%+v", out)
	}
	count := 0
	for range 1000 {
		count += len(p.hear(ask, neighbour))
	}
	if count > alonePerSec {
		t.Errorf("%d answers at once", count)
	}
	mixed := newWriter(dnsmessage.Header{})
	mixed.do(mixed.b.StartQuestions)
	mixed.ask(serviceName, dnsmessage.TypePTR, true)
	mixed.ask("kitchen."+serviceName, dnsmessage.TypeTXT, false)
	p.pass(2 * time.Second)
	if out := p.hear(must(mixed.finish()), neighbour); len(out) > 0 {
		t.Error("one question was for everybody to hear")
	}
}

// An ordinary resolver is answered at once and alone, with its number and question, without the bit that only we understand; a
// few times a second, and never one that is not on this network.
func TestLegacyQuestion(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24")).established(testService('a', "kitchen"))
	w := newWriter(dnsmessage.Header{ID: 77})
	w.do(w.b.StartQuestions)
	w.ask(serviceName, dnsmessage.TypePTR, false)
	ask := must(w.finish())
	out := p.hear(ask, "10.0.0.2:40000")
	if len(out) != 1 || out[0].to.String() != "10.0.0.2:40000" {
		t.Fatalf("%+v", out)
	}
	if m := p.read(out[0].data); m.id != 77 || len(m.questions) != 1 || m.records[0].ttl != legacyTTL {
		t.Errorf("%+v", m)
	}
	var raw dnsmessage.Message
	if err := raw.Unpack(out[0].data); err != nil {
		t.Fatal(err)
	}
	for _, a := range raw.Answers {
		if a.Header.Class != dnsmessage.ClassINET {
			t.Errorf("class %v", a.Header.Class)
		}
	}
	count := 0
	for range 100 {
		count += len(p.hear(ask, "10.0.0.2:40000"))
	}
	if count >= 100 || count > alonePerSec {
		t.Errorf("%d answers at once", count)
	}
	p.pass(time.Minute)
	far := packet{data: ask, link: link{index: 1}, from: netip.MustParseAddrPort("203.0.113.9:40000")}
	if out := p.r.handle(p.now, far, p.read(ask)); len(out) > 0 {
		t.Error("answered one who is not on this network")
	}
}

// Whoever objects is given way, three times: then the name has the whole id and stays.
func TestObjectorIsBounded(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24")).established(testService('a', "kitchen"))
	var names []string
	for range 20 {
		l := label(*p.r.service, p.r.level)
		names = append(names, l)
		liar := zone{service: *testService('z', ""), label: l}
		p.hear(must(liar.answer(reply{ttl: ttl})), neighbour)
		if last := l == label(*testService('a', "kitchen"), lastLevel); p.r.ours != last {
			t.Errorf("%q: still ours is %v", l, p.r.ours)
		}
		p.pass(10 * time.Second)
	}
	want := []string{"kitchen", "kitchen aaaa", "kitchen aaaaaaaa", "kitchen " + string(deviceID('a')), "kitchen " + string(deviceID('a'))}
	if fmt.Sprint(names[:5]) != fmt.Sprint(want) || !p.r.ours {
		t.Errorf("names: %q, ours: %v", names, p.r.ours)
	}
}

// Two want one name in the same moment: the later data wins, and the other one takes its next label at once.
func TestNameContest(t *testing.T) {
	for _, letters := range []string{"ab", "ba"} {
		own, other := testService(letters[0], "kitchen"), testService(letters[1], "Kitchen")
		p := newPlay(t, eth(1, "10.0.0.1/24"))
		p.r.setService(p.now, own)
		p.pass(200 * time.Millisecond)
		rival := zone{service: *other, label: label(*other, 0)}
		p.hear(must(rival.probe()), neighbour)
		if lost := p.r.level > 0; lost != (letters == "ab") {
			t.Errorf("%s: lost is %v", letters, lost)
		}
	}
	t.Log("one that comes later and asks is told at once")
	p := newPlay(t, eth(1, "10.0.0.1/24")).established(testService('a', "kitchen"))
	rival := zone{service: *testService('b', "kitchen"), label: "kitchen"}
	p.hear(must(rival.probe()), neighbour)
	if out := p.pass(probeEvery - time.Millisecond); len(out) != 1 {
		t.Errorf("%d defences", len(out))
	}
	t.Log("our own id in another answer is no rival: it was avahi's, for us")
	mine := zone{service: *testService('a', "kitchen"), label: "kitchen"}
	data := must(mine.answer(reply{ttl: ttl}))
	m := p.read(data)
	for i := range m.records {
		if m.records[i].kind == dnsmessage.TypeSRV {
			m.records[i].target = "pi.local."
		}
	}
	p.r.handle(p.now, packet{link: link{index: 1}, from: netip.MustParseAddrPort(neighbour), group: true}, m)
	if p.r.level != 0 {
		t.Error("gave way to itself")
	}
}

// An address that changes, or an interface that comes, is announced there, and only there, without being asked for.
func TestChangesAreAnnounced(t *testing.T) {
	p := newPlay(t, eth(1, "10.0.0.1/24"), eth(2, "10.1.0.1/24")).established(testService('a', "kitchen"))
	p.r.setInterfaces(p.now, []iface{eth(1, "10.0.0.1/24"), eth(2, "10.1.0.1/24")})
	if out := p.pass(time.Minute); len(out) > 0 {
		t.Errorf("nothing changed, and it says %+v", out)
	}
	p.r.setInterfaces(p.now, []iface{eth(1, "10.0.0.9/24"), eth(2, "10.1.0.1/24"), eth(3, "fe80::3/64")})
	on := map[int]int{}
	for _, s := range p.pass(time.Minute) {
		on[s.link.index]++
	}
	if on[1] != announceTwice || on[2] != 0 || on[3] != announceTwice {
		t.Errorf("announcements on the interfaces: %v", on)
	}
}

// An announcement that could not be sent is tried again, but not for ever.
func TestAnnouncementThatFails(t *testing.T) {
	p := newPlay(t, eth(1, "fe80::1/64"))
	p.r.setService(p.now, testService('a', "kitchen"))
	tries := 0
	for range 100 {
		for _, s := range p.pass(10 * time.Second) {
			if s.tell {
				tries++
				p.r.unsent(s.link)
			}
		}
	}
	if tries != announceTwice+announceTries {
		t.Errorf("%d tries", tries)
	}
}

// answerOf is what a device of that letter says on 10.0.0.0/24.
func answerOf(letter byte, name string, addrs ...string) zone {
	z := zone{service: *testService(letter, name)}
	z.label = label(z.service, 0)
	for _, a := range addrs {
		z.addrs = append(z.addrs, netip.MustParseAddr(a))
	}
	return z
}

// What a browse keeps is bounded, whatever is said.
func TestCollectorIsBounded(t *testing.T) {
	c := newCollector(deviceID('a'), []iface{eth(1, "10.0.0.1/24")})
	for k := range 1000 {
		z := answerOf('z', fmt.Sprint("liar ", k))
		for i := range 20 {
			z.addrs = append(z.addrs, netip.AddrFrom4([4]byte{10, 0, byte(k), byte(i)}))
		}
		m, err := parse(must(z.answer(reply{ttl: ttl})))
		if err != nil {
			t.Fatal(err)
		}
		c.take(1, m)
	}
	found := c.found()
	if len(c.instances) != maxKnown || len(c.hosts) > maxKnown || len(found) > maxFound {
		t.Errorf("%d instances, %d hosts, %d found", len(c.instances), len(c.hosts), len(found))
	}
	for _, f := range found {
		if len(f.Addresses) > maxAddresses {
			t.Errorf("%d addresses", len(f.Addresses))
		}
	}
	known, missing := c.open()
	if len(must(query(known, missing, true))) > 1400 {
		t.Error("a question that fits into no packet")
	}
}

// Only addresses that a neighbour can have are taken, the likeliest first, link-local ones with the zone they were heard in.
func TestAddresses(t *testing.T) {
	c := newCollector(deviceID('a'), []iface{eth(1, "10.0.0.1/24", "fd00:1::1/64")})
	z := answerOf('b', "kitchen", "8.8.8.8", "127.0.0.1", "::1", "224.0.0.1", "2001:db8::1", "0.0.0.0", "192.168.9.9", "fe80::7", "fd00:1::7", "10.0.0.7")
	m, err := parse(must(z.answer(reply{ttl: ttl})))
	if err != nil {
		t.Fatal(err)
	}
	c.take(2, m)
	if len(c.found()) > 0 {
		t.Error("heard on an interface that is not asked")
	}
	c.take(1, m)
	want := "[10.0.0.7:7483 [fd00:1::7]:7483 [fe80::7%eth1]:7483 192.168.9.9:7483]"
	if f := c.found(); len(f) != 1 || fmt.Sprint(f[0].Addresses) != want {
		t.Errorf("found %+v, want %s", f, want)
	}
	own := newCollector(deviceID('b'), []iface{eth(1, "10.0.0.1/24")})
	own.take(1, m)
	if len(own.found()) > 0 {
		t.Error("found itself")
	}
}

// A packet that carries somebody else's name with a dot in it still yields ours.
func TestDottedNeighbour(t *testing.T) {
	z := answerOf('b', "kitchen", "10.0.0.7")
	data := must(z.answer(reply{ttl: ttl}))
	// A TXT record of "a.b" + root, class IN, empty text, put in front.
	foreign := []byte{3, 'a', '.', 'b', 0, 0, 16, 0, 1, 0, 0, 0, 9, 0, 1, 0}
	w := newWriter(dnsmessage.Header{Response: true})
	w.do(w.b.StartAnswers)
	plain := must(w.finish())
	plain = append(plain, foreign...)
	plain[7] = 1
	if m, err := parse(plain); err != nil || len(m.records) != 0 {
		t.Fatalf("%v, %+v", err, m)
	}
	// Behind ours, so that ours keeps its pointers.
	data = append(data, foreign...)
	data[7]++
	m, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(deviceID('a'), []iface{eth(1, "10.0.0.1/24")})
	c.take(1, m)
	if len(c.found()) != 1 {
		t.Error("ours was lost")
	}
}

// What is written is read back, whatever the names are; what is shown is printable and bounded.
func TestServiceThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Service{
			Name: rapid.String().Draw(t, "name"), Room: rapid.String().Draw(t, "room"), RoomID: rapid.SampledFrom([]string{"", "rabcdefghijklmno"}).Draw(t, "id"),
			Device: round.DeviceID(rapid.StringMatching("[a-z2-7]{20}").Draw(t, "device")), Pairing: rapid.Bool().Draw(t, "pairing"), Port: rapid.IntRange(1, 65535).Draw(t, "port"),
		}
		level := rapid.IntRange(0, 5).Draw(t, "level")
		z := zone{service: s, label: label(s, level), addrs: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}
		data, err := z.answer(reply{ttl: ttl, meta: true})
		if err != nil {
			t.Fatal(err)
		}
		m, err := parse(data)
		if err != nil {
			t.Fatal(err)
		}
		c := newCollector("", []iface{eth(1, "10.0.0.1/24")})
		c.take(1, m)
		found := c.found()
		if len(found) != 1 {
			t.Fatalf("found %+v in %+v", found, m)
		}
		got := found[0].Service
		if got.Room != printable(s.Room, maxRoom) || got.RoomID != s.RoomID || got.Device != s.Device || got.Pairing != s.Pairing || got.Port != s.Port {
			t.Errorf("%+v became %+v", s, got)
		}
		shown(t, got)
		if level > 0 && !strings.HasSuffix(got.Name, string(s.Device[:4])) && !strings.Contains(got.Name, " "+string(s.Device[:4])) {
			t.Errorf("level %d of %q is %q", level, s.Name, got.Name)
		}
		if probe, err := z.probe(); err != nil || len(probe) > 512 {
			t.Errorf("probe of %d bytes: %v", len(probe), err)
		}
	})
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// shown checks what people and logs will see.
func shown(t failer, s Service) {
	t.Helper()
	for _, name := range []string{s.Name, s.Room} {
		if !utf8.ValidString(name) || len(name) > maxRoom || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("not for eyes: %q", name)
		}
	}
	if s.Name == "" {
		t.Errorf("no name")
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(strings.Join(testService('a', "kitchen").text(), "\n")))
	f.Add([]byte("v=1\nv=2\ndev=aaaaaaaaaaaaaaaaaaaa\nroom=\xff\xfe\u202e\nid=r\npair=YES"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var text []string
		for part := range bytes.SplitSeq(data, []byte("\n")) {
			text = append(text, string(part))
		}
		s, ok := readText(text)
		if !ok {
			return
		}
		s.Name, s.Port = nameOf(string(data)), 1
		shown(t, s)
		if !s.valid() {
			t.Errorf("accepted %+v", s)
		}
		again, ok := readText(s.text())
		again.Name, again.Port = s.Name, s.Port
		if !ok || again != s {
			t.Errorf("%+v became %+v", s, again)
		}
	})
}

func FuzzPacket(f *testing.F) {
	z := answerOf('b', "kitchen", "10.0.0.7", "fe80::1")
	f.Add(must(z.answer(reply{ttl: ttl, meta: true})))
	f.Add(must(z.probe()))
	f.Add(must(query([]string{"kitchen"}, []question{{name: "bath." + serviceName, kind: dnsmessage.TypeALL}}, true)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parse(data)
		if err != nil {
			return
		}
		if len(m.questions) > maxQuestions || len(m.records) > maxRecords || len(m.proposed) > maxRecords {
			t.Error("more than is looked at")
		}
		c := newCollector(deviceID('a'), []iface{eth(1, "10.0.0.1/24")})
		c.take(1, m)
		for _, f := range c.found() {
			shown(t, f.Service)
		}
		if known, missing := c.open(); len(known)+len(missing) > 0 {
			_, _ = query(known, missing, true)
		}
		r := newResponder(rand.New(rand.NewPCG(1, 2)))
		now := time.Unix(1000, 0)
		r.setInterfaces(now, []iface{eth(1, "10.0.0.1/24")})
		r.setService(now, testService('a', "kitchen"))
		for range 8 {
			r.handle(now, packet{data: data, link: link{index: 1}, from: netip.MustParseAddrPort(neighbour), group: true}, m)
			now = now.Add(probeEvery)
			if out := r.tick(now); len(out) > 1 {
				t.Errorf("%d packets for one", len(out))
			}
		}
	})
}

// Which interfaces lead nowhere is read from the kernel's own description of them.
func TestInward(t *testing.T) {
	sys := t.TempDir()
	for _, file := range []string{
		"eth0/device", "wlan0/device", "vpn0/tun_flags", "docker0/bridge", "docker0/brif/veth1", "veth1/master",
		"br0/bridge", "br0/brif/eth1", "eth1/device", "eth1/master", "br1/bridge", "br1/brif/eth2.7", "eth2.7/lower_eth2", "virbr0/bridge", "virbr0/brif", "container/iflink",
	} {
		if err := os.MkdirAll(filepath.Join(sys, file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"eth0": false, "wlan0": false, "vpn0": true, "docker0": true, "veth1": true, "br0": false, "eth1": true,
		"br1": false, "virbr0": true, "container": false, "unknown": false,
	} {
		if got := inward(sys, name); got != want {
			t.Errorf("%s: inward is %v", name, got)
		}
	}
}

// TestVeil: a stranger reads nothing lasting in a record; who knows device and room recognises them; a record of an older version is what it says.
func TestVeil(t *testing.T) {
	s := Service{Name: "kitchen", Room: "home", RoomID: "rabcdefghijklmno", Device: "abcdefghijklmnopqrst", Port: 7483}
	one, other := s.Veiled(NewSalt()), s.Veiled(NewSalt())
	for _, v := range []Service{one, other} {
		if !v.valid() || v.Device == s.Device || v.RoomID == s.RoomID {
			t.Errorf("veiled it is %+v", v)
		}
		if said := strings.Join(append(v.text(), label(v, 0), label(v, lastLevel), hostOf(v)), " "); strings.Contains(said, string(s.Device)) ||
			strings.Contains(said, s.RoomID) || strings.Contains(said, s.Name) {
			t.Errorf("a stranger reads %s", said)
		}
		back, ok := readText(v.text())
		if !ok || !back.IsDevice(s.Device) || !back.IsRoom(s.RoomID) || back.IsDevice("tsrqponmlkjihgfedcba") || back.IsRoom("ronmlkjihgfedcba") {
			t.Errorf("who knows it reads %+v, %v", back, ok)
		}
	}
	if one.Device == other.Device || one.RoomID == other.RoomID || one.Name == other.Name && one.Salt == other.Salt {
		t.Errorf("two salts: %+v and %+v", one, other)
	}
	old, ok := readText([]string{"v=1", "dev=abcdefghijklmnopqrst", "id=rabcdefghijklmno", "pair=no", "room=home"})
	if !ok || !old.IsDevice(s.Device) || !old.IsRoom(s.RoomID) || old.Salt != "" {
		t.Errorf("an older version's record: %+v, %v", old, ok)
	}
	for _, salt := range []string{"", "short", "0000000000000000", strings.Repeat("a", 200)} {
		if bad, ok := readText([]string{"v=1", "dev=abcdefghijklmnopqrst", "id=", "salt=" + salt}); !ok || bad.Salt != "" {
			t.Errorf("salt %q is taken for %q", salt, bad.Salt)
		}
	}
}
