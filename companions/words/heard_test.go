package words

import "testing"

// What people cannot tell apart is one name; what they can is not.
func TestHeard(t *testing.T) {
	for _, same := range [][]string{
		{"Ada", "ada", "A d a!", "Adá", "Ada\u0301", "ÀDÄ", "Ａｄａ", "Аdа", "Αda", "Ada\u200b"},
		{"Cleo", "Clеo", "Сlео", "CLÉO"}, {"Max 2", "max-2"}, {"Вера", "Bepa"}, {"Straße", "strasse"},
	} {
		for _, s := range same {
			if Heard(s) != Heard(same[0]) {
				t.Errorf("%q is %q; %q is %q", s, Heard(s), same[0], Heard(same[0]))
			}
		}
	}
	for _, other := range [][2]string{{"Ada", "Ida"}, {"Ada", "Ада"}, {"Ben", "Ben 2"}, {"Нина", "Nina"}, {"花子", "太郎"}, {"Ζωή", "Zoe"}} {
		if Heard(other[0]) == Heard(other[1]) {
			t.Errorf("%q and %q are both %q", other[0], other[1], Heard(other[0]))
		}
	}
}
