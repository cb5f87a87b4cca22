package tuner

import (
	"cmp"
	"net/http"
	"path"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"conch/device/pattern"
)

const sniffed = 512 // bytes by which net/http knows text

var (
	errNoList = ownError("it is text, and no list")
	errPage   = ownError("it is a page of the web, and no sound")
	errAside  = ownError("its address leads to a page of the web, and to no sound; does the network want a login?")
	errHLS    = ownError("it sends HLS, which conch does not play; that is many short files, and no stream")
	errDASH   = ownError("it sends DASH, which conch does not play; that is many short files, and no stream")

	// What a list is called, and how it begins: M3U, PLS, and what Windows made of that; XML is known by its first element.
	listTypes = pattern.New(`(?i)mpegurl|pls|xspf|x-ms-(asf|asx|wax|wvx)|realaudio`)
	listNames = pattern.New(`(?i)^\.(m3u8?|pls|xspf|asx|wax|wvx|ram)$`)
	listBegin = pattern.New(`(?i)\A\s*#|(?m:^)[ \t]*https?://`)
	hlsLine   = pattern.New(`(?im)^[ \t]*#EXT-X-`)
	pls       = pattern.New(`(?im)^[ \t]*(\[(playlist|reference)\]|(file|ref)\d+[ \t]*=)`)
	plsEntry  = pattern.New(`(?im)^[ \t]*(?:file|ref)\d*[ \t]*=[ \t"]*([^"\r\n]*)`)
)

// isText says whether something may be a list or a page, and is no sound.
func isText(head []byte) bool { return strings.HasPrefix(http.DetectContentType(head), "text/") }

// isListed says whether a server, or the end of its address, calls something a list.
func isListed(res *http.Response) bool {
	return listTypes().MatchString(res.Header.Get("Content-Type")) || listNames().MatchString(path.Ext(res.Request.URL.Path))
}

// entries are the addresses that a list names; errNoList is of other text. listed: it is a list by its name.
func entries(b []byte, listed bool) (all []string, err error) {
	b, _, _ = transform.Bytes(unicode.BOMOverride(transform.Nop), b) // what does not fit is a sign of its own
	text := strings.TrimSpace(strings.ToValidUTF8(string(b), "\ufffd"))
	if strings.HasPrefix(text, "<") {
		return elements(text)
	}
	switch {
	case hlsLine().MatchString(text):
		return nil, errHLS
	case pls().MatchString(text):
		for _, entry := range plsEntry().FindAllStringSubmatch(text, -1) {
			all = append(all, entry[1])
		}
	case listed || listBegin().MatchString(text):
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				all = append(all, line)
			}
		}
	default:
		return nil, errNoList
	}
	return strip(all), nil
}

// elements are the addresses that a list in XML names: XSPF, ASX, WPL. Such lists are seldom XML to the letter, so they are read as pages are.
func elements(text string) (all []string, err error) {
	z := html.NewTokenizer(strings.NewReader(text))
	z.AllowCDATA(true)
	root, name, inTrack := "", "", false
	for z.Next() != html.ErrorToken {
		switch token := z.Token(); token.Type {
		case html.StartTagToken, html.SelfClosingTagToken:
			z.NextIsNotRawText()
			name = token.Data
			root, inTrack = cmp.Or(root, name), inTrack || name == "track"
			for _, a := range token.Attr {
				switch name + " " + a.Key {
				case "ref href", "entryref href", "media src", "audio src":
					all = append(all, a.Val)
				}
			}
		case html.TextToken:
			if name == "location" && inTrack { // one before is the list's own
				all = append(all, token.Data)
			}
		case html.EndTagToken:
			name = ""
		}
	}
	switch root {
	case "playlist", "asx", "smil":
		return strip(all), nil
	case "mpd":
		return nil, errDASH
	}
	if root == "html" || strings.HasPrefix(http.DetectContentType([]byte(text)), "text/html") {
		return nil, errPage
	}
	return nil, errNoList
}

// strip leaves out what is empty, and blanks around the others.
func strip(all []string) (some []string) {
	for _, s := range all {
		if s = strings.TrimSpace(s); s != "" {
			some = append(some, s)
		}
	}
	return some
}
