package gpio

// A codec wakes up with its paths shut: no sound, and no microphone, until somebody turns it up. Levels are what makes a board
// sound and hear. Each half of a card has a gate that everything passes and that is shut when the chip wakes up: as long as it
// is, nobody has set that half, and all of it is set. Whoever has opened it has levels of their own, and they stay.

// Mixer are the levels of a board, by half of its card.
type Mixer struct {
	Playback, Capture MixerHalf
}

// MixerHalf are levels in the order in which they are set; the gate comes last, so that what broke off is done again.
type MixerHalf struct {
	Levels []Level
	Gate   string
}

// Level is a control and where it belongs; a switch is 0 or 1, a choice the number of its item.
type Level struct {
	Control string
	Value   int
}

// wm8960 is from waveshareteam/WM8960-Audio-HAT, wm8960_asound.state; that the paths are shut at first from the kernel's
// sound/soc/codecs/wm8960.c, wm8960_reg_defaults.
var wm8960 = Mixer{
	Playback: MixerHalf{Gate: "Left Output Mixer PCM Playback Switch", Levels: []Level{
		{"Playback Volume", 255}, {"Headphone Playback Volume", 109}, {"Speaker Playback Volume", 109}, {"Speaker DC Volume", 4}, {"Speaker AC Volume", 4},
		{"Right Output Mixer PCM Playback Switch", 1},
	}},
	Capture: MixerHalf{Gate: "Left Input Mixer Boost Switch", Levels: []Level{
		{"Capture Volume", 39}, {"Capture Switch", 1}, {"ADC PCM Capture Volume", 195}, {"Left Input Boost Mixer LINPUT1 Volume", 3},
		{"Right Input Boost Mixer RINPUT1 Volume", 3}, {"Left Boost Mixer LINPUT1 Switch", 1}, {"Right Boost Mixer RINPUT1 Switch", 1},
		{"Right Input Mixer Boost Switch", 1},
	}},
}

// da7212 is from raspberrypi/Pi-Codec, Codec_Zero_OnboardMIC_record_and_SPK_playback.state.
var da7212 = Mixer{
	Playback: MixerHalf{Gate: "Mixout Left DAC Left Switch", Levels: []Level{
		{"DAC Volume", 112}, {"Lineout Volume", 48}, {"Lineout Switch", 1}, {"DAC Mono Switch", 1}, {"DAC Left Source MUX", 2},
		{"DAC Right Source MUX", 3}, {"Mixout Right DAC Right Switch", 1},
	}},
	Capture: MixerHalf{Gate: "Mixin Left Mic 2 Switch", Levels: []Level{
		{"Mic 2 Volume", 5}, {"Mic 2 Switch", 1}, {"Mixin PGA Volume", 7}, {"Mixin PGA Switch", 1}, {"ADC Volume", 114}, {"ADC Switch", 1},
		{"Onboard MIC Switch", 1}, {"DAI Right Source MUX", 1}, {"Mixin Right Mic 2 Switch", 1},
	}},
}

// mixers are those of the boards whose levels are known.
var mixers = map[string]Mixer{
	"respeaker-2mic": wm8960, "adafruit-voice-bonnet": wm8960, "adafruit-braincraft": wm8960, "whisplay": wm8960, "waveshare-wm8960": wm8960,
	"codec-zero": da7212,
}

// Mixer are the levels of the board; not known: the board has none, or nobody knows them.
func (b Board) Mixer() (m Mixer, known bool) {
	m, known = mixers[b.Name]
	return m, known
}
