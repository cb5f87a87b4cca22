package setup

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"conch/device/config"
	"conch/device/provider"
)

// limitKey is what the answers of a day may cost; usualLimit is what Enter gives.
const (
	limitKey   = "voice.ceiling_cost"
	usualLimit = "2"
	noLimit    = "none"
)

// limitApplies says whether somebody is paid for answers.
func limitApplies(w *wizard) bool { return w.keyThere() && w.cfg.Voice.Kind != "rehearsal" }

// lookLimit says what a day may cost.
func lookLimit(w *wizard) (string, bool) {
	v := w.cfg.Voice
	switch {
	case v.CeilingCost > 0:
		return w.lang.Phrase("setup.limit_cost", "cost", v.CeilingCost), true
	case v.Ceiling > 0:
		return w.lang.Phrase("setup.limit_tokens", "tokens", v.Ceiling), true
	}
	return w.lang.Phrase("setup.limit_none"), !w.cfg.Unset(limitKey)
}

// askLimit asks for a sum. There is none only where somebody says so.
func (w *wizard) askLimit(ctx context.Context) error {
	enter := usualLimit
	switch v := w.cfg.Voice; {
	case v.CeilingCost > 0:
		enter = plainSum(v.CeilingCost)
	case !w.cfg.Unset(limitKey):
		enter = noLimit
	}
	price, known := provider.PriceOfVoice(w.cfg.Voice.URL, w.cfg.Voice.Model)
	if price.In > 0 && !w.cfg.Voice.PriceSet() {
		w.say("  %s", w.lang.Phrase("setup.limit_what", "date", provider.PricesOf, "model", w.cfg.Voice.Model,
			"in", plainSum(price.In), "out", plainSum(price.Out)))
	}
	text := w.Limit
	if text == "" && w.nobody { // nobody has said how much
		_, err := w.line(ctx, w.lang.Phrase("setup.limit_ask"), enter)
		return err
	}
	limit, err := w.sum(ctx, text, w.lang.Phrase("setup.limit_ask"), enter)
	if err != nil {
		return err
	}
	edits := []config.Edit{{Key: limitKey, Value: plainSum(limit)}}
	if limit > 0 && !known && !w.cfg.Voice.PriceSet() {
		if w.nobody {
			return errors.New(w.lang.Phrase("setup.no_price", "model", w.cfg.Voice.Model))
		}
		in, err := w.sum(ctx, "", w.lang.Phrase("setup.price_in"), "")
		if err != nil {
			return err
		}
		out, err := w.sum(ctx, "", w.lang.Phrase("setup.price_out"), "")
		if err != nil {
			return err
		}
		if in == 0 && out == 0 { // it costs nothing, and the configuration refuses a limit without a price
			edits[0].Value = plainSum(0)
		} else {
			edits = append(edits, tokenPrices(in, out)...)
		}
	}
	if v := w.cfg.Voice; price.In > 0 && v.PriceIn == price.In && v.PriceOut == price.Out { // an older setup wrote those of sound for all
		edits = append(edits, tokenPrices(0, 0)...)
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	if w.now.State != Skipped {
		text, _ := lookLimit(w)
		w.with(w.now.State, "%s", text)
	}
	return nil
}

// sum asks for money until some is typed; given is what a flag says. Where no user can be asked, what is no sum is an error.
func (w *wizard) sum(ctx context.Context, given, question, enter string) (float64, error) {
	for {
		text := given
		if text == "" {
			var err error
			if text, err = w.line(ctx, question, enter); err != nil {
				return 0, err
			}
		}
		if text == noLimit {
			return 0, nil
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n <= 1e6 {
			return n, nil
		}
		if w.nobody {
			return 0, fmt.Errorf("%q: %s", text, w.lang.Phrase("setup.no_sum"))
		}
		given = ""
		w.say("  %s", w.lang.Phrase("setup.no_sum"))
	}
}

func tokenPrices(in, out float64) []config.Edit {
	return []config.Edit{{Key: "voice.price_in", Value: plainSum(in)}, {Key: "voice.price_out", Value: plainSum(out)}}
}

func plainSum(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
