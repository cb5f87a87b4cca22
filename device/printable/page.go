package printable

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPage is how long the address of a page may be. A longer one is none.
const maxPage = 128

// houseDomains are those that no public name is below (RFC 6762; RFC 8375; RFC 6761; ICANN has reserved internal).
var houseDomains = []string{".local", ".home.arpa", ".internal", ".test"}

// PageOf is the address of a device's page, as in http://kitchen.local:7485/ or https://192.168.7.5:7485/. Empty: text is none that a member
// may lead people to. It is a word of that member, so it is a place in the house, by a private address or a name that no public one is
// below, written in the one way that there is, and of this machine it is never.
func PageOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxPage || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, port := u.Hostname(), u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !inHouse(host) {
		return ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Scheme+"://"+host+":"+port+"/" != text {
		return ""
	}
	return text
}

func inHouse(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() && a.Zone() == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return slices.ContainsFunc(houseDomains, func(d string) bool { return strings.HasSuffix(host, d) })
}
