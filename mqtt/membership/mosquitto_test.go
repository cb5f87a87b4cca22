package membership

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// serverPapers are a broker's, from an authority that openssl made.
func serverPapers(t *testing.T) (ca, cert, key string) {
	t.Helper()
	ca, caKey := foreignCA(t)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	csr, ext := filepath.Join(dir, "csr"), filepath.Join(dir, "ext")
	if err := os.WriteFile(ext, []byte("subjectAltName=IP:127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := program(t, nil, "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", csr, "-subj", "/CN=broker")
	must(t, out, err)
	out, err = program(t, nil, "openssl", "x509", "-req", "-in", csr, "-CA", ca, "-CAkey", caKey, "-CAcreateserial", "-days", "10", "-extfile", ext, "-out", cert)
	must(t, out, err)
	return ca, cert, key
}

// A Mosquitto as somebody runs it: password, TLS, and the access list that conch prints.
func TestARoomOnAMosquitto(t *testing.T) {
	const topicRoom, password = "the kitchen", "open sesame"
	acl, err := MosquittoACL(topicRoom)
	if err != nil {
		t.Fatal(err)
	}
	ca, cert, key := serverPapers(t)
	broker := mqtttest.Start(t, mqtttest.Options{
		Users: map[string]string{"conch": password, "guest": "guest"}, ACL: acl, CAFile: ca, CertFile: cert, KeyFile: key,
	})
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := at(today)
	host, kitchen, cellar := fresh(t, c.Clock()), fresh(t, c.Clock()), fresh(t, c.Clock())
	if err := host.Found(topicRoom, "host", true); err != nil {
		t.Fatal(err)
	}
	pair(t, host, kitchen, "kitchen")
	if len(files(t, host.dir)) != 1 || host.BrokerTLS() != nil {
		t.Errorf("somebody else's broker, and this device has %v", files(t, host.dir))
	}
	run := func(d *device) {
		d.run(mqtt.Config{URL: broker.URL(), User: "conch", PasswordFile: secret, CAFile: ca})
		d.up()
	}
	run(host)
	run(kitchen)
	host.change(Confirmed, kitchen.id.ID()) // by what it says, for nobody sees it connect
	pair(t, kitchen, cellar, "cellar")      // through the host
	run(cellar)
	host.change(Confirmed, cellar.id.ID())
	says(t, cellar, kitchen)

	// Who has the password, and is no member or says it is another one.
	eve := identity(t)
	p := papers{ca: ca}
	host1, port, _ := net.SplitHostPort(broker.Addr())
	as := func(id, user, password string) []string {
		return []string{"-h", host1, "-p", port, "-V", "311", "--cafile", p.ca, "-i", id, "-u", user, "-P", password}
	}
	root := "conch/v1/" + topicRoom
	lines := listenWith(t, append(as(string(eve.ID()), "conch", password), "-t", root+"/+/+"))
	pub := func(id, topic, what string) {
		if out, err := program(t, []byte(what), "mosquitto_pub", append(as(id, "conch", password), "-t", topic, "-q", "1", "-s")...); err != nil {
			t.Logf("%s: %v %s", topic, err, out)
		}
	}
	own := identity(t).ID()
	until(t, "the listener hears", func() bool {
		pub(string(own), root+"/floor/"+string(own), "are you there?")
		return slices.ContainsFunc(drain(lines), func(s string) bool { return strings.Contains(s, "are you") })
	})
	for _, topic := range []string{root + "/floor/" + string(kitchen.id.ID()), root + "/members/" + string(host.id.ID()), "conch/v1/cellar/floor/" + string(own), "elsewhere"} {
		pub(string(own), topic, "forbidden")
	}
	pub(string(own), root+"/floor/"+string(own), "the last")
	for line := ""; !strings.Contains(line, "the last"); {
		if line = mqtttest.Await(t, lines, "the last word"); strings.Contains(line, "forbidden") {
			t.Errorf("it came: %s", line)
		}
	}

	// The broker's operator may replay what was said: an old list, as it went over the wire, after somebody was removed.
	recorded := record1(t, lines, root+"/members/"+string(host.id.ID()), func() { host.LinkUp() })
	if err := kitchen.Remove(t.Context(), cellar.id.ID()); err != nil {
		t.Fatal(err)
	}
	if c := cellar.change(Out, cellar.id.ID()); !errors.Is(c.Why, ErrRemoved) {
		t.Errorf("%v", c.Why)
	}
	until(t, "the list is here", func() bool { return !kitchen.Member(cellar.id.ID()) })
	before := kitchen.Room().Version
	out, err := program(t, []byte(recorded), "mosquitto_pub", append(as(string(host.id.ID()), "conch", password), "-t", root+"/members/"+string(host.id.ID()), "-q", "1", "-s")...)
	must(t, out, err) // Mosquitto believes an id: the host's connection is lost by it
	host.link(false)
	host.up()
	if err := host.Remove(t.Context(), identity(t).ID()); !errors.Is(err, ErrNoMember) {
		t.Errorf("%v", err)
	}
	says(t, host, kitchen)
	if kitchen.Member(cellar.id.ID()) || kitchen.Room().Version < before {
		t.Errorf("the recording counts: %+v", kitchen.Room())
	}
}

func drain(lines <-chan string) (out []string) {
	for {
		select {
		case l := <-lines:
			out = append(out, l)
		default:
			return out
		}
	}
}

// record1 is the next thing that is said under a topic.
func record1(t *testing.T, lines <-chan string, topic string, ask func()) string {
	t.Helper()
	ask()
	for {
		if payload, ok := strings.CutPrefix(mqtttest.Await(t, lines, "a recording"), topic+" "); ok && strings.Contains(payload, noteList) {
			return payload
		}
	}
}

func TestAnAccessListForARoomThatCannotHaveOne(t *testing.T) {
	for _, room := range []string{"", "a/b", "a+", "#", " den", "den ", "d\nen"} {
		if acl, err := MosquittoACL(room); err == nil {
			t.Errorf("%q: %s", room, acl)
		}
	}
}
