package companions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/round"
)

// Bounds of the refined vote.
const (
	refineParallel = 4                     // calls at work at once; the others wait for a place, within the deadline
	refineRounds   = 8                     // rounds at work at once; more stand as the rules made them
	refineTokens   = 400                   // of an answer; a vote has about 60
	refineAnswer   = 256 << 10             // bytes of a response's body
	refineRecent   = 12                    // messages a model is shown
	refineText     = 600                   // characters of each
	refineReason   = 200                   // characters of a model's reason
	refineReserve  = 20 * time.Millisecond // kept of the deadline to hand the votes over
)

// Log events of the refiner.
const (
	logRefineFailed = "refine.failed" // the first of a row at warn, the others at debug
	logRefineAgain  = "refine.again"  // a call succeeded after failures
	logRefineFormat = "refine.format" // the server takes a simpler kind of structured output only
)

// RefinerConfig is a chat server and what it is asked about.
type RefinerConfig struct {
	URL    string        // http://HOST[/v1]; the path of chat completions may follow
	Model  string        // of a card without one of its own
	Key    func() string // read for each call; nil or empty: none is sent
	Header http.Header   // sent along; nil: nothing
	Budget time.Duration // longest wait for a vote; 0: until the deadline
	Effort string        // reasoning_effort, for models that take it; empty: the model's own
	Client *http.Client  // nil: one of its own

	Cards   func() []Card         // of this device
	Members func() []round.Member // of the room; nil: others are told by their ids
	Now     func() time.Duration  // the clock of deadlines; the device's
	Allow   func() bool           // false: no more calls today (a ceiling); nil: always
	Usage   func(model string, in, out int)
	Log     *slog.Logger // nil: silent
}

// RefinerStats counts.
type RefinerStats struct {
	Calls    uint64 // requests that were sent
	Refined  uint64 // votes that a model made
	Failed   uint64 // votes that stand as the rules made them, after a call or instead of one
	TimedOut uint64 // of Failed
	Refused  uint64 // of Calls: a kind of structured output that the server does not take
	TokensIn uint64
	TokensOu uint64
}

// format is how a vote is asked for: best first. A server that refuses one is asked for the next, and that is remembered.
type format int32

const (
	formatSchema format = iota // json_schema, strict
	formatObject               // json_object
	formatPlain                // words
)

func (f format) String() string { return [...]string{"json_schema", "json_object", "plain"}[f] }

// ModelRefiner asks a language model for better votes. Every failure leaves the vote of the rules, with the reason in it.
//
// Refine starts one goroutine for a round and one for each vote; they end with the deadline. Close ends them all and
// waits.
type ModelRefiner struct {
	c      RefinerConfig // fixed after NewRefiner
	base   string        // fixed
	hosted bool          // fixed: OpenAI itself, where old parameters are refused
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{} // one per call at work

	format  atomic.Int32 // the best that the server has not refused
	failing atomic.Bool  // the last call failed
	rounds  atomic.Int32

	calls, refined, failed, timedOut, refused, in, out atomic.Uint64

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// NewRefiner checks the address; nothing is sent before the first vote.
func NewRefiner(c RefinerConfig) (*ModelRefiner, error) {
	base, host, err := chatBase(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Cards == nil || c.Now == nil {
		return nil, errors.New("refiner: Cards and Now must be given")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Client == nil {
		c.Client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	own := *c.Client
	// A redirect would carry what people said, and perhaps the key, to somebody else.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	c.Client = &own
	m := &ModelRefiner{
		c: c, base: base, hosted: host == "api.openai.com" || strings.HasSuffix(host, ".openai.com"),
		places: make(chan struct{}, refineParallel),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m, nil
}

// chatBase is the address below which chat/completions lies: a bare host means its /v1.
func chatBase(address string) (base, host string, err error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("refiner: address %q: must be http://HOST… or https://HOST…, without user, query or fragment", short(visible(address)))
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/chat/completions"), "/")
	if path == "" {
		path = "/v1"
	}
	return u.Scheme + "://" + u.Host + path, u.Hostname(), nil
}

// Stats are the counts so far.
func (m *ModelRefiner) Stats() RefinerStats {
	return RefinerStats{
		m.calls.Load(), m.refined.Load(), m.failed.Load(), m.timedOut.Load(), m.refused.Load(), m.in.Load(), m.out.Load(),
	}
}

// Close ends all calls and waits for them; whoever waits for votes gets those of the rules.
func (m *ModelRefiner) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
	m.c.Client.CloseIdleConnections()
}

// Refine implements Refiner.
func (m *ModelRefiner) Refine(r round.Refine, deadline time.Duration, done func([]round.Vote)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	votes := append([]round.Vote(nil), r.Votes...)
	if m.closed {
		go done(stand(votes, errClosed)) // Close waits for nobody who comes after it
		return
	}
	busy := m.rounds.Add(1) > refineRounds
	m.wg.Go(func() {
		defer m.rounds.Add(-1)
		if busy {
			m.failed.Add(uint64(len(votes)))
			done(stand(votes, errBusy))
			return
		}
		done(m.askAll(r, votes, deadline))
	})
}

// stand leaves votes as they are and says why.
func stand(votes []round.Vote, err error) []round.Vote {
	for i := range votes {
		votes[i] = standing(votes[i], err)
	}
	return votes
}

// askAll asks for all votes at once and takes what is there at the deadline.
func (m *ModelRefiner) askAll(r round.Refine, votes []round.Vote, deadline time.Duration) []round.Vote {
	left := deadline - m.c.Now() - refineReserve
	if b := m.c.Budget; b > 0 && b < left {
		left = b
	}
	ctx, cancel := context.WithTimeout(m.ctx, left)
	defer cancel()
	cards := make(map[round.CompanionID]Card)
	for _, c := range m.c.Cards() {
		cards[c.ID] = c
	}
	type result struct {
		i    int
		vote round.Vote
		err  error
	}
	results := make(chan result, len(votes)) // room for all: nobody waits for a round that has gone on
	asked := 0
	errs := make([]error, len(votes))
	for i, v := range votes {
		card, ok := cards[v.From]
		if err := m.unasked(r, v, card, ok); err != nil {
			errs[i] = err
			continue
		}
		asked++
		m.wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					results <- result{i, v, fmt.Errorf("%w: it tripped over the answer", errNonsense)}
				}
			}()
			better, err := m.vote(ctx, r, v, card)
			results <- result{i, better, err}
		})
		errs[i] = errPending
	}
	take := func(res result) {
		if errs[res.i] = res.err; res.err == nil {
			votes[res.i] = res.vote
		}
		asked--
	}
	for asked > 0 && ctx.Err() == nil {
		select {
		case res := <-results:
			take(res)
		case <-ctx.Done():
		}
	}
	for len(results) > 0 { // what came together with the deadline
		take(<-results)
	}
	for i, err := range errs {
		if errors.Is(err, errPending) {
			err = ctx.Err()
		}
		if err != nil {
			votes[i] = m.note(votes[i], err)
			continue
		}
		m.refined.Add(1)
		if m.failing.Swap(false) {
			m.c.Log.Info(logRefineAgain)
		}
	}
	return votes
}

// unasked says why a vote needs no model. Obligations are rules (ROOM.md 3.2, 4): who was addressed, muted or is to speak
// only when asked has its vote.
func (m *ModelRefiner) unasked(r round.Refine, v round.Vote, card Card, known bool) error {
	switch {
	case !known:
		return errStranger
	case v.Selected, card.Muted, card.Involvement == round.InvolvementOff, v.MessageID != r.Message.ID:
		return errRule
	case m.c.Allow != nil && !m.c.Allow():
		return errCeiling
	}
	return nil
}

// note makes a vote that stands of an error, and counts it.
func (m *ModelRefiner) note(v round.Vote, err error) round.Vote {
	if errors.Is(err, errRule) {
		return v
	}
	m.failed.Add(1)
	if timedOut(err) {
		m.timedOut.Add(1)
	}
	level := slog.LevelDebug
	if !m.failing.Swap(true) {
		level = slog.LevelWarn
	}
	m.c.Log.Log(context.Background(), level, logRefineFailed, "companion", v.From, "err", whyStands(err))
	return standing(v, err)
}

func standing(v round.Vote, err error) round.Vote {
	if errors.Is(err, errRule) {
		return v
	}
	why := whyStands(err)
	v.Reason = strings.TrimSuffix(v.Reason, ".") + " (by the rules: " + why + ")"
	// A copy: the rules' own terms are shared with whoever asked.
	v.Terms = append(append([]round.Term(nil), v.Terms...), round.Term{Name: termModel, Why: why})
	return v
}

// termModel is what a model added to a vote's score, or why it added nothing. Intent and tone, as the model has them, are
// terms without a value: a vote has no other place for them.
const (
	termModel  = "model"
	termIntent = "intent"
	termTone   = "tone"
)

// vote asks for one vote, in the best format that the server takes.
func (m *ModelRefiner) vote(ctx context.Context, r round.Refine, v round.Vote, card Card) (round.Vote, error) {
	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return v, ctx.Err()
	}
	messages := m.prompt(r, v, card)
	first := format(m.format.Load())
	for f := first; ; f++ {
		answer, err := m.ask(ctx, card, messages, f)
		if err != nil {
			if refusedFormat(err) && f < formatPlain {
				m.refused.Add(1)
				continue
			}
			return v, err
		}
		if f > first && m.format.CompareAndSwap(int32(first), int32(f)) {
			m.c.Log.Info(logRefineFormat, "format", f.String())
		}
		b, err := readBallot(answer)
		if err != nil {
			return v, err
		}
		return b.onto(v), nil
	}
}

// ask is one request.
func (m *ModelRefiner) ask(ctx context.Context, card Card, messages []openai.ChatCompletionMessage, f format) (string, error) {
	key := ""
	if m.c.Key != nil {
		key = strings.TrimSpace(m.c.Key())
	}
	conf := openai.DefaultConfig(key)
	conf.BaseURL = m.base
	conf.HTTPClient = bounded{m.c.Client, m.c.Header}
	model := cmp.Or(card.Model, m.c.Model)
	m.calls.Add(1)
	res, err := openai.NewClientWithConfig(conf).CreateChatCompletion(ctx, m.request(model, messages, f))
	if err != nil {
		return "", err
	}
	m.in.Add(uint64(max(0, res.Usage.PromptTokens)))
	m.out.Add(uint64(max(0, res.Usage.CompletionTokens)))
	if m.c.Usage != nil {
		m.c.Usage(model, max(0, res.Usage.PromptTokens), max(0, res.Usage.CompletionTokens))
	}
	if len(res.Choices) == 0 {
		return "", errEmpty
	}
	choice := res.Choices[0]
	text := choice.Message.Content
	for _, part := range choice.Message.MultiContent {
		text += part.Text
	}
	switch {
	case choice.FinishReason == openai.FinishReasonLength:
		return "", errCutOff
	case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
		return "", errRefusal
	case strings.TrimSpace(text) == "":
		return "", errEmpty
	}
	return text, nil
}

func (m *ModelRefiner) request(model string, messages []openai.ChatCompletionMessage, f format) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{Model: model, Messages: messages, ReasoningEffort: m.c.Effort}
	// OpenAI's newer models refuse max_tokens and a temperature; servers of one's own often know nothing else.
	if m.hosted || reasons(model) {
		q.MaxCompletionTokens = refineTokens
	} else {
		q.MaxTokens = refineTokens //nolint:staticcheck // many of those servers know no other
		q.Temperature = 1e-6       // as good as 0, which the library leaves out
	}
	switch f {
	case formatSchema:
		q.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "vote", Description: "one companion's vote on who speaks next", Schema: ballotSchema, Strict: true,
			},
		}
	case formatObject:
		q.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return q
}

// reasons knows the families that the library and the service treat as reasoning models.
func reasons(model string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}
