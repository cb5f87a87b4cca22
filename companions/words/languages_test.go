package words

import "testing"

func TestLanguageOf(t *testing.T) {
	for _, row := range []struct {
		text, first string
		of          []string
		want        string
	}{
		{"Es ist schon spät, und wir gehen nach Hause.", "en", []string{"en", "de"}, "de"},
		{"It is late, and we are going home.", "de", []string{"de", "en"}, "en"},
		{"Hm.", "de", []string{"de", "en"}, "de"},
		{"Hm.", "en", []string{"de", "en"}, "en"},
		{"", "de", nil, "de"},
		{"12:30", "de", nil, "de"},
		{"Il est tard et nous rentrons à la maison.", "de", nil, "fr"},
		{"Il est tard et nous rentrons à la maison.", "de", []string{"de"}, "de"}, // no other language is spoken there
		{"今は三時です。", "en", []string{"en"}, "ja"},
		{"现在三点了", "en", []string{"en", "de"}, "zh"},
		{"지금 몇 시예요?", "en", nil, "ko"},
		{"Который час?", "de", []string{"de"}, "ru"},
		{"Котра година?", "uk", []string{"uk", "en"}, "uk"}, // Cyrillic, and Russian is not spoken there
		{"ساعت چند است", "fa", []string{"fa"}, "fa"},
		{"三時。", "ja", []string{"ja"}, "ja"},
		{"三時。", "en", nil, "zh"},
		{"Τι ώρα είναι;", "en", []string{"en"}, "el"},
		{"מה השעה?", "en", nil, "he"},
		{"กี่โมงแล้ว", "de", []string{"de", "en"}, "th"},
		{"USB-Kabel für 東京", "de", []string{"de"}, "de"}, // mostly Latin
		{"Hur mycket är klockan?", "sv", []string{"sv"}, "sv"},
		{"Hur mycket är klockan i köket?", "sv", []string{"sv", "en"}, "sv"}, // of Swedish nothing is known
		{"It is late, and we are going home.", "sv", []string{"sv", "en"}, "en"},
		{"Tor Norretranders", "it", []string{"it", "en"}, "it"},
	} {
		if got := Known().LanguageOf(row.text, row.first, row.of); got != row.want {
			t.Errorf("%q, of %v, else %s: %s; want %s", row.text, row.of, row.first, got, row.want)
		}
	}
}
