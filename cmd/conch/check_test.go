package main

import (
	"bytes"
	"strings"
	"testing"

	"conch/companions/voice"
	"conch/device/printable"
	"conch/device/provider"
)

// Who answers is told in a line, and a chain stage by stage; of one that is only perhaps one, that.
func TestCheckSaysWhoAnswers(t *testing.T) {
	parts := []voice.Part{{Does: "hears", By: "pocketsphinx on this machine"}, {Does: "speaks", By: "tts.lan (openai), no key"}}
	for _, c := range []struct {
		plan  provider.Plan
		lines []string
	}{
		{provider.Plan{Kind: "rehearsal", Why: "no key"}, []string{"voice rehearsal no key"}},
		{provider.Plan{Kind: "cascade", Why: "voice.kind", Parts: parts}, []string{"voice cascade voice.kind", "hears pocketsphinx on this machine", "speaks tts.lan (openai), no key"}},
		{provider.Plan{Kind: "auto", Why: "voice.url", Parts: parts[:1]}, []string{"voice auto voice.url", "its server is asked what it speaks; where that is chat:",
			"hears pocketsphinx on this machine"}},
	} {
		var out bytes.Buffer
		printPlan(&env{out: printable.NewWriter(&out)}, c.plan)
		var got []string
		for l := range strings.Lines(out.String()) {
			got = append(got, strings.Join(strings.Fields(l), " "))
		}
		if strings.Join(got, "|") != strings.Join(c.lines, "|") {
			t.Errorf("%q; want %q", got, c.lines)
		}
	}
}
