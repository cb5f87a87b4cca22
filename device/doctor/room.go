package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"conch/companions/round"
	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
	"conch/device/provider"
	"conch/mqtt"
)

// What doctor looks at of the room. Each finding stands for itself: none needs the appliance to run, and where it
// does, what it says counts more than a second look from outside.

// configured is a look at what a configuration says; none at one that was refused, of which nobody knows who lives here.
func configured(look func(context.Context, config.Config) []Finding) func(context.Context, *Machine, *Subject) []Finding {
	return func(ctx context.Context, _ *Machine, s *Subject) []Finding {
		if s.Config == nil || s.Refused != nil {
			return nil
		}
		return look(ctx, *s.Config)
	}
}

func checkCards(_ context.Context, cfg config.Config) []Finding {
	r := cards.Check(cfg)
	var out []Finding
	for _, p := range r.Problems {
		out = append(out, bad("cards", p.Text, "a card says what is not allowed", "mend the card and restart; the others load")...)
	}
	var names []string
	for _, c := range r.Companions {
		names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Source))
	}
	return append(out, ok("cards", "%s", strings.Join(names, ", "))...)
}

// networkWait bounds each look at a network. Our choice: a household's network answers in milliseconds.
const networkWait = 3 * time.Second

func checkRoom(ctx context.Context, cfg config.Config) []Finding {
	c := cfg.Room
	s, running := runningRoom(ctx, cfg)
	out := checkIdentity(cfg)
	out = append(out, checkPairing(ctx, cfg, s, running)...)
	paired := slices.ContainsFunc(out, func(f Finding) bool { return f.Check == "paired" && f.Level == OK })
	if c.Broker != "" && (!paired || len(cfg.Room.IDs()) > 0) {
		out = append(out, checkMembers(cfg, s)...)
	}
	switch {
	case c.Broker == "": // see checkPairing
	case running && s.Connected:
		out = append(out, ok("broker", "%s, connected", s.Broker)...)
	case running:
		out = append(out, bad("broker", fmt.Sprintf("%s: the running conch is not connected", s.Broker), "the condition room.cut says why",
			"do what the condition room.cut says; this device works alone meanwhile")...)
	case c.Broker == "embedded":
		out = append(out, checkListen(ctx, c.Listen)...)
	default:
		for _, address := range c.Brokers() {
			out = append(out, checkBroker(ctx, cfg, address)...)
		}
	}
	out = append(out, checkVotes(ctx, &cfg)...)
	if !running {
		return out
	}
	for _, m := range s.Members {
		if m.Version > 0 && m.Version < round.Version {
			out = append(out, tip("room", printable.Name(m.Name)+" runs an older conch", "upgrade it: until then it hushes and converses by what both know")...)
		}
	}
	ignored := s.Ignored()
	for _, why := range slices.Sorted(maps.Keys(ignored)) {
		if n := ignored[why]; n > 0 && s.Wire != nil && s.Wire.Refused[mqtt.Reason(why)] > 0 {
			do := "nothing changed by it; conch room list shows the last one"
			if mqtt.Reason(why) == mqtt.ReasonStranger {
				do = "if it is a device of yours, put its id into room.members of all of them: " + s.Wire.Last[mqtt.ReasonStranger]
			}
			out = append(out, tip("room", fmt.Sprintf("%s ignored: %s", packetsWere(n), why), do)...)
		}
	}
	return out
}

func packetsWere(n uint64) string {
	if n == 1 {
		return "1 packet was"
	}
	return printable.Count(n, "packet") + " were"
}

func runningRoom(ctx context.Context, cfg config.Config) (s control.RoomStatus, running bool) {
	r, err := control.Dial(cfg)
	if err != nil {
		return s, false
	}
	ctx, cancel := context.WithTimeout(ctx, networkWait)
	defer cancel()
	return s, r.Do(ctx, "GET", "/room", nil, &s) == nil
}

func checkIdentity(cfg config.Config) []Finding {
	id, err := mqtt.ReadIdentity(cfg.State.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tip("identity", "this device has no id yet", "conch room id makes and prints it, for room.members of the others")
	case err != nil:
		return bad("identity", strings.TrimPrefix(err.Error(), "mqtt: "), "another user wrote it, or others may read it",
			"give the user that conch runs as the file, and no other: "+printable.Chmod("600", filepath.Join(cfg.State.Dir, "identity.key")))
	}
	return ok("identity", "%s", id.ID())
}

// checkMembers looks at room.members, and, if the appliance runs, at who of them is here.
func checkMembers(cfg config.Config, s control.RoomStatus) []Finding {
	others := cfg.Room.IDs()
	if id, err := mqtt.ReadIdentity(cfg.State.Dir); err == nil {
		others = slices.DeleteFunc(others, func(d round.DeviceID) bool { return d == id.ID() })
	}
	switch {
	case len(others) == 0:
		return warn("members", "room.members names no other device: nobody will be heard", "a device hears only those that are named there",
			"put the ids of all devices there; conch room id prints a device's own")
	case s.Device == "": // it does not run
		return ok("members", "%d other devices in room.members", len(others))
	case len(s.Missing) > 0:
		return warn("members", fmt.Sprintf("%d of %d other devices are not here: %s", len(s.Missing), len(others),
			strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Missing), " ", ", "), "[]")),
			"they are off, cut off, or do not know this device",
			fmt.Sprintf("is conch running there, with room.name %q, the same broker, and this device (%s) in room.members?", cfg.Room.Name, s.Device))
	}
	return ok("members", "%d other devices, all here", len(others))
}

// checkListen: could the embedded broker listen there?
func checkListen(ctx context.Context, address string) []Finding {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return bad("broker", fmt.Sprintf("room.listen: %v", err), "the embedded broker cannot listen there",
			"another broker has the port (ss -ltnp shows it): use that one as room.broker, or set room.listen")
	}
	_ = l.Close()
	host, _, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return tip("broker", "embedded, at "+address+": other machines cannot reach it", "set room.listen = \"0.0.0.0:1883\", in a network that you trust")
	}
	return ok("broker", "embedded, at %s", address)
}

// checkBroker connects as the appliance would, and says nothing to the room. It is done only while the appliance does not
// run, whose connection it would end.
func checkBroker(ctx context.Context, cfg config.Config, address string) []Finding {
	c := cfg.Room
	id, err := mqtt.ReadIdentity(cfg.State.Dir)
	if err != nil {
		if id, err = mqtt.NewIdentity(); err != nil { // a passing one: doctor makes no file
			return bad("broker", err.Error(), "this machine gives no random numbers", "dmesg | grep -i random")
		}
	}
	began := time.Now()
	err = mqtt.Probe(ctx, mqtt.Config{
		URL: address, Room: c.Name, Identity: id, ConnectTimeout: networkWait,
		User: c.User, PasswordFile: c.PasswordFile, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile,
	})
	if err == nil {
		return ok("broker", "%s lets this device in, in %d ms", address, time.Since(began).Milliseconds())
	}
	cause, do := "it is off, elsewhere, or the network is down", "check room.broker and the network"
	switch {
	case errors.Is(err, mqtt.ErrCredentials), errors.Is(err, mqtt.ErrNotAuthorized) && c.User != "":
		cause, do = "the user or the password is wrong, or the broker's access list does not name the room",
			"check room.user and room.password_file, and that the broker's access list allows conch/v1/"+c.Name+"/#"
	case errors.Is(err, mqtt.ErrNotAuthorized):
		cause, do = "it lets in only those it knows", "set room.user and room.password_file, or room.cert_file and room.key_file"
	case errors.Is(err, mqtt.ErrTLS):
		cause, do = "the certificates, the clock or the scheme do not fit",
			"check the scheme and port of room.broker, room.ca_file, room.cert_file and the clock"
	case errors.Is(err, mqtt.ErrNoBroker):
		cause, do = "something else listens there, or only one of the two speaks TLS", "check the scheme and port of room.broker"
	case errors.Is(err, mqtt.ErrSettings):
		cause, do = "a setting of [room] is wrong", "mend the setting"
	}
	return bad("broker", strings.TrimPrefix(err.Error(), "mqtt: "), cause, do+"; this device works alone meanwhile")
}

// checkVotes: can the chat server that refines votes be reached, and can its key be read?
func checkVotes(ctx context.Context, cfg *config.Config) []Finding {
	c := cfg.Room
	address, model, why := provider.Votes(cfg)
	switch {
	case c.Votes == "rules" && c.VoteURL != "":
		return tip("votes", "room.vote_url is set, and room.votes = \"rules\": no model is asked", "set room.votes = \"auto\", or take room.vote_url out")
	case c.Votes == "rules":
		return nil
	case address == "":
		return warn("votes", "room.votes = \""+c.Votes+"\", and the rules alone vote", why,
			"name a chat server, room.vote_url, and its model, room.vote_model; or set room.votes = \"rules\"")
	}
	if c.VoteKeyFile != "" {
		if _, err := config.ReadSecret(c.VoteKeyFile); err != nil {
			return bad("votes", "room.vote_key_file: "+err.Error(), "the file is missing, empty or of another user",
				"put the key, and nothing else, into the file, mode 0600")
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return bad("votes", "room.vote_url cannot be read", "a slip", "write it like https://HOST/v1")
	}
	took, why := reach(ctx, u, map[string]string{"https": "443", "http": "80"}[u.Scheme])
	if why != "" {
		return warn("votes", why, "it is off, elsewhere, or the network is down", "check room.vote_url; until then the rules alone vote")
	}
	return ok("votes", "%s at %s votes within %d ms, %d calls a message at most; reachable in %d ms", model, u.Host, c.VoteBudget.Milliseconds(),
		c.Calls, took.Milliseconds())
}

// reach opens a TCP connection to the host of u, and says in words why it could not.
func reach(ctx context.Context, u *url.URL, port string) (took time.Duration, why string) {
	if p := u.Port(); p != "" {
		port = p
	}
	ctx, cancel := context.WithTimeout(ctx, networkWait)
	defer cancel()
	began := time.Now()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return 0, fmt.Sprintf("%s: the name cannot be looked up: %v", u.Hostname(), dns.Err)
	case err != nil:
		return 0, fmt.Sprintf("%s cannot be reached: %v", u.Host, err)
	}
	_ = c.Close()
	return time.Since(began), ""
}
