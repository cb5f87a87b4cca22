package gpio

import "strings"

// Boards is the table of boards, in the order people are shown it. Pins are from gpio/FACTS.md; what says which overlay brings
// a card up, and what the card and the EEPROM call themselves, is named beside each. Fixed after the program has started.
var Boards = []Board{
	{
		Name: "respeaker-2mic", Title: "ReSpeaker 2-Mics Pi HAT v1 (WM8960), Keyestudio 2-Mic",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Light:     BoardLight{Driver: LightAPA102, SPI: "0.0", Count: 3},
		Cards:     []string{"seeed2micvoicec"},      // name in respeaker/seeed-voicecard's overlay
		Overlay:   "dtoverlay=seeed-2mic-voicecard", // same; the maker's driver installs it, Raspberry Pi's kernel has none of that name
		I2C:       []int{0x1a},                      // same
		Note:      "the overlay comes with the maker's driver (seeed-voicecard)",
		Confirmed: FromSource,
	},
	{
		Name: "respeaker-2mic-v2", Title: "ReSpeaker 2-Mics Pi HAT v2 (TLV320AIC3104)",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Light:     BoardLight{Driver: LightAPA102, SPI: "0.0", Count: 3},
		Cards:     []string{"seeed2micvoicec"},
		Overlay:   "dtoverlay=respeaker-2mic-v2_0", // Seeed-Studio/seeed-linux-dtoverlays, overlays/rpi
		I2C:       []int{0x18},                     // same
		Note:      "the overlay comes from the maker (seeed-linux-dtoverlays); v1 has another one",
		Confirmed: FromSource,
	},
	{
		Name: "respeaker-4mic", Title: "ReSpeaker 4-Mic Array (AC108)",
		Light:     BoardLight{Driver: LightAPA102, SPI: "0.1", Count: 12, Power: 5},
		Cards:     []string{"seeed4micvoicec"},
		Overlay:   "dtoverlay=seeed-4mic-voicecard",
		NoSpeaker: true,
		Note:      "no button and no loudspeaker: wire a button (button.pin) and name another card in audio.playback",
		Confirmed: FromSource,
	},
	{
		Name: "respeaker-6mic", Title: "ReSpeaker 6-Mic Circular Array (AC108, AC101)",
		Button:    &BoardButton{Pin: 26, Bias: BiasUp},
		Light:     BoardLight{Driver: LightAPA102, SPI: "0.0", Count: 12, Power: 5},
		Cards:     []string{"seeed8micvoicec"}, // eight channels, six of them microphones
		Overlay:   "dtoverlay=seeed-8mic-voicecard",
		Note:      "the overlay comes with the maker's driver (seeed-voicecard)",
		Confirmed: FromDocs,
	},
	{
		Name: "adafruit-voice-bonnet", Title: "Adafruit Voice Bonnet (WM8960)",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Light:     BoardLight{Driver: LightAPA102GPIO, Pins: []int{5, 6}, Count: 3},
		Cards:     []string{"seeed2micvoicec", "wm8960soundcard"}, // the first with the driver its guide installs
		Overlay:   "dtoverlay=wm8960-soundcard",
		I2C:       []int{0x1a},
		Confirmed: FromDocs,
	},
	{
		Name: "adafruit-braincraft", Title: "Adafruit BrainCraft HAT (WM8960)",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Light:     BoardLight{Driver: LightAPA102GPIO, Pins: []int{5, 6}, Count: 3},
		Taken:     map[int]string{4: "fan", 16: "joystick", 22: "joystick", 23: "joystick", 24: "joystick", 27: "joystick"},
		Cards:     []string{"seeed2micvoicec", "wm8960soundcard"},
		Overlay:   "dtoverlay=wm8960-soundcard",
		I2C:       []int{0x1a},
		Note:      "the joystick can be the button as well: button.pin = 16, 22, 23, 24 or 27 needs device.board = custom",
		Confirmed: FromDocs,
	},
	{
		Name: "aiy-v1", Title: "Google AIY Voice HAT (Voice Kit v1)",
		Button: &BoardButton{Pin: 23, Bias: BiasUp},
		Light:  BoardLight{Driver: LightGPIO, Pins: []int{25}},
		// In Raspberry Pi's kernel the sound driver holds the pin itself (sdmode-gpios of the overlay): then it is in use, and well.
		Drive:     []Drive{{Pin: 16, High: true, Use: "enables the amplifier"}},
		Cards:     []string{"sndrpigooglevoi"},
		Overlay:   "dtoverlay=googlevoicehat-soundcard", // raspberrypi/linux, arch/arm/boot/dts/overlays
		Note:      "the light is the button's lamp",
		Confirmed: FromSource,
	},
	{
		Name: "aiy-v2", Title: "Google AIY Voice Bonnet (Voice Kit v2)",
		Button:    &BoardButton{Pin: 23, Bias: BiasUp},
		Light:     BoardLight{Driver: LightSysfs, Sysfs: "ktd202x:*"},
		Cards:     []string{"aiyvoicebonnet"},
		EEPROM:    EEPROM{Product: "AIY VoiceBonnet"}, // google/aiyprojects-raspbian#758
		I2C:       []int{0x1a},
		Note:      "needs Google's drivers (aiy-dkms) for sound and light; they are not in Raspberry Pi's kernel",
		Confirmed: FromSource,
	},
	{
		Name: "codec-zero", Title: "Raspberry Pi Codec Zero, IQaudio Codec Zero (DA7212)",
		Button:  &BoardButton{Pin: 27, Bias: BiasUp},
		Light:   BoardLight{Driver: LightGPIO, Pins: []int{23}},
		Taken:   map[int]string{22: "mute of the DigiAMP+ of the same family", 24: "second LED", 25: "infrared receiver"},
		Cards:   []string{"Zero", "IQaudIOCODEC"}, // raspberrypi/Pi-Codec: green boards, black boards
		Overlay: "dtoverlay=rpi-codeczero",        // raspberrypi/linux; set by the EEPROM of green boards; black ones: iqaudio-codec
		EEPROM:  EEPROM{Product: "Codec Zero"},
		Note: "it plays on the screw terminals and hears with its own microphone; for headphones or other microphones: sudo alsactl restore -f " +
			"a state file of github.com/raspberrypi/Pi-Codec; the green LED is 23, the red one 24",
		Confirmed: FromDocs,
	},
	{
		Name: "pirate-audio", Title: "Pimoroni Pirate Audio (all of them)",
		Button: &BoardButton{Pin: 5, Bias: BiasUp},
		Drive:  []Drive{{Pin: 25, High: true, Use: "enables the converter"}},
		Taken: map[int]string{6: "button B", 16: "button X", 20: "button Y of early boards", 24: "button Y", 9: "LCD", 10: "LCD", 11: "LCD",
			13: "LCD backlight"},
		Cards:     []string{"sndrpihifiberry"},
		Overlay:   "dtoverlay=hifiberry-dac", // raspberrypi/linux; pimoroni/pidi-spotify#13 shows the card
		NoMic:     true,
		Note:      "no microphone: plug in one and name it in audio.capture; of the four buttons A talks, B is 6, X 16, Y 24",
		Confirmed: FromDocs,
	},
	{
		Name: "whisplay", Title: "PiSugar Whisplay HAT (WM8960)",
		Button:    &BoardButton{Pin: 17, ActiveHigh: true, Bias: BiasOff},
		Light:     BoardLight{Driver: LightRGB, Pins: []int{25, 24, 23}, Invert: true},
		Taken:     map[int]string{4: "LCD reset", 8: "LCD", 10: "LCD", 11: "LCD", 22: "LCD backlight", 27: "LCD data/command"},
		Cards:     []string{"wm8960soundcard"},
		Overlay:   "dtoverlay=wm8960-soundcard",
		EEPROM:    EEPROM{Vendor: "PiSugar", ID: "0x0001"},
		I2C:       []int{0x1a},
		Note:      "pressed is high, the board has its own resistor; old examples of the maker have it the other way round",
		Confirmed: FromSource,
	},
	{
		Name: "waveshare-wm8960", Title: "Waveshare WM8960 Audio HAT",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Cards:     []string{"wm8960soundcard"},
		Overlay:   "dtoverlay=wm8960-soundcard", // raspberrypi/linux, arch/arm/boot/dts/overlays
		I2C:       []int{0x1a},
		Note:      "use the kernel's overlay: the maker's wm8960-soundcard.service breaks on Bookworm",
		Confirmed: FromDocs,
	},
	{
		Name: "satellite1-hat", Title: "FutureProofHomes Satellite1 HAT (XMOS, TAS2780)",
		Button:    &BoardButton{Pin: 23, Bias: BiasUp},
		Taken:     map[int]string{12: "ring of LEDs", 17: "volume up", 22: "mute switch", 27: "volume down"},
		Note:      "the ring of 12 SK6812 needs PWM or PCM, which I2S has: it stays dark; mute is a line of the hardware",
		Confirmed: FromSource,
	},
	{
		Name: "raspiaudio-mic+", Title: "RaspiAudio MIC+",
		Button:    &BoardButton{Pin: 23, Bias: BiasUp},
		Light:     BoardLight{Driver: LightGPIO, Pins: []int{25}},
		Note:      "pins are hearsay: check with conch gpio learn",
		Confirmed: Unconfirmed,
	},
	{
		Name: "usb-speakerphone", Title: "USB speakerphone (Jabra Speak 410, 510, ...)",
		Keys:      true,
		Note:      "its hook key is the button (button.source = evdev); a button on GPIO17 instead: button.source = gpio",
		Confirmed: FromDocs,
	},
	{
		Name: "arcade-button", Title: "Arcade button between GPIO17 and ground",
		Button:    &BoardButton{Pin: 17, Bias: BiasUp},
		Note:      "its lamp goes on a free pin through a transistor (light.driver = gpio, light.pins); a 5 V lamp must never touch a pin",
		Confirmed: FromDocs,
	},
	{
		Name: "billy-like", Title: "Singing fish and its like, button on GPIO27",
		Button:    &BoardButton{Pin: 27, Bias: BiasUp},
		Confirmed: FromSource,
	},
	{
		Name: "custom", Title: "Anything else",
		Note:      "sets nothing: say it all below [button] and [light]; conch gpio learn finds the pin",
		Confirmed: FromDocs,
	},
}

// FindBoard looks a board up by its name, whatever the case.
func FindBoard(name string) (Board, bool) {
	for _, b := range Boards {
		if strings.EqualFold(b.Name, name) {
			return b, true
		}
	}
	return Board{}, false
}

// BoardNames are the names of all boards, in the table's order.
func BoardNames() []string {
	names := make([]string, 0, len(Boards))
	for _, b := range Boards {
		names = append(names, b.Name)
	}
	return names
}

// Uses says what a pin is for on this board, leaving aside button and light, which a person may move.
func (b Board) Uses(pin int) (use string, taken bool) {
	for _, d := range b.Drive {
		if d.Pin == pin {
			return d.Use, true
		}
	}
	if b.Light.Power == pin && pin != 0 {
		return "power of the LEDs", true
	}
	use, taken = b.Taken[pin]
	return use, taken
}

// spiPins are those of SPI bus 0, which the kernel's driver takes together (raspberrypi/linux, bcm270x-rpi: spi0_pins).
var spiPins = map[int]string{7: "SPI chip select 1", 8: "SPI chip select 0", 9: "SPI input", 10: "SPI output", 11: "SPI clock"}

// SPIPin says what a pin is while a light is on SPI bus 0.
func SPIPin(pin int) (use string, taken bool) {
	use, taken = spiPins[pin]
	return use, taken
}

// LightPins is how many pins a driver wants; 0 for those that need none.
func LightPins(driver LightDriver) int {
	switch driver {
	case LightGPIO:
		return 1
	case LightAPA102GPIO:
		return 2
	case LightRGB:
		return 3
	}
	return 0
}
