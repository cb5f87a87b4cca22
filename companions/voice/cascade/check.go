package cascade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/companions/voice/realtime/models"
	"conch/coordinator/turn"
)

// stageLimit is how long a stage is tried: a server at home may have to load its model first.
const stageLimit = 7 * time.Second

// check examines the three stages, each by itself: is it there, does it take the key, has it the model, and how long does it take. A
// server at home is asked for a little of what it does, of all three at once; of one that sells it, no more than its list is asked.
func check(ctx context.Context, x voice.Examined) (out voice.Findings) {
	companion := voice.Companion{Model: x.Model}
	if x.Companion != nil {
		if c, err := x.Companion(); err == nil {
			companion = c
		}
	}
	companion.Log, companion.Load = slog.New(slog.DiscardHandler), nil
	cfg, err := Configure(x.Settings, companion)
	if err == nil {
		cfg.Client = pool(x.Roots, x.Dial)
		defer cfg.Client.CloseIdleConnections()
	}
	var c *Client
	if err == nil {
		c, err = New(cfg)
	}
	if err != nil {
		out.Bad("", err.Error(), "a slip", "see voice.url, voice.hear and voice.speak (conch check)")
		return out
	}
	e := examiner{x, c, &out}
	e.secrecy()
	var found [3]voice.Findings
	var wg sync.WaitGroup
	for i, look := range []func(examiner, context.Context){examiner.chat, examiner.hear, examiner.speak} {
		wg.Go(func() { look(examiner{x, c, &found[i]}, ctx) })
	}
	wg.Wait()
	return slices.Concat(out, found[0], found[1], found[2])
}

// noMouth is what to do where a vendor ends its speech models: none follows them.
const noMouth = "no model follows it: set voice.speak to another server or to a program of this machine (piper, espeak-ng), or use a Realtime session"

type examiner struct {
	voice.Examined
	c   *Client
	out *voice.Findings
}

// secrecy tells what passes a network in the clear.
func (e examiner) secrecy() {
	for _, t := range []target{e.c.cfg.chat, e.c.cfg.ear, e.c.cfg.mouth} {
		if t.url == nil || t.url.Scheme != "http" || !voice.Far(t.url.Hostname()) || slices.ContainsFunc(*e.out,
			func(f voice.Finding) bool { return f.Part == "tls" }) {
			continue
		}
		if models.Home(t.url.Hostname()) {
			e.out.Note("tls", "none: what is said passes the house's network in the clear (http://)", "")
			continue
		}
		e.out.Warn("tls", t.url.Host+" is http://: the key and what is said pass the network in the clear",
			"the server is used without encryption", "use https://")
	}
}

// there looks whether a server answers, once; what it said, or false.
func (e examiner) there(ctx context.Context, part, setting string, w *web) (l listed, ok bool) {
	l, err := w.list(ctx)
	if err != nil {
		e.bad(part, setting, w, err)
		return l, false
	}
	return l, true
}

// bad tells what is wrong with a stage, and what to do.
func (e examiner) bad(part, setting string, w *web, err error) {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && e.Unreachable != nil {
		f := e.Unreachable(w.url.Hostname(), setting, dial)
		f.Part = part
		*e.out = append(*e.out, f)
		return
	}
	say, fatal := kit.WordsOf(err, e.Now())
	if e.keyless(w, say) {
		return
	}
	text := fitToPrint(strings.TrimPrefix(err.Error(), "cascade: "))
	if say == turn.WordsKeyRefused && e.KeyHidden {
		e.out.Note(part, "whether the key is accepted cannot be seen without root", "sudo conch doctor")
		return
	}
	cause, do := e.Told(say)
	if say == turn.WordsKeyRefused {
		part = "key"
		switch w.secret.from {
		case ownKey:
			var bare *keyless
			if errors.As(err, &bare) {
				cause, do = "it wants a key, and there is none", bare.do()
			}
		case "":
			cause = "the voice's key goes to the host of voice.url alone"
			do = "put the key of " + w.url.Host + " into a file of mode 0600, and name it: " + w.secret.unset
		default:
			do = "put a valid key of " + w.url.Host + " where this one comes from: " + w.secret.from + "; it is read again by itself"
		}
	}
	if kit.Loading(err) {
		e.out.Warn(part, text, "the server loads its model", "wait, and look again: conch doctor")
		return
	}
	var late *slow
	if own := remedy(err, say); own != "" && !errors.As(err, &late) && say != turn.WordsKeyRefused {
		do = own
	}
	if errors.As(err, &late) && !fatal {
		e.out.Warn(part, text, "the server loads its model first, or it hangs",
			"wait, and look again: conch doctor; raise turn.commit_s if it is always as slow")
		return
	}
	e.out.Bad(part, text, cause, strings.ReplaceAll(do, "voice.url", setting))
}

// ending says whether the model of a stage ends at the vendor whose dates are known.
func (e examiner) ending(part, key string, t target, model, do string) {
	if t.url != nil && t.url.Hostname() == "api.openai.com" {
		*e.out = append(*e.out, models.Ending(e.Now(), part, key, model, do)...)
	}
}

// keyless tells of a stage whose own key cannot be read, where its server asks for one.
func (e examiner) keyless(w *web, say turn.Words) bool {
	if say != turn.WordsKeyRefused || w.secret.from == ownKey || w.secret.read == nil {
		return false
	}
	_, err := w.secret.read()
	switch {
	case err == nil:
		return false
	case errors.Is(err, fs.ErrPermission):
		e.out.Note("key", "whether "+w.url.Host+" accepts its key cannot be seen without root", "sudo conch doctor")
	default:
		e.out.Bad("key", w.secret.from+": "+err.Error(), "the key of "+w.url.Host+" cannot be read", "put the key and nothing else into it, mode 0600")
	}
	return true
}

// keyed says which key a stage has.
func (w *web) keyed() string {
	if w.key() == "" {
		return "no key"
	}
	return "key: " + w.secret.from
}

func fitToPrint(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

func (e examiner) chat(ctx context.Context) {
	m := e.c.mind
	l, ok := e.there(ctx, "chat", "voice.url", m.web)
	if !ok {
		return
	}
	e.c.learn(l)
	model := m.model()
	switch {
	case model == "" && l.none:
		e.out.Bad("chat", m.target.String()+" has no list of models, and none is named", "voice.model was not set", "set voice.model")
		return
	case model == "":
		e.out.Bad("chat", m.target.String()+" has no model", "none was loaded, or none pulled", "give the server a model, e.g. ollama pull qwen3:4b")
		return
	case len(l.models) > 0 && !slices.ContainsFunc(l.models, func(s string) bool { return s == model || strings.TrimSuffix(s, ":latest") == model }):
		e.out.Bad("chat", fmt.Sprintf("%s does not list the model %q; it has %s", m.target, model, some(l.models)),
			"voice.model (or a card's model) is another one's",
			"set voice.model to one of these")
		return
	}
	if m.profile.Vendor {
		e.ending("chat", "voice.model", m.target, model, "")
		e.out.OK("chat", "%s, model %s: its list came in %d ms; nothing was asked; %s", m.target, model, l.took.Milliseconds(), m.keyed())
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stageLimit, &slow{"an answer", stageLimit, false})
	defer cancel()
	began, first := time.Now(), time.Duration(0)
	m.first = stageLimit
	messages := chatOf(e.c.cfg.Instructions, []kit.Entry{{Role: "user", Text: "Answer with the word yes, and nothing else."}}, "", true)
	prompt, whole := m.prompt(messages, e.Tools)
	done, err := m.answer(ctx, messages, e.Tools, func() {}, func(said) bool {
		if first == 0 {
			first = time.Since(began)
		}
		return true
	})
	switch {
	case err != nil:
		e.bad("chat", "voice.url", m.web, err)
	default:
		if done.in > 0 {
			prompt += fmt.Sprintf(", %d tokens", done.in)
		}
		if done.in > 0 && m.context > 0 && int(done.in) > m.context/2 || !whole {
			e.out.Warn("chat", fmt.Sprintf("%s: its context of %d tokens is small for the prompt (%s)", m.target, m.context, prompt),
				"the beginning of a talk is soon forgotten, and tools are left out",
				"give the model 8192 tokens (llama-server -c 8192, OLLAMA_CONTEXT_LENGTH=8192)")
		}
		e.out.OK("chat", "%s (%s), model %s: the first word after %d ms; the prompt has %s; %s", m.target, m.traits().Name, model,
			first.Milliseconds(), prompt, m.keyed())
	}
}

// prompt is the size of what is asked with these messages and tools; whole: no tool is left out.
func (m *mind) prompt(messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) (bytes string, whole bool) {
	fitted, some, _ := fit(messages, tools, m.context, nil)
	body, err := json.Marshal(m.request(fitted, some))
	if err != nil {
		return "no size: " + err.Error(), true // a schema that is no JSON
	}
	return fmt.Sprintf("%d bytes", len(body)), m.context == 0 || size(bundle(messages, tools)) <= requestRoom(m.context)
}

func some(all []string) string {
	if len(all) > 6 {
		return strings.Join(all[:6], ", ") + ", …"
	}
	return strings.Join(all, ", ")
}

func (e examiner) hear(ctx context.Context) {
	began := time.Now()
	at, served := e.c.ear.(*earAt)
	if !served {
		if err := e.c.ear.ready(ctx); err != nil {
			e.out.Bad("hear", err.Error(), "the program is not installed", "install it, or set voice.hear to another")
			return
		}
		_, err := e.c.ear.hear(ctx, make([]int16, kit.Rate/2), "")
		e.local("hear", e.c.ear.String(), err, began)
		return
	}
	l, ok := e.there(ctx, "hear", "voice.hear", at.web)
	if !ok {
		return
	}
	if at.profile.Vendor {
		e.ending("hear", "voice.transcription", at.target, at.model, "")
		e.out.OK("hear", "%s, model %s: it answers in %d ms; nothing was asked; %s", at.target, at.model, l.took.Milliseconds(), at.keyed())
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stageLimit, &slow{"a transcript", stageLimit, false})
	defer cancel()
	at.limit, began = stageLimit, time.Now()
	if _, err := at.hear(ctx, make([]int16, kit.Rate), ""); err != nil {
		e.bad("hear", "voice.hear", at.web, err)
		return
	}
	e.out.OK("hear", "%s (%s), model %s: a second of sound in %d ms; %s", at.target, at.profile.Name, at.model, time.Since(began).Milliseconds(), at.keyed())
}

func (e examiner) speak(ctx context.Context) {
	began, first := time.Now(), time.Duration(0)
	on := func([]int16) bool {
		if first == 0 {
			first = time.Since(began)
		}
		return true
	}
	at, served := e.c.mouth.(*mouthAt)
	if !served {
		if err := e.c.mouth.ready(ctx); err != nil {
			e.out.Bad("speak", err.Error(), "the program is not installed", "install it, or set voice.speak to another")
			return
		}
		e.local("speak", e.c.mouth.String(), e.c.mouth.say(ctx, "Yes.", e.c.cfg.Language, on), began)
		return
	}
	l, ok := e.there(ctx, "speak", "voice.speak", at.web)
	if !ok {
		return
	}
	if at.profile.Vendor {
		e.ending("speak", "voice.speak_model", at.target, at.model, noMouth)
		e.out.OK("speak", "%s, model %s, voice %s: it answers in %d ms; nothing was asked; %s", at.target, at.model, at.voice, l.took.Milliseconds(),
			at.keyed())
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stageLimit, &slow{"speech", stageLimit, false})
	defer cancel()
	at.first, began = stageLimit, time.Now()
	if err := at.say(ctx, "Yes.", e.c.cfg.Language, on); err != nil {
		e.bad("speak", "voice.speak", at.web, err)
		return
	}
	e.out.OK("speak", "%s (%s), voice %s: the first sound after %d ms; %s", at.target, at.profile.Name, at.voice, first.Milliseconds(), at.keyed())
}

// local is the end of a try of a program.
func (e examiner) local(part, name string, err error, began time.Time) {
	if err != nil {
		e.out.Bad(part, fitToPrint(err.Error()), "the program does not do what it should", "try it by hand; or set voice."+part+" to another")
		return
	}
	e.out.OK(part, "%s, on this machine, in %d ms", name, time.Since(began).Milliseconds())
}

// readable is an error as people read it.
func readable(err error) string {
	return fitToPrint(strings.ReplaceAll(err.Error(), "cascade: ", ""))
}
