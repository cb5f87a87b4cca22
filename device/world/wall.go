package world

import (
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
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

	looked  atomic.Int64 // unix nanoseconds
	looking atomic.Bool  // a goroutine looks, and owns what it has found
	zone    atomic.Pointer[time.Location]
	target  string
	file    os.FileInfo
}

// NewWall begins with the zone that Go has read at the start of the process.
func NewWall(log *slog.Logger) *Wall {
	w := &Wall{path: "/etc/localtime", log: log}
	w.zone.Store(time.Local)
	if _, set := os.LookupEnv("TZ"); set {
		w.path = ""
	}
	return w
}

// Now is the time, in the zone of the system as it was a second ago. It does not wait for the disk.
func (w *Wall) Now() time.Time {
	now := time.Now()
	if w.path == "" {
		return now
	}
	if since := time.Duration(now.UnixNano() - w.looked.Load()); since.Abs() >= zoneEvery && w.looking.CompareAndSwap(false, true) {
		w.looked.Store(now.UnixNano())
		go func() { // one at a time; it ends with the disk's answer
			defer w.looking.Store(false)
			w.look()
		}()
	}
	return now.In(w.zone.Load())
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
		w.log.Info(logZone, "from", w.zone.Load().String(), "to", name)
	}
	w.file, w.target = file, target
	w.zone.Store(zone)
}
