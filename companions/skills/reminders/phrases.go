package reminders

import (
	"strconv"
	"strings"
	"time"

	"conch/companions/skills"
)

// phrases are what the device says without a model; each goes on with what the person wanted to be told.
var phrases = skills.Phrases{
	"fresh": {"en": "here is your reminder: ", "de": "Hier ist deine Erinnerung: ", "es": "Aquí está tu recordatorio: ", "fr": "Voici ton rappel : "},
	"perhaps": {
		"en": "you may have heard this already: ", "de": "Das hast du vielleicht schon gehört: ",
		"es": "Puede que ya lo hayas oído: ", "fr": "Tu l'as peut-être déjà entendu : ",
	},
	"once": {
		"en": "once more, your reminder: ", "de": "Noch einmal deine Erinnerung: ",
		"es": "Otra vez, tu recordatorio: ", "fr": "Encore une fois, ton rappel : ",
	},
	"late": {
		"en": "this reminder, {when}, was missed: ", "de": "Diese Erinnerung, {when}, wurde verpasst: ",
		"es": "Este recordatorio, {when}, se perdió: ", "fr": "Ce rappel, {when}, a été manqué : ",
	},
	"several": {
		"en": "this reminder, {when}, was missed, and {n} before it: ", "de": "Diese Erinnerung, {when}, wurde verpasst, und davor noch {n}: ",
		"es": "Este recordatorio, {when}, se perdió, y {n} antes: ", "fr": "Ce rappel, {when}, a été manqué, et {n} avant lui : ",
	},
	"done": {
		"en": " Say done when it is.", "de": " Sag Bescheid, wenn es erledigt ist.",
		"es": " Avísame cuando esté hecho.", "fr": " Dis-le-moi quand c'est fait.",
	},
	"today":     {"en": "today at {time}", "de": "heute um {time}", "es": "hoy a las {time}", "fr": "aujourd'hui à {time}"},
	"yesterday": {"en": "yesterday at {time}", "de": "gestern um {time}", "es": "ayer a las {time}", "fr": "hier à {time}"},
	"date": {
		"en": "on {month}/{day} at {time}", "de": "am {day}.{month}. um {time}", "es": "el {day}/{month} a las {time}", "fr": "le {day}/{month} à {time}",
	},
}

// sentence is what is told, in English for the model and in another language where nobody translates it.
func (r *reminder) sentence(language string, how words, now time.Time) string {
	phrase := [...]string{fresh: "fresh", late: "late", perhaps: "perhaps", once: "once"}[how]
	if how == late && r.Missed > 0 {
		phrase = "several"
	}
	text := phrases.In(language, phrase, "when", whenIn(language, r.Of, now), "n", strconv.Itoa(r.Missed)) + strings.TrimRight(r.Text, ".!? ") + "."
	if r.Insist {
		text += phrases.In(language, "done")
	}
	return text
}

// whenIn says a time that is over; English has names of days and months.
func whenIn(language string, t, now time.Time) string {
	if _, there := phrases["date"][language]; !there || language == "en" {
		return when(t, now)
	}
	t = t.In(now.Location())
	phrase := "date"
	switch days(t, now) {
	case 0:
		phrase = "today"
	case -1:
		phrase = "yesterday"
	}
	return phrases.In(language, phrase, "time", t.Format("15:04"), "day", t.Format("2"), "month", t.Format("1"))
}
