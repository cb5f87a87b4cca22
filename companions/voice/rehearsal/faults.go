package rehearsal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Faults is what goes wrong, on demand. The zero value is a server in good health. Chances are between 0 and 1 and are
// drawn from the server's seed.
type Faults struct {
	RefuseKey bool // 401 at the handshake
	RateLimit bool // 429 at the handshake

	RefuseCommit    bool // every input_audio_buffer.commit is an error
	RefuseResponse  bool // every response.create is an error: rate limit
	FailResponse    bool // every response begins and ends failed: server error
	Incomplete      bool // every response ends incomplete after its first sentence: content filter
	CutShort        bool // the same: too many tokens
	ForgetTheAnswer bool // response.create is taken and never answered

	FirstByte       time.Duration // pause before the first delta of a response
	Burst           time.Duration // sound is withheld and comes in bursts this far apart
	LateAfterCancel time.Duration // deltas of a cancelled response still come, for so long after its response.done
	Expire          time.Duration // life of sessions that begin from now on

	DropAfter      time.Duration // of sound sent, then the connection is cut without a close frame
	BlackHoleAfter time.Duration // of sound sent, then nothing is read or written any more, and the connection stays

	Duplicate float64 // chance that an event of a response is sent twice, with the same event_id
	Garbage   float64 // chance that a frame that is no event precedes an event of a response
	Unknown   float64 // chance that an event of a type nobody knows precedes an event of a response
	Huge      int     // bytes of base64 in the first delta of each response (padded with silence); 0: as usual
}

// faultKeys are the names of ParseFaults, in the order of the struct.
var faultKeys = []struct {
	key string
	of  func(*Faults) any
}{
	{"refuse-key", func(f *Faults) any { return &f.RefuseKey }},
	{"rate-limit", func(f *Faults) any { return &f.RateLimit }},
	{"refuse-commit", func(f *Faults) any { return &f.RefuseCommit }},
	{"refuse-response", func(f *Faults) any { return &f.RefuseResponse }},
	{"fail", func(f *Faults) any { return &f.FailResponse }},
	{"incomplete", func(f *Faults) any { return &f.Incomplete }},
	{"cut-short", func(f *Faults) any { return &f.CutShort }},
	{"forget", func(f *Faults) any { return &f.ForgetTheAnswer }},
	{"slow", func(f *Faults) any { return &f.FirstByte }},
	{"burst", func(f *Faults) any { return &f.Burst }},
	{"late", func(f *Faults) any { return &f.LateAfterCancel }},
	{"expire", func(f *Faults) any { return &f.Expire }},
	{"drop", func(f *Faults) any { return &f.DropAfter }},
	{"black-hole", func(f *Faults) any { return &f.BlackHoleAfter }},
	{"duplicate", func(f *Faults) any { return &f.Duplicate }},
	{"garbage", func(f *Faults) any { return &f.Garbage }},
	{"unknown", func(f *Faults) any { return &f.Unknown }},
	{"huge", func(f *Faults) any { return &f.Huge }},
}

// ParseFaults reads "slow=2s,duplicate=0.1,fail": the form for command lines and scripts. Empty means none.
func ParseFaults(s string) (Faults, error) {
	var f Faults
next:
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		key, value, given := strings.Cut(word, "=")
		for _, k := range faultKeys {
			if k.key == key {
				if err := setFault(k.of(&f), value, given); err != nil {
					return Faults{}, fmt.Errorf("fault %s = %q: %w", key, value, err)
				}
				continue next
			}
		}
		names := make([]string, len(faultKeys))
		for i, k := range faultKeys {
			names[i] = k.key
		}
		return Faults{}, fmt.Errorf("fault %q: unknown (known: %s)", key, strings.Join(names, ", "))
	}
	return f, nil
}

func setFault(at any, value string, given bool) error {
	switch p := at.(type) {
	case *bool:
		if given {
			b, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("must be true or false")
			}
			*p = b
			return nil
		}
		*p = true
	case *time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return fmt.Errorf("must be a duration such as 500ms, at most 1h")
		}
		*p = d
	case *float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return fmt.Errorf("must be a chance between 0 and 1")
		}
		*p = x
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 32<<20 {
			return fmt.Errorf("must be a number of bytes, at most 33554432")
		}
		*p = n
	}
	return nil
}
