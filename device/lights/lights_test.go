package lights

import (
	"reflect"
	"testing"

	"conch/device/config"
	"conch/gpio"
	"conch/gpio/light"
)

// A board's light is that of the configuration.
func TestLightOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		light config.Light
		board string
		want  light.Config
	}{
		{config.Light{Driver: "auto"}, "", light.Config{Driver: gpio.LightNone}},
		{config.Light{Driver: "gpio", Pins: "25", Invert: true}, "", light.Config{Driver: gpio.LightGPIO, Pins: []int{25}, Invert: true}},
		{config.Light{Driver: "apa102", SPI: "0.1", Count: 12}, "respeaker-4mic", light.Config{Driver: gpio.LightAPA102, SPI: "0.1", Count: 12, Power: 5}},
		{config.Light{Driver: "gpio", Pins: "12"}, "respeaker-4mic", light.Config{Driver: gpio.LightGPIO, Pins: []int{12}}},
	} {
		cfg := config.Default()
		cfg.Light, cfg.Device.Board = c.light, c.board
		got, err := Config(&cfg)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v on board %q: %+v, %v; want %+v", c.light, c.board, got, err, c.want)
		}
	}
}
