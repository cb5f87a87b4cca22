package main

import (
	"bytes"
	"strings"
	"testing"

	"conch/device/control"
	"conch/device/printable"
)

// What hearing and speaking cost is told where they have a price, and only there.
func TestUsageSaysWhatHearingAndSpeakingCost(t *testing.T) {
	for _, c := range []struct {
		used control.UsageReport
		want string
	}{
		{control.UsageReport{Cost: 0.5}, "cost   0.5000 (no limit)\n"},
		{control.UsageReport{Cost: 0.5, HearCost: 0.125, SpeakCost: 0.25, CeilingCost: 2}, "cost   0.5000 of 2: 0.1250 for tokens, 0.1250 to hear, 0.2500 to speak\n"},
	} {
		var out bytes.Buffer
		printUsage(&env{out: printable.NewWriter(&out)}, c.used)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s\nwant %s", out.String(), c.want)
		}
	}
}
