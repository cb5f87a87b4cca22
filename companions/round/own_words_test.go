package round

import (
	"testing"
	"testing/fstest"
	"time"

	"conch/companions/words"
)

// TestOwnWordsAreUnderstood: what is said at a device is understood by the words that its people have added.
func TestOwnWordsAreUnderstood(t *testing.T) {
	const file = "language = \"en\"\nscript = \"latin\"\n[cue.goodbye]\nwords = [\"toodle pip\"]\n[cue.hush]\nwords = [\"shush the lot\"]\n"
	own, err := words.Known().With(fstest.MapFS{"en.toml": {Data: []byte(file)}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*words.Languages{nil, own} {
		cfg := threadConfig()
		cfg.Words = x
		m, who := askedOf(t, New(cfg), time.Second, "Ben, tell me a story")
		m = answeredBy(m, 2*time.Second, who, "There was a king.")
		said, _ := askedOf(t, m, 3*time.Second, "toodle pip")
		if got := said.rd.message.Metadata.Intent == words.Farewell; got != (x != nil) {
			t.Errorf("own words %v: the message is a %s", x != nil, said.rd.message.Metadata.Intent)
		}
		if _, who := askedOf(t, m, 3*time.Second, "shush the lot"); (who == "") != (x != nil) {
			t.Errorf("own words %v: %q answers who wants quiet", x != nil, who)
		}
	}
}
