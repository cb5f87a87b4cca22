package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/audio"
	"conch/companions/voice"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/provider"
)

// Voice is the result of `conch bench voice`: from the release of the button to the first sound, stage by stage, at the servers that
// are configured. Each stage is counted from the release, so that the last line is the whole.
type Voice struct {
	Method string  `json:"method"`
	Called string  `json:"voice"`
	Rounds int     `json:"rounds"`
	Stages []Stage `json:"stages"`
}

// Stage is one of them, in milliseconds since the release.
type Stage struct {
	Name string  `json:"stage"`
	Mid  float64 `json:"p50_ms"`
	Max  float64 `json:"max_ms"`
	N    int     `json:"n"`
}

// Print is a table.
func (v Voice) Print(w io.Writer) {
	fmt.Fprintf(w, "%-28s %8s %8s\n", "since the release", "p50 ms", "max ms")
	for _, s := range v.Stages {
		fmt.Fprintf(w, "%-28s %8.0f %8.0f\n", s.Name, s.Mid, s.Max)
	}
}

const (
	askedOf    = "What is the capital of France?"
	readyLimit = 3 * time.Minute // a server may have to load its models
	roundLimit = time.Minute
	quietLimit = 8 * time.Second // nobody waits for longer without a word
)

var (
	errUnready = errors.New("the voice does not become ready (see: conch doctor)")
	errRound   = errors.New("no answer")
)

// MeasureVoice asks the configured voice a question so often; each answer is ended at its first sound. Progress is told of each round, and of
// what keeps the voice from being ready, or what it does without, as soon as that is known.
func MeasureVoice(ctx context.Context, cfg config.Config, rounds int, progress io.Writer) (report Voice, err error) {
	kind, _ := provider.Kind(&cfg)
	settings, err := provider.Settings(&cfg, kind)
	if err != nil {
		return report, err
	}
	all, _ := cards.Find(&cfg) // what is wrong with the others is told elsewhere
	companion := provider.Companion(&cfg, all[0])
	progress = &shared{to: progress}
	companion.Log = slog.New(slog.DiscardHandler)
	companion.Refused = func(parts []string, why string) {
		if len(parts) > 0 {
			fmt.Fprintf(progress, "without %s: %s\n", strings.Join(parts, ", "), why)
		}
	}
	settings.Log, settings.CeilingTokens, settings.CeilingCost = companion.Log, 0, 0
	made, err := kind.New(settings, []voice.Companion{companion})
	if setting := (voice.SettingError{}); errors.As(err, &setting) {
		return report, fmt.Errorf("%w: config: voice: %w", control.ErrRefused, err)
	} else if err != nil {
		return report, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if made.Run != nil {
		wg.Go(func() { _ = made.Run(ctx) })
	}
	v := made.Sessions[0].Voice
	x := &asker{now: clock(), facts: make(chan heardFact, 4096)}
	wg.Go(func() { _ = v.Run(ctx, x) })
	if err := x.ready(ctx, readyLimit, progress); err != nil {
		return report, fmt.Errorf("bench voice: %w: %w", errUnready, err)
	}
	question, method := spokenQuestion(ctx)
	report = Voice{Method: method, Called: made.Called, Rounds: rounds}
	if made.Now != nil {
		report.Called = made.Now()
	}
	stages := map[string][]float64{}
	for i := range rounds {
		id := turn.ID(fmt.Sprintf("t-bench%d", i))
		if err := x.round(ctx, v, id, question, stages); err != nil {
			return report, fmt.Errorf("bench voice: round %d: %w", i+1, err)
		}
		fmt.Fprintf(progress, "%d of %d\n", i+1, rounds)
	}
	for _, name := range []string{stageHeard, stageWords, stageSound} {
		if ms := stages[name]; len(ms) > 0 {
			slices.Sort(ms)
			report.Stages = append(report.Stages, Stage{name, ms[len(ms)/2], ms[len(ms)-1], len(ms)})
		}
	}
	return report, nil
}

// Names of stages.
const (
	stageHeard = "the question is written down"
	stageWords = "the first words"
	stageSound = "the first sound"
)

// spokenQuestion is what a person would say, in the voice of this machine, else a tone of its length.
func spokenQuestion(ctx context.Context) (pcm []int16, method string) {
	s := rehearsal.NewSynthesizer()
	if pcm, err := s.Say(ctx, "", askedOf); err == nil {
		return pcm, fmt.Sprintf("%q, spoken by %s, given to the voice at once; the answer is ended at its first sound", askedOf, s)
	}
	pcm = make([]int16, 2*audio.Rate)
	for i := range pcm {
		pcm[i] = int16(6000 * math.Sin(2*math.Pi*300*float64(i)/audio.Rate))
	}
	return pcm, "a tone of 2 s; the answer is ended at its first sound"
}

type heardFact struct {
	at    time.Duration
	event turn.Event // nil: sound
	turn  turn.ID
}

// asker takes a voice's facts, and the moment of its sound.
type asker struct {
	now   func() time.Duration
	facts chan heardFact
}

func (l *asker) Now() time.Duration { return l.now() }

func (l *asker) Post(ev turn.Event) {
	select {
	case l.facts <- heardFact{at: l.now(), event: ev}:
	default: // nobody waits for so many
	}
}

func (l *asker) Audio(_ context.Context, id turn.ID, pcm []int16) int {
	select {
	case l.facts <- heardFact{at: l.now(), turn: id}:
	default:
	}
	return len(pcm)
}

func (l *asker) wait(ctx context.Context, limit time.Duration, is func(heardFact) bool) (heardFact, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	why := errRound
	for {
		select {
		case f := <-l.facts:
			if e, ok := f.event.(turn.SessionLost); ok {
				why = fmt.Errorf("%w: %s", errRound, e.Say)
			}
			if is(f) {
				return f, nil
			}
		case <-late.C:
			return heardFact{}, fmt.Errorf("%w within %v", why, limit)
		case <-ctx.Done():
			return heardFact{}, ctx.Err()
		}
	}
}

// shared is a writer that several goroutines write to.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(b)
}

// ready waits for a session. What is in its way is told at once, and ends it where no waiting mends that.
func (l *asker) ready(ctx context.Context, limit time.Duration, progress io.Writer) error {
	patient := time.AfterFunc(quietLimit, func() {
		fmt.Fprintf(progress, "not ready yet, for %v at most: a server may be loading its model, or hangs (see: conch doctor)\n", limit)
	})
	defer patient.Stop()
	var lost error
	before := ""
	_, err := l.wait(ctx, limit, func(f heardFact) bool {
		switch e := f.event.(type) {
		case turn.SessionReady:
			lost = nil
			return true
		case turn.SessionLost:
			why := cmp.Or(e.Why, string(e.Say))
			if lost = fmt.Errorf("%w: %s", errRound, why); e.Do != "" {
				lost = fmt.Errorf("%w: %s: %s", errRound, why, e.Do)
			}
			if hopeless(e) {
				return true
			}
			if why != before {
				fmt.Fprintf(progress, "not ready yet, for %v at most: %s\n", limit, why)
				before = why
			}
		}
		return false
	})
	return cmp.Or(lost, err)
}

// hopeless says that no waiting mends what keeps a session away: it is no network, nor a server that starts or loads its model.
func hopeless(e turn.SessionLost) bool {
	switch e.Say {
	case turn.WordsOffline, turn.WordsNotRunning, turn.WordsHearOnly, turn.WordsNoAnswer:
		return e.Fatal
	case turn.WordsServerError:
		return e.Fatal || e.Do != "" // a status may be one of a server that starts
	}
	return true
}

// round asks once.
func (l *asker) round(ctx context.Context, v voice.Voice, id turn.ID, question []int16, stages map[string][]float64) error {
	v.Do(turn.ClearInput{Turn: id})
	v.Append(id, question)
	release := l.now()
	v.Do(turn.CommitInput{Turn: id})
	v.Do(turn.CreateResponse{Turn: id})
	once := map[string]float64{}
	note := func(name string, at time.Duration) { once[name] = cmp.Or(once[name], milliseconds(at-release)) }
	var refused error
	var response turn.ResponseID
	_, err := l.wait(ctx, roundLimit, func(f heardFact) bool {
		switch e := f.event.(type) {
		case nil:
			if f.turn == id {
				note(stageSound, f.at)
				return true
			}
		case turn.Transcribed:
			if e.Turn == id {
				note(stageHeard, f.at)
			}
		case turn.ResponseStarted:
			response = e.Response
		case turn.DeltaArrived:
			if e.Turn == id && e.Samples == 0 && e.Item != "" {
				note(stageWords, f.at)
			}
		case turn.InputRefused:
			refused = fmt.Errorf("%w: nothing was understood", errRound)
		case turn.ResponseRefused:
			refused = fmt.Errorf("%w: %s", errRound, e.Say)
		case turn.ResponseDone:
			if e.Turn == id && e.Say != "" {
				refused = fmt.Errorf("%w: %s", errRound, e.Say)
			}
		}
		return refused != nil
	})
	if err = cmp.Or(refused, err); err != nil {
		return err
	}
	v.Do(turn.CancelResponse{Turn: id, Response: response})
	_, err = l.wait(ctx, roundLimit, func(f heardFact) bool {
		e, ok := f.event.(turn.ResponseDone)
		return ok && e.Turn == id
	})
	for name, ms := range once {
		stages[name] = append(stages[name], ms)
	}
	return err
}
