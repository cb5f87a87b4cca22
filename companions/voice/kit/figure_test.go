package kit

import (
	"encoding/json"
	"math"
	"testing"
)

func TestFiguresOfServers(t *testing.T) {
	for text, want := range map[string]int64{
		`12`: 12, `12.0`: 12, `12.7`: 12, `"12"`: 12, `" 12 "`: 12, `"12.5"`: 12, `1.2e1`: 12, `0`: 0,
		`null`: 0, `-5`: 0, `"-5"`: 0, `""`: 0, `"many"`: 0, `"inf"`: 0, `"NaN"`: 0, `true`: 0, `[12]`: 0, `{"n":12}`: 0, `-1e999`: 0,
		`9223372036854775807`: math.MaxInt64, `99999999999999999999`: math.MaxInt64, `1e999`: math.MaxInt64,
	} {
		var u struct{ N, After Figure }
		if err := json.Unmarshal([]byte(`{"N":`+text+`,"After":3}`), &u); err != nil || u.N.Tokens() != want || u.After != 3 {
			t.Errorf("%s: %d, then %v (%v); want %d", text, u.N.Tokens(), u.After, err, want)
		}
	}
}
