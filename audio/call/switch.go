package call

// A loudspeaker that a microphone hears, at both ends of a line: whatever comes back louder than it went howls. There is no echo canceller
// here. Like a hands-free telephone that has none, who speaks is heard and the other way is made soft meanwhile (ITU-T P.340, voice
// switching): a person who interrupts has to be louder than what the loudspeaker brings in.
const (
	hangFrames = 25    // 250 ms: the tail of a word, the way through card and air
	openLevel  = 250.0 // of a frame's mean magnitude, if there is no noise: -42 dB
	aboveNoise = 3.0
	breakIn    = 2.0  // times as loud as the loudspeaker was, to be somebody who interrupts
	softMic    = 0.02 // while the far end speaks: -34 dB
	softEar    = 0.2  // while somebody speaks here: -14 dB
	idleMic    = 0.3  // while nobody does: -10 dB
	slew       = 0.2  // of a gain, in a frame
)

// Switch is who speaks: the zero value is a line on which nobody does.
type Switch struct {
	noise    float64 // of the microphone
	far      float64 // how loud the loudspeaker was lately
	farHang  int
	nearHang int
	mic, ear float64 // gains as they are
	begun    bool
}

func level(pcm []int16) (sum float64) {
	for _, x := range pcm {
		sum += max(float64(x), -float64(x))
	}
	return sum / float64(max(1, len(pcm)))
}

// Near passes a frame of the microphone.
func (s *Switch) Near(pcm []int16) {
	s.start()
	l := level(pcm)
	if s.noise == 0 || l < s.noise {
		s.noise = l
	} else {
		s.noise = min(s.noise*1.005+0.01, openLevel) // it follows slowly: 6 dB in more than a second
	}
	if speaks := l > max(openLevel, aboveNoise*s.noise); speaks && (s.farHang == 0 || l > breakIn*s.far) {
		s.nearHang = hangFrames
	} else if s.nearHang > 0 {
		s.nearHang--
	}
	want := idleMic
	switch {
	case s.nearHang > 0:
		want = 1
	case s.farHang > 0:
		want = softMic
	}
	s.mic = ramp(pcm, s.mic, want)
}

// Far passes a frame for the loudspeaker.
func (s *Switch) Far(pcm []int16) {
	s.start()
	if level(pcm) > openLevel {
		s.farHang = hangFrames
	} else if s.farHang > 0 {
		s.farHang--
	}
	want := 1.0
	if s.nearHang > 0 {
		want = softEar
	}
	s.ear = ramp(pcm, s.ear, want)
	s.far = max(level(pcm), s.far*0.93) // as the loudspeaker has it
}

func (s *Switch) start() {
	if !s.begun {
		s.begun, s.mic, s.ear = true, idleMic, 1
	}
}

// ramp brings a gain nearer to what it should be, without a click.
func ramp(pcm []int16, from, want float64) float64 {
	to := min(max(want, from-slew), from+slew)
	for i, x := range pcm {
		pcm[i] = clip(float64(x) * (from + (to-from)*float64(i+1)/float64(len(pcm))))
	}
	return to
}
