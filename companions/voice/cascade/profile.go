package cascade

import (
	"net/url"
	"slices"
	"strings"

	"conch/companions/voice"
	"conch/companions/voice/realtime/models"
)

// Profile is what is different about a server. It is data: the client has no other place that knows a server by name. What a profile
// does not say, evidence does: what a server refuses of a request is left out of the next (chat.go, speak.go).
type Profile struct {
	Name string
	Path string // of the address, where it has none
	List string // what it answers cheaply; relative to the address

	// of hearing
	HearPath string // relative to the address
	Ear      string // model that is asked for where none is named
	Prompts  bool   // takes words that may be said
	Detect   string // what asks it to tell the language; "": no language does
	Verbose  bool   // says how sure it is (verbose_json), or refuses to

	// of chat
	Usage  bool           // counts tokens in a stream, if asked
	System bool           // takes instructions anywhere in a conversation; others take them at its beginning, if at all
	Kwargs map[string]any // of the chat's template: what a model thinks before it speaks is silence
	Effort string         // reasoning_effort that has a model answer without thinking; "": the server takes none

	// of speech
	SpeakPath string            // relative to the address
	Text      bool              // it wants no more than a text and a voice (piper)
	Mouth     string            // model that is asked for where none is named
	Voices    []string          // that are there: one for each companion where none of them was chosen
	Tongues   map[string]string // a voice of another language than theirs, by ISO 639-1
	Format    string            // of audio: pcm or wav
	Rate      int               // of pcm, which has no header
	Rated     bool              // takes sample_rate
	Streams   bool              // takes stream: true, and then sends sound while it makes it

	// manners
	Single bool // one request at a time: others would wait in it, unseen
	Loads  bool // loads a model when it is first asked, and forgets it when nobody asks
	Vendor bool // sells what it does: nothing is asked of it for practice
}

// kokoros are voices of Kokoro-82M.
var kokoros = []string{"af_heart", "am_michael", "bf_emma", "bm_george", "af_bella", "am_puck"}

// kokoroTongues are its voices of other languages.
var kokoroTongues = map[string]string{"es": "ef_dora", "fr": "ff_siwis", "hi": "hf_alpha", "it": "if_sara", "ja": "jf_alpha", "pt": "pf_dora",
	"zh": "zf_xiaobei"}

const standard = "/audio/speech"

var quiet = map[string]any{"enable_thinking": false}

// Profiles lists them. Sources are the servers' own code and pages, as of autumn 2026; what each one does is played in servers_test.go.
var Profiles = []Profile{
	{Name: "compatible", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions", Ear: whisper1, Verbose: true, Usage: true,
		SpeakPath: standard, Mouth: "tts-1", Voices: []string{"alloy"}, Format: "wav", Loads: true},
	{Name: "openai", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions", Ear: "gpt-transcribe", Prompts: true, Usage: true, System: true,
		SpeakPath: standard, Mouth: "gpt-4o-mini-tts", Voices: []string{"marin"}, Format: "pcm", Rate: 24000, Vendor: true},
	// tool_choice is ignored and errors are bare strings; models are forgotten after five minutes.
	{Name: "ollama", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions", Verbose: true, Usage: true,
		SpeakPath: standard, Format: "wav", Loads: true, Effort: "none"},
	{Name: "llama.cpp", Path: "/v1", List: "/models", Usage: true, Kwargs: quiet, Single: true},
	{Name: "vllm", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions", Verbose: true, Usage: true, Kwargs: quiet},
	// Takes stream and sample_rate, but what it streams has no true header: sound is taken whole.
	{Name: "localai", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions", Ear: whisper1, Verbose: true, SpeakPath: standard, Mouth: "tts-1",
		Voices: []string{"alloy"},
		Format: "wav", Rated: true, Loads: true},
	{Name: "speaches", Path: "/v1", List: "/models", HearPath: "/audio/transcriptions",
		Ear: "Systran/faster-whisper-small", Prompts: true, Verbose: true, Usage: true,
		SpeakPath: standard, Mouth: "speaches-ai/Kokoro-82M-v1.0-ONNX", Voices: kokoros, Tongues: kokoroTongues,
		Format: "pcm", Rate: 24000, Rated: true, Loads: true},
	// Knows no model but its own, and no voice of OpenAI's; stops when the client goes.
	{Name: "kokoro", Path: "/v1", List: "/models", SpeakPath: standard, Mouth: "kokoro", Voices: kokoros,
		Tongues: kokoroTongues, Format: "pcm", Rate: 24000, Streams: true},
	// One request at a time, behind a lock of its own.
	{Name: "whisper.cpp", List: "/health", HearPath: "/inference", Ear: "whisper", Prompts: true, Detect: "auto", Verbose: true, Single: true},
	// Not OpenAI's protocol: a text in, a WAV file at the voice's own rate out.
	{Name: "piper", List: "/voices", SpeakPath: "/synthesize", Text: true, Format: "wav"},
}

// ProfileNames are those that profileByName finds.
func ProfileNames() []string {
	var names []string
	for _, p := range Profiles {
		names = append(names, p.Name)
	}
	return names
}

func profileByName(name string) (Profile, bool) {
	i := slices.IndexFunc(Profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return Profiles[i], true
}

// guess is the profile of an address that nobody has named: by its host, and the port that a server has unless told otherwise.
func guess(u *url.URL) Profile {
	host := strings.ToLower(u.Hostname())
	name := "compatible"
	switch {
	case host == "openai.com", strings.HasSuffix(host, ".openai.com"):
		name = "openai"
	case u.Port() == "11434":
		name = "ollama"
	case u.Port() == "8880":
		name = "kokoro"
	}
	p, _ := profileByName(name)
	p.Vendor = p.Vendor || away(u)
	return p
}

// evidence is the profile that a server's list of models shows; "": it shows none.
func evidence(owners []string, server string) string {
	for _, o := range append(owners, strings.ToLower(server)) {
		switch {
		case o == "llamacpp", strings.HasPrefix(o, "llama.cpp"):
			return "llama.cpp"
		case o == "vllm", o == "speaches", o == "localai", o == "kokoro":
			return o
		case o == "library": // of Ollama
			return "ollama"
		}
	}
	return ""
}

// away says that a server is beyond the household.
func away(u *url.URL) bool { return voice.Far(u.Hostname()) && !models.Home(u.Hostname()) }
