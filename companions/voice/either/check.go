package either

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/kit"
	"conch/companions/voice/realtime"
	"conch/coordinator/turn"
)

// check asks the server what it speaks, says it, and has that kind look at the rest.
func check(ctx context.Context, x voice.Examined) (out voice.Findings) {
	remembered := ""
	if x.Found != nil {
		remembered = x.Found(x.URL)
	}
	speaks, err := Ask(ctx, cascade.PoolBy(x.Roots, x.Dial), x.URL, x.Key())
	how := "found now"
	if err != nil && remembered != "" {
		speaks, how = Speaks(remembered), "found before"
	}
	switch {
	case speaks == Realtime:
		out.OK("speaks", "Realtime, %s (voice.kind = %q says so without asking)", how, Realtime)
		x.URL = webSocket(x.URL)
		return append(out, realtime.Kind().Check(ctx, x)...)
	case speaks == Chat:
		out.OK("speaks", "chat, %s: a cascade (voice.kind = %q says so without asking)", how, Chat)
		return append(out, cascade.Kind().Check(ctx, x)...)
	}
	var dial *net.OpError
	switch say, _ := kit.WordsOf(err, x.Now()); {
	case say == turn.WordsKeyRefused && x.KeyHidden:
		out.Note("key", "what the server speaks cannot be seen without root: it wants a key", "sudo conch doctor")
	case say == turn.WordsKeyRefused && x.Key() == "":
		out.Bad("key", "the server wants a key, and there is none", "no key is configured", x.GiveKey)
	case say == turn.WordsKeyRefused:
		out.Bad("key", "the server does not accept the key", "it was revoked, is for another provider, or is not complete",
			"make a new key at the provider, then: "+x.GiveKey)
	case errors.As(err, &dial) && x.Unreachable != nil:
		u, _ := url.Parse(x.URL) // it was asked
		f := x.Unreachable(u.Hostname(), "voice.url", dial)
		f.Part = cmp.Or(f.Part, "server")
		out = append(out, f)
	case kit.Loading(err):
		out.Warn("speaks", fmt.Sprintf("it is not known yet what the server speaks: %v", err), "the server loads its model",
			"wait, and look again: conch doctor")
	default:
		cause, do := x.Told(say)
		out.Bad("speaks", fmt.Sprintf("it is not known what the server speaks: %v", err), cause, do+"; or name what it speaks: voice.kind")
	}
	return out
}
