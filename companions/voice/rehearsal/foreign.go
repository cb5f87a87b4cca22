package rehearsal

import "conch/companions/words"

// englishOnly says in a language (ISO 639-1) that this voice knows English alone.
var englishOnly = map[string]string{
	"ar": "بدون مفتاح أفهم الإنجليزية فقط.",
	"de": "Ohne Schlüssel kann ich nur Englisch. Mit einem Schlüssel spreche ich auch Deutsch: sudo conch key.",
	"es": "Sin una clave solo sé inglés. Con una clave hablo también español: sudo conch key.",
	"fr": "Sans clé, je ne sais que l'anglais. Avec une clé, je parle aussi français : sudo conch key.",
	"it": "Senza una chiave so solo l'inglese. Con una chiave parlo anche italiano: sudo conch key.",
	"ja": "キーがないと、英語しか分かりません。",
	"ko": "키가 없으면 영어만 할 수 있습니다.",
	"nl": "Zonder sleutel ken ik alleen Engels. Met een sleutel spreek ik ook Nederlands: sudo conch key.",
	"pl": "Bez klucza znam tylko angielski. Z kluczem mówię też po polsku: sudo conch key.",
	"pt": "Sem uma chave só sei inglês. Com uma chave também falo português: sudo conch key.",
	"ru": "Без ключа я знаю только английский.",
	"zh": "没有密钥时我只会英语。",
}

const english = "en"

// tongue is the language of a text that the device or a user wrote: English, that of the device, or the one whose script it is in.
func (t *Thought) tongue(text, first string) string {
	return words.Known().LanguageOf(text, first, []string{first, english, t.Language})
}

// foreign is the answer to words that no rule knows, of a user who may not speak English; false: the user does.
func (t *Thought) foreign() (Reply, bool) {
	l := t.tongue(t.Words, t.Language)
	if t.Heard != nil { // the recognizer writes English, whatever was said
		l = t.Language
	}
	if l == english {
		return Reply{}, false
	}
	if text, ok := englishOnly[l]; ok {
		return Reply{Text: text, Language: l}, true
	}
	return say("Without a key I know English only. With a key I speak other languages, too: sudo conch key."), true
}

// written is a text of the device, in the language that it is in.
func (t *Thought) written(text string) Reply {
	return Reply{Text: text, Language: t.tongue(text, t.Language)}
}
