package either

import (
	"context"
	"fmt"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/realtime"
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
	case err != nil:
		out.Bad("speaks", fmt.Sprintf("it is not known what the server speaks: %v", err), "it is not there, refuses the key, or is another server",
			"see voice.url; name what it speaks: voice.kind")
	}
	return append(out, cascade.Kind().Check(ctx, x)...)
}
