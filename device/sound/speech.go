package sound

import "conch/audio/detect"

// Heard is what became of an utterance.
type Heard struct {
	Samples int  // between the edges of the press
	Flat    bool // the microphone gave no sound at all, which is a fault
	Empty   bool // no speech is in it
}

// speech listens to each utterance on its way. Owned by the goroutine of the microphone.
type speech struct {
	detector *detect.Detector
	of       string
}

func newSpeech() *speech { return &speech{detector: detect.New()} }

// sink listens, and hands on.
func (s *speech) sink(next func(id string, pcm []int16)) func(string, []int16) {
	return func(id string, pcm []int16) {
		if id != s.of {
			s.of = id
			s.detector.Begin()
		}
		s.detector.Add(pcm)
		next(id, pcm)
	}
}

// empty reports whether an utterance that has ended holds no speech.
func (s *speech) empty(id string) bool { return id == s.of && !s.detector.Holds() }
