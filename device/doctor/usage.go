package doctor

import (
	"context"
	"fmt"
)

func checkUsage(ctx context.Context, _ *Machine, s *Subject) []Finding {
	if s.Voice.Kind.Local {
		return nil
	}
	used := s.Used
	if r, here, err := s.running(ctx); here && err == nil {
		used = r.Used
	}
	var out []Finding
	if most := s.Voice.CeilingTokens; most > 0 {
		out = append(out, ceiling("voice.ceiling_tokens", fmt.Sprintf("%d of %d tokens", used.Tokens, most), float64(used.Tokens)/float64(most))...)
	}
	if most := s.Voice.CeilingCost; most > 0 {
		out = append(out, ceiling("voice.ceiling_cost", fmt.Sprintf("%.2f spent of %.2f", used.Cost, most), used.Cost/most)...)
	}
	if used.Estimated > 0 && len(out) > 0 {
		out = append(out, warn("", fmt.Sprintf("the tokens of %d answers today are estimated", used.Estimated),
			"the server does not count them", "compare the estimate with the vendor's account")...)
	}
	return out
}

// ceiling tells how much of one is used.
func ceiling(key, amount string, part float64) []Finding {
	switch {
	case part >= 1:
		return bad("", "today's ceiling is reached: "+amount, key+" stops answers for the rest of the day",
			"wait for tomorrow, lift it (conch usage reset), or raise "+key)
	case part >= 0.9:
		return warn("", amount+" today", key+" will stop answers for the rest of the day", "raise "+key)
	}
	return ok("", "%s today", amount)
}
