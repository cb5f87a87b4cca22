package cascade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// An ear writes down what was said. Hear may be called from several goroutines.
type ear interface {
	hear(ctx context.Context, pcm []int16, names string) (string, error)
	stage
}

// A stage is one of the three, at a server or here.
type stage interface {
	ready(ctx context.Context) error // cheap: it could begin now
	warm(ctx context.Context) error  // makes it ready for the first request after a long time
	cold(now time.Time) bool         // whether that is worth it
	fmt.Stringer
}

// heardRate is what servers of this kind take for granted.
const heardRate = 16000

// earAt is a server that takes /audio/transcriptions, or what its profile has in its place.
type earAt struct {
	*web
	api             *openai.Client
	model, language string
	limit           time.Duration
}

func newEar(w *web, model, language string, limit time.Duration) *earAt {
	return &earAt{web: w, api: w.api(recode{w, w.profile.HearPath}), model: model, language: language, limit: limit}
}

// api is go-openai's client of a server.
func (w *web) api(through openai.HTTPDoer) *openai.Client {
	conf := openai.DefaultConfig("") // the key is read anew for each request
	conf.BaseURL, conf.HTTPClient = w.url.String(), through
	conf.EmptyMessagesLimit = mostEmpty
	return openai.NewClientWithConfig(conf)
}

// mostEmpty is lines of a stream in a row that say nothing: some servers send one every few seconds while a model loads.
const mostEmpty = 10000

// recode stands between go-openai and a server that differs in the answer, or in the path.
type recode struct {
	*web
	path string
}

// Do makes of whatever transcript comes the one that go-openai reads: of plain text, and of a bare error under status 200.
func (r recode) Do(q *http.Request) (*http.Response, error) {
	if r.path != "/audio/transcriptions" {
		q.URL.Path = strings.TrimSuffix(q.URL.Path, "/audio/transcriptions") + r.path
	}
	r.sign(q)
	resp, err := r.web.Do(q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostReply))
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var said struct {
		Text *string `json:"text"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil && kind == "application/json", err != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return nil, &unusable{turn.WordsServerError, "a transcript that cannot be read"}
	case err != nil || said.Text == nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		text, _ = json.Marshal(map[string]string{"text": string(text)})
	case said.Text == nil:
		kind, code, words := kit.ReadFault(text)
		return nil, &kit.RefusalError{Status: http.StatusInternalServerError, Kind: kind, Code: code, Text: kit.Redact(words, r.key())}
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

func (e *earAt) hear(ctx context.Context, pcm []int16, names string) (string, error) {
	ctx, p := patient(ctx, "a transcript", e.limit, e.limit)
	defer p.over()
	if !e.profile.Prompts {
		names = ""
	}
	wav := kit.WAV(kit.Resample(pcm, kit.Rate, heardRate), heardRate)
	said, err := e.api.CreateTranscription(ctx, openai.AudioRequest{
		Model: e.model, FilePath: "speech.wav", Reader: bytes.NewReader(wav), Prompt: names, Language: e.language, Format: openai.AudioResponseFormatJSON,
	})
	if err != nil {
		return "", e.failed("hear", reason(ctx, err))
	}
	return transcript(said.Text), nil
}

// reason is why a request ended: of a deadline of ours that, and of a refusal what the server said.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// noises are what recognizers write where nobody spoke.
var noises = map[string]bool{"[blank_audio]": true, "[silence]": true, "(silence)": true, "[no speech]": true, "[music]": true,
	"[noise]": true, "you": true, "thank you.": true,
	"thanks for watching!": true, ".": true, "...": true}

// transcript is one without what nobody said.
func transcript(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if noises[strings.ToLower(text)] && strings.ContainsAny(text, "[(.") || strings.EqualFold(text, "Thanks for watching!") {
		return ""
	}
	if len(text) > kit.MaxHistoryText/4 {
		text = strings.ToValidUTF8(text[:kit.MaxHistoryText/4], "")
	}
	return text
}

// ready asks for the list of models, which also opens a connection.
func (w *web) ready(ctx context.Context) error {
	_, err := w.list(ctx)
	return err
}

// cold says that a server may have forgotten its model, or we the connection.
func (w *web) cold(now time.Time) bool { return now.Sub(time.Unix(0, w.used.Load())) > coldAfter }

// coldAfter is how long servers that load models keep one that nobody uses, less than the shortest that is known (Ollama: 5 min).
const coldAfter = 4 * time.Minute

// warm has a server load its model: it is given half a second of silence.
func (e *earAt) warm(ctx context.Context) error {
	if !e.profile.Loads || e.profile.Vendor {
		return e.ready(ctx)
	}
	wav := kit.WAV(make([]int16, heardRate/2), heardRate)
	_, err := e.api.CreateTranscription(ctx, openai.AudioRequest{
		Model: e.model, FilePath: "speech.wav", Reader: bytes.NewReader(wav), Language: e.language, Format: openai.AudioResponseFormatJSON,
	})
	if err != nil {
		err = e.failed("hear", reason(ctx, err))
	}
	return err
}
