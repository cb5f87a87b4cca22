package gpio

// Board is a sound board or kit with a button that people own: data, so that one word in the configuration does. The
// table is Boards.
type Board struct {
	Name   string // as the configuration spells it
	Title  string // as it is sold
	Button *BoardButton
	Light  BoardLight
	// Drive are pins held at a level while conch runs: an amplifier's or a converter's enable.
	Drive []Drive
	// Taken are pins the board uses besides those of I2S, which no button or light may have: pin and what for.
	Taken map[int]string
	// Cards are ALSA card ids that this board appears as; Overlay is the line of config.txt that brings them up.
	Cards   []string
	Overlay string
	// EEPROM is what the board says of itself below /proc/device-tree/hat; zero where it has none or nobody has told.
	EEPROM EEPROM
	I2C    []int // addresses on bus 1 that its chips answer at
	Keys   bool  // its button is a key of a USB device: button.source = evdev
	// NoMic and NoSpeaker: the card has one direction only.
	NoMic, NoSpeaker bool
	Note             string // what a person should know: no microphone, confirm which LED is red, ...
	// Confirmed says how the pins are known: source, documentation, or not at all.
	Confirmed Confidence
}

// EEPROM is the identity in a HAT's EEPROM, in part: what is empty may be anything.
type EEPROM struct {
	Vendor, Product string // parts of them, whatever the case
	ID              string // "0x0001"
}

// BoardButton is the button people press to talk.
type BoardButton struct {
	Pin        int // BCM
	ActiveHigh bool
	Bias       Bias
}

// BoardLight is a light and how it is driven.
type BoardLight struct {
	Driver LightDriver
	Pins   []int  // of the LED (gpio), of red, green and blue (rgb), of data and clock (apa102-gpio)
	SPI    string // "0.0": bus and chip select (apa102)
	Sysfs  string // pattern of names below /sys/class/leds (sysfs)
	Count  int    // LEDs in a row; 0 is one
	Invert bool   // lit when low
	Power  int    // pin that powers the LEDs when high; 0: none (pin 0 belongs to the boards' EEPROM)
}

// Drive is one pin held at a level.
type Drive struct {
	Pin  int
	High bool
	Use  string // "enables the amplifier"
}

// LightDriver names a way to drive a light, as the configuration spells it.
type LightDriver string

// Drivers.
const (
	LightNone       LightDriver = "none"
	LightGPIO       LightDriver = "gpio"        // one LED on a pin
	LightRGB        LightDriver = "rgb"         // three of them
	LightAPA102     LightDriver = "apa102"      // a row of APA102 (DotStar) on SPI
	LightAPA102GPIO LightDriver = "apa102-gpio" // the same on two pins
	LightSysfs      LightDriver = "sysfs"       // what the kernel drives
)

// Confidence is how well a board's pins are known.
type Confidence string

// Confidences (gpio/FACTS.md).
const (
	FromSource  Confidence = "read in source"
	FromDocs    Confidence = "documented"
	Unconfirmed Confidence = "not confirmed"
)
