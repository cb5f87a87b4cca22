package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/gpio/light"
)

// disc is an expression: that of a companion.
func disc(name string) string {
	return `[...document.querySelectorAll('.disc')].find((d) => d.querySelector('.name').textContent === '` + name + `')`
}

// bubble is an expression: the last bubble of somebody.
func bubble(name string) string {
	return `[...document.querySelectorAll('.bubble')].findLast((b) => b.querySelector('.who b').textContent === '` + name + `')`
}

// visit opens a house's page, and waits for its room.
func (h *house) visit(l look) *tab {
	h.t.Helper()
	b := open(h.t, h.url, l)
	b.until(`document.querySelectorAll('.disc:not(.gone)').length === 3`)
	return b
}

// conversation is a little of everything that can be said.
func (h *house) conversation() {
	h.question("kitchen", "m1", "tell me a story", "ben")
	h.turn("ben", "t-ben", "Once upon a time a shell lay on a beach and listened.", "Once upon a time a shell", 6.5)
	h.question("kitchen", "m2", "is anybody there", "")
	h.question("bedroom", "m3", "how long do I boil an egg", "ada")
	h.turn("ada", "t-ada", "Six minutes, and then cold water.", "Six minutes, and then cold water.", 0)
}

// What was missed stands among what runs, as text, with its time, and goes when the device says so no more.
func TestWhatWasMissedIsShown(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	missed := func(rows ...control.MissedRow) {
		h.is("kitchen", func(p *control.Picture) { p.Status.Missed = rows })
		h.happens("kitchen", control.EventStatus, h.picture("kitchen").Status)
	}
	at := time.Now().Add(-time.Hour)
	missed(control.MissedRow{At: at, Text: "take <b>your</b> pills", Why: "unheard"})
	b.until(`document.querySelectorAll('#cards .card').length === 1`)
	if got := js[string](b, `document.querySelector('#cards .card b').textContent`); got != "take <b>your</b> pills" {
		t.Errorf("it is shown as %q", got)
	}
	if got := js[string](b, `document.querySelector('#cards .left').textContent`); !strings.HasPrefix(got, "missed, ") || js[bool](b, `document.querySelector('#cards progress').checkVisibility()`) {
		t.Errorf("its time is shown as %q", got)
	}
	missed()
	b.until(`document.querySelectorAll('#cards .card').length === 0`)
}

func TestTheRoomIsShown(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	for _, p := range places {
		if got := js[string](b, disc(p.name)+`.closest('.place').querySelector('h3').textContent`); got != p.device {
			t.Errorf("%s is shown in %q; lives in %s", p.name, got, p.device)
		}
		c := light.CompanionColour(p.id)
		if got, want := js[string](b, disc(p.name)+`.style.getPropertyValue('--c')`), fmt.Sprintf("rgb(%d, %d, %d)", c.R, c.G, c.B); got != want {
			t.Errorf("%s is %s; its light is %s", p.name, got, want)
		}
	}

	h.does("kitchen", control.Doing{State: "COMMITTING"})
	b.until(`document.querySelectorAll('.disc.votes').length === 3`)
	h.question("kitchen", "m1", "how long do I boil an egg", "ada")
	b.until(disc("Ada") + `.matches('.chosen, .votes')`)
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 70, Floor: "ada", Who: "Ada", Turn: "t1", Asked: "…", Heard: "Six", Rest: " minutes."})
	b.until(disc("Ada") + `.matches('.speaks')`)
	if got := js[string](b, disc("Ada")+`.style.getPropertyValue('--level')`); got != "0.84" {
		t.Errorf("Ada is as loud as 70 of 100, and glows with %s", got)
	}
	glow := js[string](b, `getComputedStyle(`+disc("Ada")+`.querySelector('.face')).boxShadow`)
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 10, Floor: "ada", Who: "Ada", Turn: "t1", Heard: "Six minutes", Rest: "."})
	b.until(`getComputedStyle(`+disc("Ada")+`.querySelector('.face')).boxShadow !== %s`, glow)
	if got := js[string](b, `document.getElementById('now').textContent`); got != "Ada is speaking" {
		t.Errorf("what happens is told as %q", got)
	}

	// Someone is gone: grey, and named so.
	h.is("hall", func(p *control.Picture) { p.Alive = false })
	b.until(disc("Cleo") + `.matches('.gone')`)
	if got := js[string](b, disc("Cleo")+`.querySelector('.unseen').textContent`); got != "gone" {
		t.Errorf("a screen reader is told of Cleo: %q", got)
	}
	h.is("hall", func(p *control.Picture) { p.Alive = true })
	b.until(disc("Cleo") + `.matches(':not(.gone)')`)
}

// A press stills the page, in the frame in which it is told of it.
func TestAPressStillsThePage(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 90, Floor: "ada", Who: "Ada", Turn: "t1", Heard: "Six", Rest: " minutes."})
	h.does("hall", control.Doing{State: "COMMITTING", Floor: "ada"})
	b.until(disc("Ada") + `.matches('.speaks')`)
	js[bool](b, `(() => {
		globalThis.moved = [];
		const look = () => {
			if (document.body.matches('.still')) {
				const moves = document.getAnimations().filter((a) => a.playState === 'running').length;
				moved.push(moves + document.querySelectorAll('.speaks, .votes, .chosen').length);
			}
			requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
		return true;
	})()`)
	h.happens("bedroom", control.EventPress, nil)
	b.until(`moved.length > 0`)
	b.until(`!document.body.matches('.still')`)
	if n := js[float64](b, `Math.max(...moved)`); n != 0 {
		t.Errorf("%g things move after a press", n)
	}
}

func TestWhatWasSaidIsShown(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	h.question("bedroom", "m1", "how long do I boil an egg", "ada")
	b.until(bubble("Somebody (bedroom)") + `.querySelector('.heard').textContent === 'how long do I boil an egg'`)

	// It grows as it is heard.
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 50, Floor: "ada", Who: "Ada", Turn: "t1", Heard: "A soft egg", Rest: " takes six minutes."})
	b.until(bubble("Ada") + `?.querySelector('.heard').textContent === 'A soft egg'`)
	if got := js[string](b, bubble("Ada")+`.querySelector('.rest').textContent`); got != " takes six minutes." {
		t.Errorf("what is still to be heard is %q", got)
	}
	// Cut: what was not heard is struck, and stays where it was cut.
	h.turn("ada", "t1", "A soft egg takes six minutes.", "A soft egg takes", 4.2)
	b.until(bubble("Ada") + `.matches('.cut')`)
	if got := js[string](b, bubble("Ada")+`.querySelector('.heard').textContent + '|' + `+bubble("Ada")+`.querySelector('del').textContent`); got != "A soft egg takes| six minutes." {
		t.Errorf("cut it is %q", got)
	}
	if got := js[string](b, bubble("Ada")+`.querySelector('.meta').textContent`); !strings.Contains(got, "cut after 2.0 s") {
		t.Errorf("how it was cut is told as %q", got)
	}
	if n := js[int](b, `document.querySelectorAll('.bubble').length`); n != 2 {
		t.Errorf("three devices told of one question and one answer, and there are %d bubbles", n)
	}
	// A screen reader hears it.
	b.until(`document.getElementById('spoken').textContent.includes('Ada: A soft egg takes')`)

	// Why, and how long it took.
	js[bool](b, `(`+bubble("Ada")+`.querySelector('summary').click(), true)`)
	b.until(bubble("Ada") + `.querySelectorAll('.vote').length === 3`)
	why := js[string](b, bubble("Ada")+`.querySelector('details').innerText`)
	for _, part := range []string{"Decided in 3 ms", `it knows about "egg"`, "knows about it +5", "spoke last −1", "8.0", "stays silent", "a limit decides", "it has had its share"} {
		if !strings.Contains(why, part) {
			t.Errorf("why does not say %q:\n%s", part, why)
		}
	}
	if n := js[int](b, bubble("Ada")+`.querySelectorAll('.vote .part').length`); n < 4 {
		t.Errorf("the terms are %d parts of bars", n)
	}

	// Nobody.
	h.question("kitchen", "m2", "hm", "")
	b.until(bubble("Nobody speaks") + `?.innerText.includes('nobody has enough to say')`)

	// How quick. What a press elsewhere cut has no figure of this device's.
	h.happens("kitchen", control.EventTurn, map[string]any{"turn": "t0", "who": "Ada", "press_to_silence_ms": 0.1, "elsewhere": true})
	b.until(`document.querySelectorAll('#silences i:not([hidden])').length === 1`)
	if got := js[string](b, `document.querySelector('#silences .strip').getAttribute('aria-label')`); !strings.Contains(got, "p50 4.2") {
		t.Errorf("how quick is told as %q", got)
	}
	for i := range 120 {
		h.turn("ben", fmt.Sprintf("s%d", i), "Yes.", "Ye", float64(i%12)+0.5)
	}
	b.until(`document.querySelectorAll('#silences i:not([hidden])').length === 100`)
}

// A condition is told in the person's language, and what is known of it beyond that behind it.
func TestConditionsAreInThePersonsLanguage(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(look{width: 390, height: 844, languages: "de"})
	h.is("kitchen", func(p *control.Picture) {
		p.Status.Conditions = []condition.Condition{
			{Code: condition.RoomBroker, Text: "port 1883 is taken", Do: "free it"}, {Code: condition.SkillDown.Of("timers"), Text: "timers failed", Do: "restart"},
		}
	})
	b.until(`[...document.querySelectorAll('.banner b')].map((x) => x.textContent.slice(0, 20)).join() === 'Es gibt keinen Broke,Ein Teil von mir ist'`)
	b.until(`document.querySelector('.banner').textContent.includes('port 1883 is taken; free it')`)
}

func TestConditionsAndWhatRunsAreShown(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(telephone)
	h.is("kitchen", func(p *control.Picture) {
		p.Status.Conditions = []condition.Condition{{Code: "no_key", Text: "There is no key.", Do: "Run conch setup."}}
	})
	b.until(`document.querySelector('#alerts[aria-live=assertive] .banner')?.textContent.includes('There is no key. Run conch setup.')`)
	h.is("kitchen", func(p *control.Picture) { p.Status.Conditions = nil })
	b.until(`document.querySelectorAll('.banner').length === 0`)

	status := h.picture("kitchen").Status
	status.Now = &control.Now{
		Timers:  []control.TimerRow{{Name: "pasta", Ends: time.Now().Add(5 * time.Minute), Length: 600}},
		Playing: &control.Playing{Title: "The Wind in the Willows", Position: 900, Length: 3600},
	}
	h.happens("kitchen", control.EventStatus, status)
	b.until(`document.querySelectorAll('.card').length === 2`)
	if got := js[float64](b, `document.querySelector('.card.plays progress').value`); got != 0.25 {
		t.Errorf("a quarter of the book is %g", got)
	}
	left := js[string](b, `document.querySelector('.card .left').textContent`)
	b.until(`document.querySelector('.card .left').textContent !== %s`, left)          // it runs
	status.Now = &control.Now{Playing: &control.Playing{Title: "Radio", Position: 60}} // nobody knows how long
	h.happens("kitchen", control.EventStatus, status)
	b.until(`document.querySelectorAll('.card').length === 1 && document.querySelector('.card progress').hidden`)
	status.Now = nil
	h.happens("kitchen", control.EventStatus, status)
	b.until(`document.querySelectorAll('.card').length === 0`)
}

// What rings stands above all else, with what ends it, and goes when the device says so; the room's line says it as well.
func TestWhatRingsHasABanner(t *testing.T) {
	h := build(t, houseOptions{})
	for _, c := range []struct {
		look
		name, stop, later string
	}{
		{desk, "Ringing: the <b>pasta</b>", "Stop", "Five more minutes"},
		{look{width: telephone.width, height: telephone.height, phone: true, languages: "de"}, "Es klingelt: the <b>pasta</b>", "Stopp", "Noch fünf Minuten"},
	} {
		b := h.visit(c.look)
		status := h.picture("kitchen").Status
		status.Now = &control.Now{Ringing: []control.RingingRow{{ID: 7, Text: "the <b>pasta</b>", Later: true}, {ID: 8, Text: "tea"}}}
		h.happens("kitchen", control.EventStatus, status)
		b.until(`document.querySelectorAll('#rings[aria-live=assertive] .ring').length === 2`)
		got := js[[]string](b, `[document.querySelector('.ring b').textContent, ...[...document.querySelectorAll('.ring button')].map((x) => x.textContent)]`)
		if want := []string{c.name, c.stop, c.later, c.stop}; !slices.Equal(got, want) {
			t.Errorf("the banner is %q; want %q", got, want)
		}
		if got := js[string](b, `document.getElementById('now').textContent`); !strings.HasPrefix(got, c.name) {
			t.Errorf("what happens is told as %q", got)
		}
		small := js[int](b, `[...document.querySelectorAll('.ring button')].map((x) => x.getBoundingClientRect())
			.filter((r) => r.height < 44 || r.right > innerWidth).length`)
		if small > 0 {
			t.Errorf("%d buttons are not for a thumb", small)
		}
		b.click(".ring .later")
		h.wasAsked(`kitchen alert/later {"id":7}`)
		b.click(".ring:last-child .stop")
		h.wasAsked(`kitchen alert/stop {"id":8}`)
		status.Now = nil
		h.happens("kitchen", control.EventStatus, status)
		b.until(`document.querySelectorAll('.ring').length === 0`)
		h.mu.Lock()
		h.asked = nil
		h.mu.Unlock()
	}
}

// A reminder that is to come is a card with its time, and the day where that is another.
func TestWhatIsToComeIsShown(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	status := h.picture("kitchen").Status
	now := time.Now()
	status.Now = &control.Now{Reminders: []control.ReminderRow{
		{Text: "take <b>your</b> pills", Due: now}, {Text: "the bin", Due: now.AddDate(0, 0, 2)}, {Text: "the dentist", Due: now.AddDate(0, 2, 0)},
	}}
	h.happens("kitchen", control.EventStatus, status)
	b.until(`document.querySelectorAll('#cards .card.due').length === 3`)
	if got := js[string](b, `document.querySelector('.card.due b').textContent`); got != "take <b>your</b> pills" {
		t.Errorf("it is shown as %q", got)
	}
	got := js[[]string](b, `[...document.querySelectorAll('.card.due .left')].map((x) => x.textContent)`)
	want := js[[]string](b, `%s.map((t, i) => new Intl.DateTimeFormat('en', i === 2 ? { dateStyle: 'short', timeStyle: 'short' } :
		{ weekday: i ? 'short' : undefined, hour: 'numeric', minute: '2-digit' }).format(new Date(t)))`, []time.Time{now, now.AddDate(0, 0, 2), now.AddDate(0, 2, 0)})
	if !slices.Equal(got, want) {
		t.Errorf("when they are due is told as %q; want %q", got, want)
	}
	status.Now = nil
	h.happens("kitchen", control.EventStatus, status)
	b.until(`document.querySelectorAll('.card').length === 0`)
}

// At a glance: on a telephone there is nothing to scroll for, and a thumb hits what it is for.
func TestATelephoneShowsAllOfIt(t *testing.T) {
	h := build(t, houseOptions{})
	h.conversation()
	for _, languages := range []string{"en", "de", "es", "fr"} {
		l := telephone
		l.languages = languages
		b := h.visit(l)
		b.until(`document.querySelectorAll('.bubble').length >= 5`)
		got := js[[]string](b, `(() => {
			const wrong = [], s = document.scrollingElement;
			if (s.scrollHeight > innerHeight) wrong.push('the page is ' + s.scrollHeight + ' high, the screen ' + innerHeight);
			if (s.scrollWidth > innerWidth) wrong.push('the page is ' + s.scrollWidth + ' wide, the screen ' + innerWidth);
			for (const q of ['#title', '.disc .face', '.disc select', '#scroll', '#silences', '#firsts', '#mute', '#talk', '#hush', '#volume', '#device', '#text', '#line button']) {
				for (const el of document.querySelectorAll(q)) {
					const r = el.getBoundingClientRect();
					if (r.width === 0 || r.top < 0 || r.left < 0 || r.bottom > innerHeight || r.right > innerWidth) wrong.push(q + ' is not in sight: ' + JSON.stringify(r));
				}
			}
			for (const el of document.querySelectorAll('#mute, #talk, #hush, #text, #line button')) {
				const r = el.getBoundingClientRect();
				if (r.height < 44 || r.width < 44) wrong.push(el.id + ' is too small for a thumb: ' + r.width + ' x ' + r.height);
				if (el.scrollWidth > el.clientWidth + 1) wrong.push((el.id || el.tagName) + ' is too narrow for its text');
			}
			if (document.getElementById('scroll').clientHeight < 200) wrong.push('what was said has ' + document.getElementById('scroll').clientHeight + ' pixels');
			return wrong;
		})()`)
		for _, wrong := range got {
			t.Errorf("%s: %s", languages, wrong)
		}
	}
}

// Held sideways a telephone shows the button, whatever stands above it, and however far what was said is scrolled.
func TestATelephoneHeldSidewaysShowsTheButton(t *testing.T) {
	h := build(t, houseOptions{})
	h.conversation()
	h.is("kitchen", func(p *control.Picture) {
		p.Status.Conditions = []condition.Condition{{Code: "no_key", Text: "There is no key.", Do: "Run conch setup."}, {Code: "b", Text: strings.Repeat("long ", 50)}}
		p.Status.Now = &control.Now{Ringing: []control.RingingRow{{ID: 1, Text: "the pasta", Later: true}, {ID: 2, Text: "tea", Later: true}}}
	})
	for _, l := range []look{{width: 844, height: 390}, {width: 667, height: 375}, {width: 932, height: 430}, {width: 568, height: 320}} {
		l.phone, l.languages = true, "de"
		b := h.visit(l)
		b.until(`document.querySelectorAll('.bubble').length >= 5 && document.querySelectorAll('.banner').length >= 4`)
		for _, top := range []int{0, 10000} {
			got := js[string](b, `(scrollTo(0, %s), (() => {
				const r = document.getElementById('talk').getBoundingClientRect(), at = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
				const seen = r.top >= 0 && r.bottom <= innerHeight && r.right <= innerWidth && r.width >= 100 && r.height >= 44;
				return seen && at?.closest('#talk') && document.scrollingElement.scrollWidth <= innerWidth ? '' : JSON.stringify(r) + document.scrollingElement.scrollWidth;
			})())`, top)
			if got != "" {
				t.Errorf("%d x %d, scrolled to %d: the button is not in sight: %s", l.width, l.height, top, got)
			}
		}
	}
}

// Names and words of others are text, whatever is in them.
func TestNothingOfOthersIsMarkup(t *testing.T) {
	h := build(t, houseOptions{})
	const (
		image  = `<img src=x onerror="globalThis.ran=1">`
		script = `<script>globalThis.ran=2</script>`
		turned = "safe\u202Eevil\u202C\u200F\u0007\u0000\x1b[31m"
	)
	evil := []round.Member{
		{Device: idOf("kitchen"), Name: "kitchen", Cards: []round.Card{{ID: "ada", Name: image, Role: script}}},
		{Device: idOf("bedroom"), Name: `"><svg onload=globalThis.ran=3>`, Cards: []round.Card{{ID: "ben", Name: turned + "Ben"}, {ID: "__proto__", Name: "constructor"}, {ID: `a.*"\`, Name: "{name}"}}},
	}
	for _, p := range places {
		h.is(p.device, func(p *control.Picture) { p.Room.Members, p.Room.Room = evil, image })
	}
	h.is("kitchen", func(p *control.Picture) {
		p.Status.Conditions = []condition.Condition{{Code: "no_key", Text: script, Do: `<a href="javascript:globalThis.ran=4">here</a>`}}
	})
	b := open(t, h.url, desk)
	b.until(`document.querySelectorAll('.disc').length >= 3`)
	h.question("kitchen", "m1", script+turned, "ada")
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Level: 50, Floor: "ada", Who: image, Turn: "t1", Heard: image, Rest: turned})
	b.until(`[...document.querySelectorAll('.bubble .heard')].some((e) => e.textContent.includes('<img src=x'))`)
	js[bool](b, `(document.querySelectorAll('summary').forEach((s) => s.click()), true)`)
	b.until(`document.querySelectorAll('.vote').length > 0`)
	h.happens("kitchen", "entry", "not an entry")
	h.happens("kitchen", "turn", []string{"nor a turn"})
	h.happens("kitchen", "room", nil)
	h.question("kitchen", "m9", "still here", "")
	b.until(`[...document.querySelectorAll('.heard')].some((e) => e.textContent === 'still here')`)
	type found struct {
		Ran      any
		Elements int
		Steering int
		Attrs    []string
	}
	f := js[found](b, `(() => {
		const all = document.documentElement.outerHTML;
		return {
			ran: globalThis.ran ?? null,
			elements: document.querySelectorAll('body script, body svg, body a[href], body img:not(header img), iframe, object').length,
			steering: (all.match(/[\u202A-\u202E\u2066-\u2069\u200F\u0000-\u0008\u001B]/g) ?? []).length,
			attrs: [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames().filter((a) => a.startsWith('on'))),
		};
	})()`)
	if f.Ran != nil || f.Elements > 0 || f.Steering > 0 || len(f.Attrs) > 0 {
		t.Errorf("what others wrote became more than text: %+v", f)
	}
	if got := js[string](b, `getComputedStyle(document.querySelector('.bubble .text')).unicodeBidi`); got != "isolate" {
		t.Errorf("text of others is %s, and may turn what is beside it", got)
	}
}

// Four languages, by what the person reads; the device's where that is none of them.
func TestThePageSpeaksThePersonsLanguage(t *testing.T) {
	h := build(t, houseOptions{})
	for languages, want := range map[string]string{"de-AT,en": "Mit Ton dabei sein", "fr": "Rejoindre avec le son", "es-MX": "Entrar con sonido", "sv": "Join with sound"} {
		b := h.visit(look{width: 390, height: 844, languages: languages})
		if got := js[string](b, `document.getElementById('talk-text').textContent`); got != want {
			t.Errorf("%s: the button says %q; want %q", languages, got, want)
		}
		if got := js[string](b, `document.documentElement.lang`); languages != "sv" && !strings.HasPrefix(languages, got) {
			t.Errorf("%s: the page says it is in %q", languages, got)
		}
	}
}

// Without sound of its own a page types, hushes, and presses the device's own button.
func TestWithoutSoundTheRestWorks(t *testing.T) {
	h := build(t, houseOptions{quiet: true})
	b := h.visit(telephone)
	b.until(`document.getElementById('note').textContent.includes('no sound of its own')`)
	js[bool](b, `(document.getElementById('text').value = 'what time is it', document.querySelector('#line button').click(), true)`)
	h.wasAsked(`kitchen ask {"text":"what time is it"}`)
	js[bool](b, `(document.getElementById('hush').click(), true)`)
	h.wasAsked(`kitchen hush {}`)
	// The button is the device's: its own microphone listens.
	b.hold("#talk")
	h.wasAsked(`kitchen press {}`)
	b.let()
	h.wasAsked(`kitchen release {}`)

	h.mu.Lock()
	h.refusal = "the room is full"
	h.mu.Unlock()
	js[bool](b, `(document.getElementById('hush').click(), true)`)
	b.until(`document.getElementById('note').textContent === 'the room is full'`)
	b.forgive("409")
}

// Who may only look sees all of it, and has nothing to press.
func TestWhoMayOnlyLookHasNothingToPress(t *testing.T) {
	h := build(t, houseOptions{})
	h.conversation()
	l := telephone
	l.before = `new MutationObserver(() => { const m = document.querySelector('meta[name=conch-rights]'); if (m) m.content = 'look'; }).observe(document, { childList: true, subtree: true })`
	b := h.visit(l)
	b.until(`document.querySelectorAll('.bubble').length >= 5 && document.getElementById('talk-text').textContent === 'You are looking on'`)
	for _, knob := range []string{"#mute", "#hush", "#volume", "#text", "#line button", "#share"} {
		if js[float64](b, `document.querySelector(%s).getBoundingClientRect().width`, knob) != 0 {
			t.Errorf("%s is in sight", knob)
		}
	}
	b.until(`[...document.querySelectorAll('.disc select')].every((s) => s.disabled)`)
	b.space(true)
	b.space(false)
	b.escape()
	b.hold("#talk")
	b.let()
	js[bool](b, `(`+bubble("Ben")+`.querySelector('summary').click(), true)`) // why is for everybody
	b.until(bubble("Ben") + `.querySelectorAll('.vote').length === 3`)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) > 0 || h.stage.sat.Load() > 0 {
		t.Errorf("who may only look asked for %q, and talks %d times", h.asked, h.stage.sat.Load())
	}
}

// The page is there before anybody waits for it, and weighs little.
func TestThePageIsQuickAndLight(t *testing.T) {
	h := build(t, houseOptions{})
	h.conversation()
	b := h.visit(desk)
	bytes := js[float64](b, `performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).reduce((n, r) => n + r.decodedBodySize, 0)`)
	var paints []float64
	for range 5 {
		b.do(chromedp.Reload())
		b.until(`performance.getEntriesByName('first-contentful-paint').length > 0`)
		paints = append(paints, js[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`))
	}
	b.until(`document.querySelectorAll('.bubble').length >= 5`)
	call(b, performance.Enable, performance.EnableParams{})
	js[bool](b, `(gc(), true)`)
	heap := js[float64](b, `performance.memory.usedJSHeapSize`)
	t.Logf("first paint after %.0f ms (five loads); %.0f kB loaded before sound; %.1f MB of JavaScript's memory", paints, bytes/1000, heap/1e6)
	if fastest := slices.Min(paints); fastest > 300 { // of the others, the machine may have had other work
		t.Errorf("the first paint took %.0f ms; at most 300", fastest)
	}
	if bytes > 150e3 {
		t.Errorf("%.0f bytes; at most 150 kB", bytes)
	}
	if heap > 20e6 {
		t.Errorf("a page takes %.1f MB", heap/1e6)
	}
}

// shot is a picture of the page.
func (b *tab) shot() []byte {
	b.t.Helper()
	r := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return r.Data
}

// Another device of the room that has a page in the house is linked to, by what its address says; what a member only says is one is not.
func TestThePageOfAnotherDeviceIsLinked(t *testing.T) {
	source := axe(t)
	h := build(t, houseOptions{})
	l := telephone
	l.still = true
	b := h.visit(l)
	others := append(members(),
		round.Member{Device: "attic", Name: "attic", Page: "http://attic.local:7485/", Cards: []round.Card{{ID: "dora", Name: "Dora"}}},
		round.Member{Device: "shed", Name: "shed", Page: "https://bank.example/", Cards: []round.Card{{ID: "ed", Name: "Ed"}}},
		round.Member{Device: "barn-1", Name: "barn", Page: "http://barn.local:7485/"}, round.Member{Device: "barn-2", Name: "barn", Page: "http://liar.local:7485/"},
	)
	others[0].Page = "http://kitchen.local:7485/" // here it is already
	for _, p := range places {
		h.is(p.device, func(p *control.Picture) { p.Room.Members = others })
	}
	b.until(`document.querySelectorAll('.place').length === 6`)
	b.until(`document.querySelectorAll('.place a:not([hidden])').length === 1`)
	got := js[[]string](b, `[...document.querySelectorAll('a[href]')].filter((a) => a.closest('.place')).map((a) => [a.closest('.place').querySelector('h3').textContent, a.href, a.textContent, a.rel].join(' | '))`)
	if want := "attic | http://attic.local:7485/ | attic.local:7485 | noopener noreferrer"; len(got) != 1 || got[0] != want {
		t.Errorf("linked to are %q; want %q", got, want)
	}
	b.audit(source, "with another's page")
	for _, p := range places {
		h.is(p.device, func(p *control.Picture) { p.Room.Members = members() })
	}
	b.until(`document.querySelectorAll('.place a:not([hidden])').length === 0`)
}

// Words that come late open their question anew: what was to be answered before, and nobody heard, is not left open.
func TestLateWordsLeaveNoAnswerOpen(t *testing.T) {
	h := build(t, houseOptions{})
	b := h.visit(desk)
	h.question("kitchen", "m1", "(said aloud, and not written down)", "ada")
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Floor: "ada", Who: "Ada", Turn: "t1", Rest: "A soft egg takes six minutes."})
	b.until(`document.querySelectorAll('.bubble.answer.growing').length === 1`)
	place := round.Place{Epoch: round.Epoch{N: 1, Device: idOf("kitchen")}, Number: 1, Message: "m1"}
	for _, p := range places {
		h.happens(p.device, control.EventEntry, round.Entry{Kind: round.EntrySuperseded, Place: &place, Why: "words came late"})
		h.happens(p.device, control.EventEntry, round.Entry{Kind: round.EntryClaim, Place: &place, Companion: "ada", By: idOf("kitchen")})
	}
	h.question("kitchen", "m2", "How long do I boil an egg?", "ada")
	b.until(`document.querySelectorAll('.bubble.ask').length === 2`)
	h.does("kitchen", control.Doing{State: "IN_RESPONSE", Floor: "ada", Who: "Ada", Turn: "t1", Heard: "A soft egg", Rest: " takes six minutes."})
	h.turn("ada", "t1", "A soft egg takes six minutes.", "A soft egg takes six minutes.", 4.2)
	b.until(`document.querySelectorAll('.bubble.answer.growing, .bubble.answer.open').length === 0`)
	if n := js[int](b, `document.querySelectorAll('.bubble.answer').length`); n != 1 {
		t.Errorf("%d answers are shown; want 1", n)
	}
}
