package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// What was written is there, whatever was written before and however often the file is opened anew; and what the library writes is
// never taken for damaged.
func TestARandomLifeOfTheFile(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	path := file(t)
	k := opened(t, path)
	model := map[string]string{}
	for n := range 400 {
		skill, companion := []string{"notes", "timers", "library"}[rng.IntN(3)], []string{"", "ada", "ben"}[rng.IntN(3)]
		values := map[string][]byte{}
		for range 1 + rng.IntN(4) {
			key := fmt.Sprint(rng.IntN(60))
			at := skill + "/" + companion + "/" + key
			if values[key] = nil; rng.IntN(3) == 0 {
				delete(model, at)
				continue
			}
			value := strings.Repeat(fmt.Sprint(n), rng.IntN([]int{3, 300, 9000}[rng.IntN(3)]))
			values[key], model[at] = []byte(value), value
		}
		if err := k.Skill(skill).Put(companion, values); err != nil {
			t.Fatalf("seed %d, %d: %v", seed, n, err)
		}
		if rng.IntN(4) > 0 {
			continue
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		k = opened(t, path)
		found := map[string]string{}
		for _, skill := range []string{"notes", "timers", "library"} {
			s := k.Skill(skill)
			all, err := s.Companions()
			for _, c := range all {
				if err == nil {
					err = s.All(c, func(key string, value []byte) bool { found[skill+"/"+c+"/"+key] = string(value); return true })
				}
			}
			if err != nil {
				t.Fatalf("seed %d, %d: %v", seed, n, err)
			}
		}
		if !maps.Equal(found, model) || len(k.codes()) > 0 {
			t.Fatalf("seed %d, %d: %d values, want %d; %v", seed, n, len(found), len(model), k.codes())
		}
	}
}
