package cascade

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"conch/companions/voice/kit"
)

// transcript is what a recognizer wrote of an utterance, and how sure it was.
type transcript struct {
	text     string
	language string // as the recognizer names it; "": it does not
	sure     bool   // the two figures are there, of the segment that is most like speech
	silent   float64
	logprob  float64
}

// Limits of doubt. The first two are those by which whisper's own code takes a segment for silence.
const (
	silentAlone  = 0.6 // no_speech_prob, together with
	unsureAlone  = -1  // avg_logprob
	silentPhrase = 0.3 // either is enough where the words are a phrase that recognizers write of silence
	unsurePhrase = -0.7
	quietest     = -50 // dB: sound below that is of the room
	leastSounded = 0.2 // seconds of sound that a phrase needs
	mostLetters  = 30  // a second of sound: nobody says more
	leastLetters = 2   // a second of sound, in which the phrase is all that was said
)

// words are those of the user; "": no user said them, so that nothing is sent. names is the prompt that the recognizer was given.
func (t transcript) words(pcm []int16, names string) string {
	text := strings.TrimSpace(strings.ToValidUTF8(t.text, ""))
	if len(text) > kit.MaxHistoryText/4 {
		text = strings.ToValidUTF8(text[:kit.MaxHistoryText/4], "")
	}
	bare := plainly(unbracketed(text))
	switch {
	case bare == "", t.sure && t.silent > silentAlone && t.logprob < unsureAlone, echoes(bare, names):
		return ""
	case hallucinates(bare) && t.doubtful(bare, pcm):
		return ""
	}
	return text
}

// doubtful says that a phrase which recognizers write of silence may be one.
func (t transcript) doubtful(bare string, pcm []int16) bool {
	if t.sure && (t.silent > silentPhrase || t.logprob < unsurePhrase) {
		return true
	}
	sounded, letters := loudFor(pcm), 0.0
	for _, r := range bare {
		letters++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			letters++ // a syllable
		}
	}
	return sounded < leastSounded || letters > sounded*mostLetters || letters < sounded*leastLetters
}

// loudFor is the seconds of an utterance (24 kHz) that are louder than its room.
func loudFor(pcm []int16) float64 {
	const frame = kit.Rate / 50
	var levels []float64
	for part := range slices.Chunk(pcm, frame) {
		sum := 0.0
		for _, s := range part {
			sum += float64(s) * float64(s)
		}
		levels = append(levels, 10*math.Log10(max(1e-9, sum/float64(len(part))/(32768*32768))))
	}
	if len(levels) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(levels))
	least, n := max(quietest, sorted[len(sorted)/10]+6), 0
	for _, l := range levels {
		if l > least {
			n++
		}
	}
	return float64(n) * frame / kit.Rate
}

// unbracketed is a text without what stands in brackets, stars or notes: what recognizers write of sounds.
func unbracketed(text string) string {
	var out strings.Builder
	closing := rune(0)
	for _, r := range text {
		switch {
		case closing != 0:
			if r == closing {
				closing = 0
			}
		case strings.ContainsRune("[(*【（<", r):
			closing = map[rune]rune{'<': '>', '[': ']', '(': ')', '*': '*', '【': '】', '（': '）'}[r]
		default:
			out.WriteRune(r)
		}
	}
	if closing != 0 { // it never ended: it was none
		return text
	}
	return out.String()
}

// plainly is a text in lower case, letters and digits alone, one space between words.
func plainly(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(strings.NewReplacer("'", "", "’", "").Replace(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	}), " ")
}

// echoes says that the words are the prompt, or its beginning or end.
func echoes(bare, names string) bool {
	prompt := plainly(names)
	if prompt == "" || strings.Count(bare, " ") == 0 {
		return false // a name alone calls a companion
	}
	all := plainly("names")
	return bare == prompt || strings.HasPrefix(bare, all+" ") && strings.Contains(" "+prompt+" ", " "+bare+" ") ||
		strings.Count(bare, " ") > 1 && strings.Trim(strings.ReplaceAll(bare+" ", prompt+" ", ""), " ") == ""
}

// hallucinates says that a recognizer writes that of silence: known phrases, one behind another, and nothing else.
func hallucinates(bare string) bool {
	if slices.ContainsFunc(credits, func(c string) bool { return strings.HasPrefix(bare, c) }) {
		return true
	}
	rest := bare + " "
	for rest != "" {
		longest := 0
		for _, phrase := range hallucinated {
			if n := len(phrase) + 1; n > longest && strings.HasPrefix(rest, phrase+" ") {
				longest = n
			}
		}
		if longest == 0 {
			return false
		}
		rest = rest[longest:]
	}
	return true
}

// credits begin what films end with, in ten languages.
var credits = []string{"www ", "subtitles by", "subtitles created by", "captions by", "transcription by", "copyright",
	"untertitel von", "untertitel im", "untertitel der",
	"untertitelung", "sous titres", "sous titrage", "subtítulos", "sottotitoli", "legendas", "legenda", "ondertiteld",
	"ondertitels", "ondertiteling", "napisy", "субтитры",
	"редактор субтитров", "字幕", "자막"}

// hallucinated are what whisper's models write of silence and noise, in ten languages, as plainly has them.
var hallucinated = []string{
	"you", "thank you", "thanks", "thank you very much", "thank you so much", "thank you for watching", "thanks for watching", "bye", "bye bye", "goodbye",
	"thank you for watching see you next time", "please subscribe", "subscribe", "like and subscribe",
	"please like and subscribe",
	"thanks for watching and see you next time", "thank you for watching please subscribe", "see you next time",
	"see you in the next video", "ill see you next time",
	"thank you for your attention",
	// German
	"vielen dank", "danke", "vielen dank fürs zuschauen", "danke fürs zuschauen", "vielen dank für ihre aufmerksamkeit", "bis zum nächsten mal", "tschüss",
	"das wars", "bis zum nächsten video",
	// French
	"merci", "merci beaucoup", "merci davoir regardé", "merci davoir regardé cette vidéo", "à bientôt", "au revoir",
	"abonnez vous", "merci à tous", "noubliez pas de vous abonner",
	// Spanish
	"gracias", "muchas gracias", "gracias por ver", "gracias por ver el video", "gracias por ver el vídeo", "hasta la próxima", "suscríbete",
	"suscríbete al canal", "adiós",
	// Italian
	"grazie", "grazie mille", "grazie a tutti", "grazie per la visione", "alla prossima",
	"iscrivetevi al canale",
	// Portuguese
	"obrigado", "obrigada", "muito obrigado", "obrigado por assistir", "até a próxima", "inscreva se no canal",
	// Dutch
	"bedankt", "dank je wel", "bedankt voor het kijken", "tot de volgende keer",
	"tv gelderland 2021",
	// Polish
	"dziękuję", "dziękuję za uwagę", "dziękuję za oglądanie", "dzięki za oglądanie", "do zobaczenia",
	// Russian
	"спасибо", "спасибо за просмотр", "продолжение следует", "до свидания", "подписывайтесь на канал",
	// Japanese, Chinese, Korean
	"ご視聴ありがとうございました", "ありがとうございました", "ありがとうございます", "おやすみなさい", "チャンネル登録お願いします", "谢谢", "谢谢观看", "谢谢大家", "請不吝點贊訂閱轉發打賞支持明鏡與點點欄目",
	"시청해주셔서 감사합니다", "감사합니다", "구독과 좋아요 부탁드립니다",
}
