package companions

import (
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
	refineRounds  = 8                     // calls at work at once; more rounds stand as the rules made them
	refineTokens  = 200                   // of an answer, and as many for each vote, which has about 60
	refineAnswer  = 256 << 10             // bytes of a response's body
	refineRecent  = 12                    // messages a model is shown
	refineText    = 600                   // characters of each
	refineReason  = 200                   // characters of a model's reason
	refineReserve = 20 * time.Millisecond // kept of the deadline to hand the votes over
)

// Log events of the refiner.
const (
	logRefineFailed = "refine.failed" // the first of a row at warn, the others at debug
	logRefineAgain  = "refine.again"  // a call succeeded after failures
	logRefineFormat = "refine.format" // the server takes a simpler kind of structured output only
)

// RefinerConfig is a chat server and what it is asked about.
type RefinerConfig struct {
	URL    string // http://HOST[/v1]; the path of chat completions may follow
	Model  string
	Key    func() string // read for each call; nil or empty: none is sent
	Header http.Header   // sent along; nil: nothing
	Budget time.Duration // longest wait for a vote; 0: until the deadline
	Client *http.Client  // nil: one of its own

	Cards   func() []Card         // of this device
	Members func() []round.Member // of the room; nil: others are told by their ids
	Now     func() time.Duration  // the clock of deadlines; the device's
	Allow   func() bool           // false: no more calls today (a ceiling); nil: always
	Usage   func(in, out int)
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

// ModelRefiner asks a language model for better votes, one call for all companions of the device. Every failure leaves the votes of the
// rules, with the reason in them.
//
// Refine starts one goroutine for a round, which ends with the deadline. Close ends them all and waits.
type ModelRefiner struct {
	c      RefinerConfig // fixed after NewRefiner
	base   string        // fixed
	hosted bool          // fixed: OpenAI itself, where old parameters are refused
	ctx    context.Context
	cancel context.CancelFunc

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
	m := &ModelRefiner{c: c, base: base, hosted: host == "api.openai.com" || strings.HasSuffix(host, ".openai.com")}
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
func (m *ModelRefiner) Refine(ctx context.Context, r round.Refine, deadline time.Duration, done func([]round.Vote)) {
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
		done(m.better(ctx, r, votes, deadline))
	})
}

// stand leaves votes as they are and says why.
func stand(votes []round.Vote, err error) []round.Vote {
	for i := range votes {
		votes[i] = standing(votes[i], err)
	}
	return votes
}

// better asks for the votes that a model may better, in one call.
func (m *ModelRefiner) better(ctx context.Context, r round.Refine, votes []round.Vote, deadline time.Duration) []round.Vote {
	left := deadline - m.c.Now() - refineReserve
	if b := m.c.Budget; b > 0 && b < left {
		left = b
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	cards := make(map[round.CompanionID]Card)
	for _, c := range m.c.Cards() {
		cards[c.ID] = c
	}
	var asked []Card
	errs := make([]error, len(votes))
	for i, v := range votes {
		card, ok := cards[v.From]
		if errs[i] = m.unasked(r, v, card, ok); errs[i] == nil {
			asked = append(asked, card)
		}
	}
	var made map[round.CompanionID]ballot
	var err error
	if len(asked) > 0 {
		made, err = m.vote(ctx, r, votes, asked)
	}
	for i, v := range votes {
		b, ok := made[v.From]
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		case !ok:
			errs[i] = errNonsense
		case b.err != nil:
			errs[i] = b.err
		}
		if errs[i] != nil {
			votes[i] = m.note(v, errs[i])
			continue
		}
		votes[i] = b.onto(v)
		m.refined.Add(1)
		if m.failing.Swap(false) {
			m.c.Log.Info(logRefineAgain)
		}
	}
	return votes
}

// unasked says why a vote needs no model: what is owed or forbidden is decided (ROOM.md 3.2).
func (m *ModelRefiner) unasked(r round.Refine, v round.Vote, card Card, known bool) error {
	switch {
	case !known:
		return errStranger
	case v.Selected, v.Layer == round.LayerOwed, v.Layer == round.LayerForbidden, card.Muted, v.MessageID != r.Message.ID:
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

// vote is one call, in the best format that the server has not refused. One that refuses it is asked for a simpler one the next time: a
// round has one call, and the rules stand.
func (m *ModelRefiner) vote(ctx context.Context, r round.Refine, votes []round.Vote, of []Card) (made map[round.CompanionID]ballot, err error) {
	defer func() {
		if p := recover(); p != nil {
			made, err = nil, fmt.Errorf("%w: it tripped over the answer", errNonsense)
		}
	}()
	f := format(m.format.Load())
	answer, err := m.ask(ctx, m.prompt(r, votes, of), of, f)
	if refusedFormat(err) && f < formatPlain {
		m.refused.Add(1)
		if m.format.CompareAndSwap(int32(f), int32(f+1)) {
			m.c.Log.Info(logRefineFormat, "format", (f + 1).String())
		}
	}
	if err != nil {
		return nil, err
	}
	return readBallots(answer, of)
}

// ask is one request.
func (m *ModelRefiner) ask(ctx context.Context, messages []openai.ChatCompletionMessage, of []Card, f format) (string, error) {
	key := ""
	if m.c.Key != nil {
		key = strings.TrimSpace(m.c.Key())
	}
	conf := openai.DefaultConfig(key)
	conf.BaseURL = m.base
	conf.HTTPClient = bounded{m.c.Client, m.c.Header}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	m.calls.Add(1)
	res, err := openai.NewClientWithConfig(conf).CreateChatCompletion(ctx, m.request(messages, of, f))
	if err != nil {
		return "", err
	}
	m.in.Add(uint64(max(0, res.Usage.PromptTokens)))
	m.out.Add(uint64(max(0, res.Usage.CompletionTokens)))
	if m.c.Usage != nil {
		m.c.Usage(max(0, res.Usage.PromptTokens), max(0, res.Usage.CompletionTokens))
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

func (m *ModelRefiner) request(messages []openai.ChatCompletionMessage, of []Card, f format) openai.ChatCompletionRequest {
	model, most := m.c.Model, refineTokens*(1+len(of))
	q := openai.ChatCompletionRequest{Model: model, Messages: messages, ReasoningEffort: effort(model)}
	// OpenAI's newer models refuse max_tokens and a temperature; servers of one's own often know nothing else.
	if m.hosted || reasons(model) {
		q.MaxCompletionTokens = most
	} else {
		q.MaxTokens = most   //nolint:staticcheck // many of those servers know no other
		q.Temperature = 1e-6 // as good as 0, which the library leaves out
	}
	switch f {
	case formatSchema:
		q.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "votes", Description: "the companions' votes on who speaks next", Schema: ballotSchema(of), Strict: true,
			},
		}
	case formatObject:
		q.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return q
}

// effort is how long a model thinks before it votes: GPT-6 takes "none" to "max", and "medium", which no vote can wait for, where nothing is
// said. What others take differs by model, and they keep what is theirs.
func effort(model string) string {
	if strings.HasPrefix(model, "gpt-6") {
		return "none"
	}
	return ""
}

// reasons knows the families that the library and the service treat as reasoning models.
func reasons(model string) bool {
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}
