package state

import (
	"context"
	"fmt"
	"os"
	"strconv"

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

// InForce is Describe with the volume that a running appliance has, or that a start would find: the configuration alone does not
// say.
func InForce(ctx context.Context, cfg config.Config) []config.Row {
	rows := cfg.Describe()
	for i := range rows {
		r := &rows[i]
		if r.Key != volumeKey {
			continue
		}
		written := fmt.Sprintf("; %s from %s", r.Value, r.Origin)
		var s control.Status
		if remote, err := control.Dial(cfg); err == nil && remote.Do(ctx, "GET", "/status", nil, &s) == nil && s.VolumeFrom != "" {
			if own := strconv.Itoa(s.Volume); own != r.Value || s.VolumeFrom == remembered {
				r.Value, r.Origin = own, s.VolumeFrom+", by the running appliance"+written
			}
			return rows
		}
		var kept keptVolume
		err := Look(cfg.State.Dir, volumeName, &kept)
		if kept.counts(err == nil, &cfg) {
			r.Value, r.Origin = strconv.Itoa(kept.Percent), remembered+written
		} else if os.IsPermission(err) {
			r.Origin += " (or remembered: this user may not read " + cfg.State.Dir + ")"
		}
	}
	return rows
}
