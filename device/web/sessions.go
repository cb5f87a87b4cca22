package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/device/control"
	"conch/device/printable"
)

// Bounds of sessions.
const (
	sessionLife = 30 * 24 * time.Hour // since it was used last
	sessionKept = 24 * time.Hour      // how old the time on disk may be
	maxSessions = 64
	maxAgent    = 60
	secretSize  = 32
	maxKept     = 128 << 10 // bytes of what is kept of them
)

// ErrNoSession: nobody has a session of that id.
var ErrNoSession = fmt.Errorf("%w: there is no such session; conch web sessions lists them", control.ErrRefused)

// session is a browser that was let in. Of its secret only the hash is known.
type session struct {
	ID      string    `json:"id"`
	Hash    []byte    `json:"hash"` // SHA-256 of the cookie
	Made    time.Time `json:"made"`
	Seen    time.Time `json:"seen"` // on disk, at most sessionKept too old
	Rights  Rights    `json:"rights"`
	Way     way       `json:"way"`
	Agent   string    `json:"agent,omitempty"`
	Address string    `json:"address,omitempty"`

	kept time.Time       // what disk has as Seen
	ctx  context.Context // ends with the session
	end  context.CancelFunc
}

func (s *session) over(now time.Time) bool { return now.Sub(s.Seen) > sessionLife }

// sessions are those there are.
type sessions struct {
	now  func() time.Time
	save func([]byte) error // nil: only in memory
	log  *slog.Logger

	saving sync.Mutex // one at a time, in the order of what they write
	mu     sync.Mutex
	all    []*session
	key    []byte // of the tokens of those who need no session
}

// keptSessions is what is written down.
type keptSessions struct {
	Key      []byte     `json:"key"`
	Sessions []*session `json:"sessions"`
}

// newSessions takes those that were kept. What cannot be read is an error, and there are none then.
func newSessions(kept []byte, now func() time.Time, save func([]byte) error, log *slog.Logger) (*sessions, error) {
	s := &sessions{now: now, save: save, log: log, key: random(secretSize)}
	if len(kept) == 0 {
		return s, nil
	}
	var k keptSessions
	if len(kept) > maxKept {
		return s, fmt.Errorf("%d bytes, at most %d", len(kept), maxKept)
	}
	if err := json.Unmarshal(kept, &k); err != nil {
		return s, err
	}
	if len(k.Key) == secretSize {
		s.key = k.Key
	}
	for _, one := range k.Sessions {
		if one == nil || len(one.Hash) != sha256.Size || one.ID == "" || len(s.all) == maxSessions || one.over(now()) {
			continue
		}
		one.kept = one.Seen
		one.ctx, one.end = context.WithCancel(context.Background())
		s.all = append(s.all, one)
	}
	return s, nil
}

// random are so many bytes that nobody guesses.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return b
}

// spelled is a secret that a person may have to type.
var spelled = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// begin makes a session, and returns the secret of its cookie, which is known nowhere else. Where there is no room, the one that was used
// longest ago ends. An error: it counts, and is not written down.
func (s *sessions) begin(rights Rights, how way, agent, address string) (*session, string, error) {
	secret := base64.RawURLEncoding.EncodeToString(random(secretSize))
	now := s.now()
	one := &session{Hash: hash(secret), Made: now, Seen: now, Rights: rights, Way: how, Agent: shortAgent(agent), Address: address}
	one.ctx, one.end = context.WithCancel(context.Background())
	s.mu.Lock()
	s.forget(func(o *session) bool { return o.over(now) })
	for len(s.all) >= maxSessions {
		oldest := slices.MinFunc(s.all, func(a, b *session) int { return a.Seen.Compare(b.Seen) })
		s.forget(func(o *session) bool { return o == oldest })
	}
	for one.ID == "" || slices.ContainsFunc(s.all, func(o *session) bool { return o.ID == one.ID }) {
		one.ID = spelled.EncodeToString(random(5))
	}
	s.all = append(s.all, one)
	s.mu.Unlock()
	return one, secret, s.write()
}

func hash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// shortAgent is what a browser calls itself, as far as a line of a list has room.
func shortAgent(agent string) string { return printable.Cut(printable.Text(cut(agent, 512)), maxAgent) }

func cut(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}

// forget ends those that it is said of. It needs mu.
func (s *sessions) forget(which func(*session) bool) (n int) {
	s.all = slices.DeleteFunc(s.all, func(o *session) bool {
		if !which(o) {
			return false
		}
		o.end()
		n++
		return true
	})
	return n
}

// find is the session of a cookie that came on its way, as it is now. Once a day it is renewed, and so has to be the cookie.
func (s *sessions) find(secret string, how way) (one session, renewed, ok bool) {
	var found *session
	h, now := hash(secret), s.now()
	s.mu.Lock()
	for _, o := range s.all { // all of them, whichever it is
		if subtle.ConstantTimeCompare(o.Hash, h) == 1 {
			found = o
		}
	}
	if found == nil || found.Way != how || found.over(now) {
		s.mu.Unlock()
		return session{}, false, false
	}
	if now.After(found.Seen) {
		found.Seen = now
	}
	if renewed = found.Seen.Sub(found.kept) >= sessionKept; renewed {
		found.kept = found.Seen
	}
	one = *found
	s.mu.Unlock()
	if renewed {
		_ = s.write() // it says so itself; after a restart, this session ends a day early
	}
	return one, renewed, true
}

// write writes all of them down.
func (s *sessions) write() error {
	if s.save == nil {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	for _, o := range s.all {
		o.kept = o.Seen
	}
	data, err := json.Marshal(keptSessions{Key: s.key, Sessions: s.all})
	s.mu.Unlock()
	if err == nil {
		err = s.save(data)
	}
	if err != nil {
		s.log.Warn("web.unsaved", "err", err)
	}
	return err
}

// revoke ends the session of an id; empty: all of them. An error may mean that it is not written down, which the caller has to hear.
func (s *sessions) revoke(id string) (n int, err error) {
	s.mu.Lock()
	n = s.forget(func(o *session) bool { return id == "" || o.ID == strings.ToLower(id) })
	s.mu.Unlock()
	if n == 0 {
		if id == "" {
			return 0, nil
		}
		return 0, ErrNoSession
	}
	s.log.Info("web.revoked", "sessions", n)
	return n, s.write()
}

// Row is a session as it is listed.
type Row struct {
	ID      string    `json:"id"`
	Made    time.Time `json:"made"`
	Seen    time.Time `json:"seen"`
	Until   time.Time `json:"until"` // unless it is used until then
	Rights  Rights    `json:"rights"`
	Way     string    `json:"way"` // local, plain or tls: it counts on no other
	Agent   string    `json:"agent"`
	Address string    `json:"address"` // where it was let in
}

// rows lists them, the one that was used last first.
func (s *sessions) rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, now := make([]Row, 0, len(s.all)), s.now()
	for _, o := range s.all {
		if !o.over(now) {
			list = append(list, Row{o.ID, o.Made, o.Seen, o.Seen.Add(sessionLife), o.Rights, string(o.Way), o.Agent, o.Address})
		}
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Or(b.Seen.Compare(a.Seen), cmp.Compare(a.ID, b.ID)) })
	return list
}
