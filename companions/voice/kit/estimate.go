package kit

// What is counted where a server counts no tokens. English has some four letters in a token. Of sound OpenAI's Realtime API
// makes a token of 100 ms that it hears, and of 50 ms that it says: users have measured that, and it is an estimate.
const (
	lettersAToken = 4
	heardASecond  = 10
	saidASecond   = 20
)

// TextTokens estimates the tokens of so many letters.
func TextTokens(letters int) int64 { return (int64(letters) + lettersAToken - 1) / lettersAToken }

// HeardTokens estimates the tokens of sound that a server has heard.
func HeardTokens(seconds float64) int64 { return int64(seconds*heardASecond + 0.5) }

// SaidTokens does so of sound that it has said.
func SaidTokens(seconds float64) int64 { return int64(seconds*saidASecond + 0.5) }
