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
	"slices"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
	"conch/device/language"
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
	api       *openai.Client
	model     string
	languages []string
	limit     time.Duration
	bare      atomic.Bool // it has refused verbose_json
}

func newEar(w *web, model string, languages []string, limit time.Duration) *earAt {
	e := &earAt{web: w, api: w.api(recode{w, w.profile.HearPath}), model: model, languages: languages, limit: limit}
	e.bare.Store(!w.profile.Verbose && !(w.profile.Vendor && model == whisper1))
	return e
}

// whisper1 is the only model of OpenAI's that says how sure it is.
const whisper1 = "whisper-1"

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
		Text     *string         `json:"text"`
		Language json.RawMessage `json:"language,omitempty"`
		Segments json.RawMessage `json:"segments,omitempty"`
	}
	var sure []struct {
		Silent  float64 `json:"no_speech_prob"`
		Logprob float64 `json:"avg_logprob"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil && kind == "application/json", err != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return nil, &unusable{turn.WordsServerError, "a transcript that cannot be read"}
	case err != nil || said.Text == nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		text, _ = json.Marshal(map[string]string{"text": string(text)})
	case said.Text == nil:
		kind, code, words := kit.ReadFault(text)
		return nil, &kit.RefusalError{Status: http.StatusInternalServerError, Kind: kind, Code: code, Text: kit.Redact(words, r.key())}
	default: // servers differ in all that conch has no use for
		var language string
		_, _ = json.Unmarshal(said.Language, &language), json.Unmarshal(said.Segments, &sure)
		text, _ = json.Marshal(map[string]any{"text": said.Text, "language": language, "segments": sure})
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
	t, err := e.transcribe(ctx, wav, names, e.language())
	if of := language.Code(t.language); err == nil && len(e.languages) > 1 && of != "" && !slices.Contains(e.languages, of) {
		t, err = e.transcribe(ctx, wav, names, e.languages[0]) // nobody here speaks what it was taken for
	}
	if err != nil {
		return "", e.failed("hear", reason(ctx, err))
	}
	return t.words(pcm, names), nil
}

// language is what a request says of it.
func (e *earAt) language() string {
	if len(e.languages) == 1 {
		return e.languages[0]
	}
	return e.profile.Detect
}

// transcribe asks for a transcript with how sure it is, and without that where the server refuses it.
func (e *earAt) transcribe(ctx context.Context, wav []byte, names, language string) (t transcript, err error) {
	for {
		q := openai.AudioRequest{
			Model: e.model, FilePath: "speech.wav", Reader: bytes.NewReader(wav), Prompt: names, Language: language, Format: openai.AudioResponseFormatJSON,
		}
		bare := e.bare.Load()
		if !bare {
			q.Format = openai.AudioResponseFormatVerboseJSON
		}
		said, err := e.api.CreateTranscription(ctx, q)
		var no *kit.RefusalError
		if !bare && errors.As(err, &no) && (no.Status == http.StatusBadRequest || no.Status == http.StatusUnprocessableEntity) {
			e.bare.Store(true)
			continue
		}
		t.text, t.language = said.Text, said.Language
		for _, s := range said.Segments {
			if s.NoSpeechProb == 0 && s.AvgLogprob == 0 {
				continue // it does not say
			}
			if !t.sure || s.NoSpeechProb < t.silent {
				t.silent, t.logprob = s.NoSpeechProb, s.AvgLogprob
			}
			t.sure = true
		}
		return t, err
	}
}

// reason is why a request ended: of a deadline of ours that, and of a refusal what the server said.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
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
	if _, err := e.transcribe(ctx, wav, "", e.language()); err != nil {
		return e.failed("hear", reason(ctx, err))
	}
	return nil
}
