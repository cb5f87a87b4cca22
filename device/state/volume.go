package state

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"conch/device/config"
	"conch/device/control"
)

// The volume is the one setting that a person also changes by word ("louder", "set the volume to 35"), and finds again after a
// restart. What was said last counts, and so does what was written last:
//
//	audio.volume in file, environment or flag    is set, and is what it was when the volume was kept: the kept one counts
//	                                             is set, and is not what it was then: it counts, and is kept from now on
//	                                             is not set by anybody: the kept one counts

const (
	volumeKey  = "audio.volume"
	volumeName = "volume" // of the value in the state directory
	remembered = "remembered"
	quietHours = "the quiet hours"
	untilDay   = "asked for, until the end of " + quietHours
)

// keptVolume is the value.
type keptVolume struct {
	Percent    int
	Configured *int `json:",omitempty"` // audio.volume when it was kept; nil: nobody had set it
}

// counts says whether it goes over the configuration.
func (k keptVolume) counts(have bool, c *config.Config) bool {
	if !have || k.Percent < 0 || k.Percent > 100 {
		return false
	}
	return c.Unset(volumeKey) || k.Configured != nil && *k.Configured == c.Audio.Volume
}

// ServeVolume serves conch volume: the volume that is asked for sounds at once, and is kept as one that was asked for by word is.
//
//	POST /volume  VolumeRequest -> VolumeAnswer
func (m *Memory) ServeVolume(mux *http.ServeMux, sound func(percent int)) {
	mux.HandleFunc("POST /volume", func(w http.ResponseWriter, r *http.Request) {
		var q control.VolumeRequest
		if !control.Decode(w, r, &q) {
			return
		}
		_, err := m.ChangeVolume(q.Percentage, sound)
		a := control.VolumeAnswer{Volume: m.Volume(), VolumeFrom: m.VolumeFrom()}
		if err == nil {
			a.Unkept = m.saveVolume() != nil || m.store == nil // the condition says why
		}
		control.Reply(w, a, err)
	})
}

// ChangeVolume makes of the volume there is now another one, which sounds at once and is kept. Of two who want it louder, both are heard.
func (m *Memory) ChangeVolume(to func(now int) (int, error), sound func(percent int)) (int, error) {
	m.asked.Lock()
	defer m.asked.Unlock()
	percent, err := to(m.Volume())
	if err == nil {
		sound(percent)
		m.KeepVolume(percent)
	}
	return percent, err
}

// InForce is Describe with the volume that a running appliance has, or that a start would find: the configuration alone does not
// say.
func InForce(ctx context.Context, cfg config.Config) []config.Row {
	rows := cfg.Describe()
	for i := range rows {
		if r := &rows[i]; r.Key == volumeKey {
			v := VolumeNow(ctx, cfg)
			r.Value, r.Origin = strconv.Itoa(v.Volume), v.VolumeFrom
		}
	}
	return rows
}

// VolumeNow is the volume that a running appliance has, or that a start would find, and where it comes from.
func VolumeNow(ctx context.Context, cfg config.Config) control.VolumeAnswer {
	now := control.VolumeAnswer{Volume: cfg.Audio.Volume, VolumeFrom: cfg.Origin(volumeKey)}
	written := fmt.Sprintf("; %d from %s", now.Volume, now.VolumeFrom)
	var s control.Status
	if remote, err := control.Dial(cfg); err == nil && remote.Do(ctx, "GET", "/status", nil, &s) == nil && s.VolumeFrom != "" {
		if s.Volume != now.Volume || s.VolumeFrom == remembered || strings.HasSuffix(s.VolumeFrom, quietHours) {
			return control.VolumeAnswer{Volume: s.Volume, VolumeFrom: s.VolumeFrom + ", by the running appliance" + written}
		}
		return now
	}
	var kept keptVolume
	err := Look(cfg.State.Dir, volumeName, &kept)
	if kept.counts(err == nil, &cfg) {
		return control.VolumeAnswer{Volume: kept.Percent, VolumeFrom: remembered + written}
	}
	if os.IsPermission(err) {
		now.VolumeFrom += " (or remembered: this user may not read " + cfg.State.Dir + ")"
	}
	return now
}
