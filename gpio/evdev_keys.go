package gpio

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// DefaultKeys are the hook switch of speakerphones, the one key of remotes, and what the gpio-key overlay is given by people.
// Not KEY_MICMUTE: the device mutes its own microphone with it.
const DefaultKeys = "KEY_PHONE,KEY_PICKUP_PHONE,KEY_PLAYPAUSE,KEY_PROG1"

// keyCodes are keys that a button may be, by the names and codes of Linux (linux/input-event-codes.h). Any other: its number.
var keyCodes = map[string]uint16{
	"KEY_ESC": 1, "KEY_ENTER": 28, "KEY_SPACE": 57, "KEY_F5": 63, "KEY_PAGEUP": 104, "KEY_PAGEDOWN": 109, "KEY_MUTE": 113,
	"KEY_VOLUMEDOWN": 114, "KEY_VOLUMEUP": 115, "KEY_POWER": 116, "KEY_PAUSE": 119, "KEY_STOP": 128, "KEY_PROG1": 148,
	"KEY_PROG2": 149, "KEY_NEXTSONG": 163, "KEY_PLAYPAUSE": 164, "KEY_PREVIOUSSONG": 165, "KEY_STOPCD": 166, "KEY_PHONE": 169,
	"KEY_F13": 183, "KEY_F24": 194, "KEY_PLAYCD": 200, "KEY_PLAY": 207, "KEY_CAMERA": 212, "KEY_MICMUTE": 248,
	"BTN_0": 256, "BTN_1": 257, "BTN_LEFT": 272, "BTN_RIGHT": 273, "BTN_MIDDLE": 274, "BTN_TRIGGER": 288,
	"KEY_OK": 352, "KEY_SELECT": 353, "KEY_VOICECOMMAND": 582, "KEY_ASSISTANT": 583, "KEY_PICKUP_PHONE": 445, "KEY_HANGUP_PHONE": 446,
}

const keyMax = 0x2ff // KEY_MAX

// ParseKeys reads names of keys with commas between them. A number is a key as well.
func ParseKeys(list string) ([]uint16, error) {
	var codes []uint16
	for _, name := range strings.Split(list, ",") {
		name = strings.ToUpper(strings.TrimSpace(name))
		code, ok := keyCodes[name]
		if n, err := strconv.ParseUint(name, 10, 16); err == nil && n > 0 && n <= keyMax {
			code, ok = uint16(n), true
		}
		if !ok {
			known := slices.Sorted(maps.Keys(keyCodes))
			return nil, fmt.Errorf("gpio: key %q: not known; a number of linux/input-event-codes.h, or one of %s", name, strings.Join(known, ", "))
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// keyName is a key as Linux names it, or its number.
func keyName(code uint16) string {
	for name, c := range keyCodes {
		if c == code {
			return name
		}
	}
	return strconv.Itoa(int(code))
}
