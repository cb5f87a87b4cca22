package audio

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHourForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hour{began: time.Now()}
		for _, step := range []struct {
			after time.Duration
			add   uint64
			want  uint64
		}{
			{0, 7, 7}, {30 * time.Minute, 5, 12}, {29 * time.Minute, 0, 12}, {time.Minute, 0, 5}, {29 * time.Minute, 1, 6}, {time.Minute, 0, 1},
			{time.Hour, 0, 0}, {24 * time.Hour, 2, 2}, {24 * time.Hour, 0, 0},
		} {
			time.Sleep(step.after)
			h.add(step.add)
			if n := h.sum(); n != step.want {
				t.Errorf("%v: %d in the last hour; want %d", time.Since(h.began), n, step.want)
			}
		}
	})
}
