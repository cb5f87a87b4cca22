package condition

import (
	"log/slog"
	"testing"
)

// What the network says reaches people without the words of a programmer.
func TestTheNetworkIsToldInPlainWords(t *testing.T) {
	b := NewBook(slog.New(slog.DiscardHandler))
	const refused = "no connection to the room: "
	for text, want := range map[string]string{
		refused + "dial tcp 10.0.0.1:1883: connect: connection refused":                   refused + "10.0.0.1:1883: connection refused",
		"dial tcp: lookup api.openai.com on 127.0.0.1:53: no such host":                   "api.openai.com: no such host",
		"dial tcp: lookup api.openai.com: no such host":                                   "api.openai.com: no such host",
		"it broke: read tcp 10.0.0.5:3333->10.0.0.1:1883: read: connection reset by peer": "it broke: 10.0.0.1:1883: connection reset by peer",
		"dial tcp [fe80::1%wlan0]:8883: i/o timeout":                                      "[fe80::1%wlan0]:8883: no answer",
		"no answer came: context deadline exceeded":                                       "no answer came: no answer",
		"it reads: nothing; read it":                                                      "it reads: nothing; read it",
	} {
		b.Set(RoomCut, text, "")
		if got := b.List()[0].Text; got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
