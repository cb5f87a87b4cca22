package control

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"conch/coordinator/inject"
)

// SayRequest is what somebody wants the appliance to say.
type SayRequest struct {
	Text     string `json:"text"`
	Priority string `json:"priority,omitempty"` // normal (the default), block-behind-comms or preempt
	Key      string `json:"key,omitempty"`      // one that waits is replaced by a newer one of its key
	TTL      string `json:"ttl,omitempty"`      // how long it may wait: 90s, 10m; a minute if empty
}

// Bounds of a TTL. Our choices: what nobody has heard for a day is news no more.
const (
	sayTTL     = time.Minute
	sayAtLeast = time.Second
	sayAtMost  = 24 * time.Hour
)

// Injection is what the coordinator understands of it, but for the words.
func (q SayRequest) Injection() (inject.Injection, error) {
	in := inject.Injection{Key: q.Key, TTL: sayTTL}
	if q.Key != "" {
		in.Key = "say." + q.Key // nobody else's
	}
	switch strings.ReplaceAll(cmp.Or(q.Priority, "normal"), "_", "-") {
	case "normal":
	case "block-behind-comms":
		in.Priority = inject.BlockBehindComms
	case "preempt":
		in.Priority = inject.Preempt
	default:
		return in, fmt.Errorf("%w: priority %q: must be normal, block-behind-comms or preempt", ErrRefused, q.Priority)
	}
	if q.TTL != "" {
		d, err := time.ParseDuration(q.TTL)
		if err != nil || d < sayAtLeast || d > sayAtMost {
			return in, fmt.Errorf("%w: ttl %q: must be 1s to 24h, such as 90s or 10m", ErrRefused, q.TTL)
		}
		in.TTL = d
	}
	return in, nil
}

// serveSay answers with the outcome. Whoever goes away before that takes back what has not begun.
func serveSay(a Appliance) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q SayRequest
		if err := read(w, r, &q); err != nil || strings.TrimSpace(q.Text) == "" {
			refuseText(w, err)
			return
		}
		in, err := q.Injection()
		if err != nil {
			Reply(w, nil, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), in.TTL+deadline)
		defer cancel()
		outcome, err := a.Say(ctx, q.Text, in)
		Reply(w, map[string]string{"outcome": outcome}, err)
	}
}
