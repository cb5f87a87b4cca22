package language

import "strings"

// named are the languages that people may speak to a companion, by ISO 639-1, with the names that recognizers give them.
const named = `af Afrikaans, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, bs Bosnian, ca Catalan, cs Czech, cy Welsh,
da Danish, de German, el Greek, en English, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, gl Galician, gu Gujarati,
he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh,
kn Kannada, ko Korean, lb Luxembourgish, lt Lithuanian, lv Latvian, mi Maori, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay,
mt Maltese, my Myanmar, ne Nepali, nl Dutch, no Norwegian, pa Punjabi, pl Polish, pt Portuguese, ro Romanian, ru Russian, sk Slovak,
sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu,
uz Uzbek, vi Vietnamese, yi Yiddish, zh Chinese`

// InEnglish is the name of the language of a code of ISO 639-1, in English; "" for a code that is not known.
func InEnglish(code string) string {
	for entry := range strings.SplitSeq(named, ",") {
		if c, name, _ := strings.Cut(strings.TrimSpace(entry), " "); c == code {
			return name
		}
	}
	return ""
}

// Code is the code of ISO 639-1 of a language that is given as such ("de"), with a country ("de-AT") or by its English name ("german");
// "" for a language that is not known.
func Code(of string) string {
	of = strings.ToLower(strings.TrimSpace(of))
	if code, _, _ := strings.Cut(strings.ReplaceAll(of, "_", "-"), "-"); InEnglish(code) != "" {
		return code
	}
	for entry := range strings.SplitSeq(named, ",") {
		if code, name, _ := strings.Cut(strings.TrimSpace(entry), " "); strings.ToLower(name) == of {
			return code
		}
	}
	return ""
}
