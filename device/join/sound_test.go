package join

import (
	"testing"

	"conch/audio"
	"conch/device/language"
)

func TestACodeIsSixDigits(t *testing.T) {
	for _, code := range []string{"", "12345", "1234567", "12345x", "12 456"} {
		if _, err := codeSound(language.English, code); err == nil {
			t.Errorf("codeSound(language.English, %q) gives no error", code)
		}
	}
}

func TestTheCodeIsSaidBeforeItIsRepeated(t *testing.T) {
	said, err := codeSound(language.English, "482915")
	if err != nil {
		t.Fatal(err)
	}
	if got := audio.CardDuration(2 * len(said)); got > speakEvery {
		t.Errorf("the code takes %v; want at most %v, after which it is repeated", got, speakEvery)
	}
}
