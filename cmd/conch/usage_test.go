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
		{control.UsageReport{Cost: 0.5, Priced: true}, "cost   0.5000 (no limit)\n"},
		{control.UsageReport{Cost: 0.5, HearCost: 0.125, SpeakCost: 0.25, CeilingCost: 2, Priced: true},
			"cost   0.5000 of 2.00: 0.1250 for tokens, 0.1250 to hear, 0.2500 to speak\n"},
	} {
		var out bytes.Buffer
		printUsage(&env{out: printable.NewWriter(&out)}, c.used)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s\nwant %s", out.String(), c.want)
		}
	}
}

// An estimate is shown as one.
func TestUsageSaysWhatIsEstimated(t *testing.T) {
	for n, want := range map[int]string{
		0: "tokens 900 (no limit)\n",
		2: "tokens 900 (no limit): 2 answers are estimated, as the server counts no tokens\n",
	} {
		var out bytes.Buffer
		if printUsage(&env{out: printable.NewWriter(&out)}, control.UsageReport{Tokens: 900, Estimated: n}); !strings.Contains(out.String(), want) {
			t.Errorf("%s\nwant %s", out.String(), want)
		}
	}
}

// conch usage and conch status say the same of what a day costs.
func TestUsageAndStatusAgreeAboutCost(t *testing.T) {
	for _, c := range []struct {
		used control.UsageReport
		want string // in both
	}{
		{control.UsageReport{Tokens: 900}, "unknown"},
		{control.UsageReport{Tokens: 900, Priced: true, Cost: 0.0021}, "0.0021"},
		{control.UsageReport{Tokens: 900, Priced: true}, "0.0000"},
		{control.UsageReport{Tokens: 900, Priced: true, Cost: 1.2345}, "1.23"},
		{control.UsageReport{Tokens: 900, Priced: true, Cost: 0.25, CeilingCost: 2.5}, "0.2500 of 2.50"},
	} {
		var out bytes.Buffer
		printUsage(&env{out: printable.NewWriter(&out)}, c.used)
		today := describe{}.today(&c.used)
		if !strings.Contains(out.String(), c.want) || !strings.Contains(today, c.want) {
			t.Errorf("usage: %s\nstatus: %s\nwant %q in both", out.String(), today, c.want)
		}
	}
}
