package setup

import (
	"slices"
	"strings"
	"testing"
)

// config.txt as Raspberry Pi OS ships it, in short.
const shipped = `# For more options and information see
# http://rptl.io/configtxt
#dtparam=i2c_arm=on
#dtparam=spi=on
dtparam=audio=on
[cm4]
otg_mode=1
[cm5]
dtoverlay=dwc2,dr_mode=host
[all]
`

func TestBootLines(t *testing.T) {
	const block = "# conch: for respeaker-2mic; conch setup board writes this block anew\n[all]\n"
	want := []string{"dtoverlay=seeed-2mic-voicecard", "dtparam=spi=on"}
	for _, c := range []struct {
		name, before string
		filters      []string
		after        string // "": as before
		theirs, off  int
	}{
		{name: "a fresh card", before: shipped, after: shipped + "\n" + block + "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\n"},
		{name: "an empty file", after: block + "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\n"},
		{name: "no line break at the end", before: "enable_uart=1", after: "enable_uart=1\n\n" + block + "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\n"},
		{name: "they have one line", before: "dtparam=spi=on\n", after: "dtparam=spi=on\n\n" + block + "dtoverlay=seeed-2mic-voicecard\n# conch: end\n", theirs: 1},
		{name: "they have all of it, said otherwise", before: "dtparam=i2c_arm=on,spi\ndtoverlay=seeed-2mic-voicecard,foo=1\n", theirs: 2},
		{name: "commented out is not there", before: "dtoverlay=seeed-2mic-voicecard\n#dtparam=spi=on\n",
			after: "dtoverlay=seeed-2mic-voicecard\n#dtparam=spi=on\n\n" + block + "dtparam=spi=on\n# conch: end\n", theirs: 1},
		{name: "of another Pi", before: "dtoverlay=seeed-2mic-voicecard\n[pi5]\ndtparam=spi=on\n", filters: []string{"pi4"},
			after: "dtoverlay=seeed-2mic-voicecard\n[pi5]\ndtparam=spi=on\n\n" + block + "dtparam=spi=on\n# conch: end\n", theirs: 1},
		{name: "of this Pi", before: "dtoverlay=seeed-2mic-voicecard\n[pi5]\ndtparam=spi=on\n", filters: []string{"pi5"}, theirs: 2},
		{name: "of some display, who knows", before: "dtoverlay=seeed-2mic-voicecard\n[EDID=VSC-TD2220]\ndtparam=spi=on\n", theirs: 2},
		{name: "they have switched it off", before: "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=off\n",
			after: "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=off\n\n" + block + "dtparam=spi=on\n# conch: end\n", theirs: 1, off: 1},
		{name: "a block of another board, in the middle", before: "a=1\n# conch: for x; conch setup board writes this block anew\n[all]\ndtoverlay=x\n# conch: end\nb=2\n",
			after: "a=1\n" + block + "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\nb=2\n"},
		{name: "a block whose end is gone", before: "# conch: for x; conch setup board writes this block anew\n[all]\ndtoverlay=x\nb=2\n",
			after: block + "dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\nb=2\n"},
		{name: "written on Windows", before: "a=1\r\n", after: "a=1\r\n\r\n" + strings.ReplaceAll(block+"dtoverlay=seeed-2mic-voicecard\ndtparam=spi=on\n# conch: end\n", "\n", "\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.after == "" {
				c.after = c.before
			}
			p := planBoot(c.before, "respeaker-2mic", want, c.filters)
			if p.after != c.after || len(p.theirs) != c.theirs || len(p.off) != c.off {
				t.Errorf("got\n%q, theirs %v, off %v; want\n%q, %d, %d", p.after, p.theirs, p.off, c.after, c.theirs, c.off)
			}
			if again := planBoot(p.after, "respeaker-2mic", want, c.filters); again.after != p.after || !slices.Equal(again.add, p.add) {
				t.Errorf("a second time changes it:\n%q\n%q", again.after, p.after)
			}
		})
	}
}

// What is taken back leaves the file as it was.
func TestBootBlockGoes(t *testing.T) {
	with := planBoot(shipped, "x", []string{"dtoverlay=x"}, nil).after
	if got := planBoot(with, "", nil, nil).after; strings.TrimSpace(got) != strings.TrimSpace(shipped) {
		t.Errorf("left:\n%s", got)
	}
}

func TestFiltersOfModels(t *testing.T) {
	for model, want := range map[string]string{
		"Raspberry Pi Zero 2 W Rev 1.0": "pi0 pi0w pi02", "Raspberry Pi 3 Model B Plus Rev 1.3": "pi3 pi3+", "Raspberry Pi 3 Model B Rev 1.2": "pi3",
		"Raspberry Pi 4 Model B Rev 1.5": "pi4", "Raspberry Pi 400 Rev 1.0": "pi4 pi400", "Raspberry Pi 5 Model B Rev 1.0": "pi5", "Raspberry Pi 500 Rev 1.0": "pi5 pi500",
		"Raspberry Pi Compute Module 4S Rev 1.0": "pi4 cm4s", "QEMU": "",
	} {
		if got := strings.Join(filtersOf(model), " "); got != want {
			t.Errorf("%s: %q; want %q", model, got, want)
		}
	}
}

func FuzzBootBlock(f *testing.F) {
	f.Add(shipped, "dtoverlay=x")
	f.Add("# conch: for x\n[all]\n", "dtparam=spi=on")
	f.Fuzz(func(t *testing.T, before, line string) {
		if strings.ContainsAny(line, "\r\n") || !strings.HasPrefix(line, "dt") {
			t.Skip("no line that a board brings")
		}
		once := planBoot(before, "b", []string{line}, nil)
		twice := planBoot(once.after, "b", []string{line}, nil)
		if once.after != twice.after && strings.Count(before, blockBegin) == 0 && strings.HasPrefix(line, "dtoverlay=") {
			t.Errorf("%q and %q: a second time\n%q\nis not\n%q", before, line, twice.after, once.after)
		}
	})
}
