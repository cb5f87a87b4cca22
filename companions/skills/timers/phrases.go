package timers

import (
	"strconv"
	"strings"
	"time"

	"conch/companions/skills"
)

// phrases are what the device says without a model.
var phrases = skills.Phrases{
	"late": {"en": "{timer}, {span} ago", "de": "{timer}, vor {span}", "es": "{timer}, hace {span}", "fr": "{timer}, il y a {span}"},
	"over": {
		"en": "The timer is over: {timer}.", "de": "Der Timer ist abgelaufen: {timer}.",
		"es": "El temporizador ha terminado: {timer}.", "fr": "Le minuteur est terminé : {timer}.",
	},
	"missed": {
		"en": "While I was off, a timer was over: {timer}, {span} ago.", "de": "Während ich aus war, ist ein Timer abgelaufen: {timer}, vor {span}.",
		"es": "Mientras estaba apagado, terminó un temporizador: {timer}, hace {span}.",
		"fr": "Pendant que j'étais éteint, un minuteur s'est terminé : {timer}, il y a {span}.",
	},
	"hour":    {"en": "hour", "de": "Stunde", "es": "hora", "fr": "heure"},
	"hours":   {"en": "hours", "de": "Stunden", "es": "horas", "fr": "heures"},
	"minute":  {"en": "minute", "de": "Minute", "es": "minuto", "fr": "minute"},
	"minutes": {"en": "minutes", "de": "Minuten", "es": "minutos", "fr": "minutes"},
	"second":  {"en": "second", "de": "Sekunde", "es": "segundo", "fr": "seconde"},
	"seconds": {"en": "seconds", "de": "Sekunden", "es": "segundos", "fr": "secondes"},
}

// label is what a timer is called: by its name, or by how long it was.
func (t *timer) label() string { return t.labelIn("en") }

func (t *timer) labelIn(language string) string {
	if t.Name == "" {
		return spellIn(language, t.Length)
	}
	return t.Name
}

// words are a sentence about a timer that was over so long ago.
func (t *timer) words(language, phrase string, by time.Duration) string {
	return phrases.In(language, phrase, "timer", t.labelIn(language), "span", spellIn(language, by.Round(time.Minute)))
}

// spell is a duration as people say it, for the model.
func spell(d time.Duration) string { return spellIn("en", d) }

func spellIn(language string, d time.Duration) string {
	d = d.Round(time.Second)
	if d > 10*time.Minute && d%time.Hour != 0 {
		d = d.Round(time.Minute)
	}
	var all []string
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		n := int(d / u.of)
		d %= u.of
		if n > 0 {
			all = append(all, strconv.Itoa(n)+" "+phrases.In(language, u.name+inCase(n != 1, "s")))
		}
	}
	if len(all) == 0 {
		return "0 " + phrases.In(language, "seconds")
	}
	return strings.Join(all, " ")
}
