package world

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// logZone: the zone of the house is another: from, to.
const logZone = "clock.zone"

// zoneEvery is how often the file of the zone is looked at, and maxZone how long one may be. Our choices.
const (
	zoneEvery = time.Second
	maxZone   = 1 << 20
)

// Wall is the clock on the wall in the zone that the system has now: /etc/localtime may be replaced while conch runs, and Go reads it once.
type Wall struct {
	path string // empty: TZ says the zone, and that stays
	log  *slog.Logger

	mu     sync.Mutex // guards what follows
	looked time.Time
	target string
	file   os.FileInfo
	zone   *time.Location
}

// NewWall reads the zone when it is asked for the time first.
func NewWall(log *slog.Logger) *Wall {
	w := &Wall{path: "/etc/localtime", log: log, zone: time.Local}
	if _, set := os.LookupEnv("TZ"); set {
		w.path = ""
	}
	return w
}

// Now is the time, in the zone of the system.
func (w *Wall) Now() time.Time {
	now := time.Now()
	if w.path == "" {
		return now
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looked.IsZero() || now.Sub(w.looked).Abs() >= zoneEvery {
		w.looked = now
		w.look()
	}
	return now.In(w.zone)
}

// look reads the zone if its file is another one. One that is not there, or is none, leaves all as it is.
func (w *Wall) look() {
	file, err := os.Stat(w.path)
	target, _ := os.Readlink(w.path) // empty: it is a file
	if err != nil || file.Size() > maxZone ||
		w.file != nil && target == w.target && os.SameFile(file, w.file) && file.ModTime().Equal(w.file.ModTime()) && file.Size() == w.file.Size() {
		return
	}
	data, err := os.ReadFile(w.path)
	if err != nil {
		return
	}
	name := "Local"
	if _, after, ok := strings.Cut(target, "zoneinfo/"); ok {
		name = after
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return
	}
	if w.file != nil {
		w.log.Info(logZone, "from", w.zone.String(), "to", name)
	}
	w.file, w.target, w.zone = file, target, zone
}
