package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/device/language"
)

//go:embed page
var files embed.FS

// Options are what a page is of.
type Options struct {
	Door     *Door
	Boxes    []Box // never empty
	Stage    Stage // nil: nobody talks here
	Language language.Language
	Log      *slog.Logger
	Patient  bool            // a page that cannot be opened is tried again until it can
	Opened   func()          // the page can be opened, or there is to be none; nil: nobody asks
	Trouble  func(err error) // the page cannot be reached as it was wished, and what to do; nil: it can. May be called on any goroutine
}

// Box is a device as the page has it.
type Box struct {
	Name    string // its name; no two boxes have the same
	Feed    *control.Feed
	Picture func(ctx context.Context) control.Picture // but for what was before
	Control func() http.Handler                       // what its control socket serves; nil: it is not there now
}

// Server serves the page.
type Server struct {
	o     Options
	again time.Duration // after which what is wrong is looked at again: troubleAgain, but in tests
}

// New makes a server; nothing is opened before Run.
func New(o Options) *Server { return &Server{o: o, again: troubleAgain} }

// How often it is looked at whether the page is as it was wished: a certificate that was renewed counts without a restart, and so does one
// that was mended, or a port that is free again. Our choice.
const (
	troubleEvery = time.Minute
	troubleAgain = 5 * time.Second // while something is wrong
)

// Run serves until ctx ends. Where the page cannot be opened, Trouble is told why, and who is not patient does without.
func (s *Server) Run(ctx context.Context) error {
	list, err := s.o.Door.Listen()
	for err != nil {
		s.o.Trouble(err)
		if !s.o.Patient {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.again):
		}
		list, err = s.o.Door.Listen()
	}
	if s.o.Opened != nil {
		s.o.Opened()
	}
	if len(list) == 0 {
		return nil
	}
	srv := s.o.Door.Server(s.mux())
	srv.BaseContext = func(net.Listener) context.Context { return ctx } // streams and sockets end with it
	ended := make(chan error, len(list))
	for _, l := range list {
		go func() { ended <- srv.Serve(l) }() // awaited below
	}
	s.o.Log.Info("web.open", "pages", strings.Join(s.o.Door.Pages(), " "))
	look := time.NewTimer(s.look())
	defer look.Stop()
	var failed error
	over := ctx.Done()
	for left := len(list); left > 0; {
		select {
		case <-look.C:
			look.Reset(s.look())
		case <-over:
			over = nil
			_ = srv.Close()
		case err := <-ended:
			if left--; !errors.Is(err, http.ErrServerClosed) {
				failed = fmt.Errorf("web: %w", err)
			}
		}
	}
	return failed
}

// look says what is wrong with the certificate, and when to look again.
func (s *Server) look() time.Duration {
	err := s.o.Door.Check()
	s.o.Trouble(err)
	if err != nil {
		return s.again
	}
	return troubleEvery
}

// mux is what there is behind the door.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /{file}", file)
	mux.HandleFunc("GET /clips.json", s.clips)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /talk", s.talk)
	mux.HandleFunc("POST /api/link", s.invite)
	mux.HandleFunc("GET /api/link", s.invited)
	mux.HandleFunc("/api/{device}/{action...}", s.act)
	return mux
}

// kinds are those of the page's files, as Content-Type has them. The machine's own table is not read for that: it is long, and not the same
// everywhere.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8"}

// file answers with a file of the page, or that it is the same as before. Nothing of them is in memory while nobody asks.
func file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	kind := kinds[path.Ext(name)]
	data, err := files.ReadFile("page/" + name)
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(data)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("Cache-Control", "no-cache") // it is asked for, and mostly the same
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// index is the page, for whoever asks.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	v := VisitFrom(r.Context())
	talk := v.Talk
	if s.o.Stage == nil {
		talk = TalkNo
	}
	meta := func(name, value string) string {
		return fmt.Sprintf(`<meta name="conch-%s" content="%s">`, name, html.EscapeString(value))
	}
	lang := string(s.o.Language)
	if lang == "" {
		lang = string(language.English)
	}
	data, err := files.ReadFile("page/index.html")
	if err != nil {
		panic(err) //nolint:forbidigo // it is in the program
	}
	text := string(data)
	for name, value := range map[string]string{"token": v.Token, "rights": string(v.Rights), "talk": string(talk), "lang": lang} {
		text = strings.Replace(text, meta(name, ""), meta(name, value), 1)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the browser has gone: its loss
}

// clips are the sentences for what goes wrong, by the codes that turns have, and behind a section's name those for why somebody speaks or does
// not, and for conditions, by theirs.
func (s *Server) clips(w http.ResponseWriter, r *http.Request) {
	l := language.Language(r.URL.Query().Get("lang"))
	if !l.Known() {
		l = s.o.Language
	}
	all := l.Section("clip")
	for code, text := range l.Section("why") {
		all["why."+code] = text
	}
	for code, clip := range condition.Clips() {
		all["wrong."+string(code)] = all[clip]
	}
	for code, text := range l.Section("wrong") {
		all["wrong."+code] = text
	}
	control.Reply(w, all, nil)
}
