package provider

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/chattest"
	"conch/companions/round"
	"conch/device/config"
)

// The model that is asked where none is named has a price, of OpenAI alone; and a day costs what the page says.
func TestPriceOfVotes(t *testing.T) {
	for _, row := range []struct {
		address, model string
		day            float64
	}{
		{"https://api.openai.com/v1", VoteModel, 0.0026},
		{"https://eu.api.openai.com/v1", "gpt-4.1-mini", 0.0098},
		{"https://api.openai.com/v1", "gpt-7", 0},
		{"http://box.lan:8000/v1", VoteModel, 0},
		{"https://notopenai.com/v1", VoteModel, 0},
	} {
		p, known := PriceOfVotes(row.address, row.model)
		if got := p.Day(); known != (row.day > 0) || math.Abs(got-row.day) > 0.00005 {
			t.Errorf("%s at %s: %.5f a day, known: %v; want %.4f", row.model, row.address, got, known, row.day)
		}
	}
	if _, err := time.Parse(time.DateOnly, PricesOf); err != nil {
		t.Error(err)
	}
	c := config.Default()
	c.Voice.Key, c.Room.Votes = config.NewSecret("sk-a-key"), "auto"
	if address, model, why := Votes(&c); address == "" {
		t.Errorf("nobody can be asked: %s", why)
	} else if _, known := PriceOfVotes(address, model); !known {
		t.Errorf("what setup offers, %s at %s, has no price", model, address)
	}
}

// A call is as long as is reckoned: four letters and a bit are a token of English.
func TestTokensOfAVote(t *testing.T) {
	long := 0
	s := chattest.New(t, chattest.Options{Reply: func(q chattest.Request) chattest.Reply {
		long = len(q.Body)
		return chattest.Reply{Content: "{}"}
	}})
	cards := companions.DefaultCards()
	m, err := companions.NewRefiner(companions.RefinerConfig{URL: s.URL, Model: VoteModel, Cards: func() []companions.Card { return cards },
		Now: func() time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := round.Refine{Message: round.Message{ID: "m", From: round.Human("d"), Text: "I wonder whether we should go out today or rather stay at home"}}
	for _, c := range cards {
		r.Votes = append(r.Votes, round.Vote{From: c.ID, MessageID: "m", State: round.StateListen, Closing: round.ClosingNone})
	}
	for range 6 {
		r.Recent = append(r.Recent, round.Message{From: round.Human("d"), Text: "and how long does it take with two of them?"},
			round.Message{From: "ada", Text: strings.Repeat("Once the water boils, put it in gently and let it simmer for about eight minutes. ", 3)})
	}
	done := make(chan struct{})
	m.Refine(context.Background(), r, time.Minute, func([]round.Vote) { close(done) })
	<-done
	if tokens := long / 5; tokens < callIn*3/4 || tokens > callIn*5/4 { // with the marks of JSON around it
		t.Errorf("%d bytes are some %d tokens; %d are reckoned", long, tokens, callIn)
	}
}

// A vote costs what its model does, and nothing at home; where that is not known it is nil.
func TestVotePrices(t *testing.T) {
	for _, row := range []struct {
		address, model string
		in             float64
		known          bool
	}{
		{"https://api.openai.com/v1", VoteModel, 0.1, true},
		{"https://gateway.example.com/v1", "openai/gpt-4.1-mini", 0.4, true},
		{"https://gateway.example.com/v1", "own", 0, false},
		{"https://api.openai.com/v1", "ft:gpt-4.1-mini:home", 0, false},
		{"http://box.lan:11434/v1", "qwen", 0, true},
		{"http://192.168.1.4:8000/v1", "qwen", 0, true},
	} {
		if p := VotePrices(row.address, row.model); (p != nil) != row.known || p != nil && p.TextIn != row.in {
			t.Errorf("%s at %s: %+v", row.model, row.address, p)
		}
	}
}
