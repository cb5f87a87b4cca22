package join

import (
	"strings"

	"conch/device/control"
	"conch/device/language"
)

// What is said and shown at each step of pairing. A clip says it where this machine has no voice of its own to say the names; what a person
// pressed away is not said again.

// pairingClip is the clip of a line; empty: nothing is said.
func pairingClip(l control.PairingLine) string {
	switch l.State {
	case control.PairingListening:
		if l.Why == control.WhyTwoWindows {
			return "pair_several"
		}
		return "pair_listening"
	case control.PairingPaired:
		return "pair_paired"
	case control.PairingLeft:
		return "pair_left"
	case control.PairingRemoved:
		return "pair_removed"
	case control.PairingKeeper:
		return "pair_keeper"
	case control.PairingMoved:
		return "pair_moved"
	case control.PairingFailed:
		switch l.Why {
		case control.WhyWrongCode:
			return "pair_wrong_code"
		case control.WhyExpired:
			return "pair_expired"
		case control.WhyClosed, control.WhyBusy, control.WhyRefused:
			return "pair_closed"
		case control.WhyStopped, control.WhyKeptOut:
			return "pair_stopped"
		case control.WhyNotHeard:
			return "pair_not_heard"
		case control.WhyHost, control.WhyHeard:
			return "pair_no_host"
		case control.WhyMissing:
			return "pair_missing"
		case control.WhyNobody:
			return "pair_nobody"
		case control.WhyFull:
			return "pair_full"
		case control.WhyDisk:
			return "pair_disk"
		case control.WhyMuted:
			return "muted"
		case control.WhyDeaf:
			return "no_microphone"
		case control.WhyUnsure, control.WhyAlready:
			return ""
		}
		return "pair_failed"
	}
	return ""
}

// pairingText is a line for people who read.
func pairingText(lang language.Language, l control.PairingLine) string {
	switch l.State {
	case control.PairingIdle:
		return lang.Phrase("pair.idle")
	case control.PairingLooking:
		return lang.Phrase("pair.looking")
	case control.PairingOpen:
		if l.Code == "" {
			return lang.Phrase("pair.opening")
		}
		text := lang.Phrase("pair.open", "code", l.Code[:len(l.Code)/2]+" "+l.Code[len(l.Code)/2:])
		if l.Tries > 0 {
			text += " " + lang.Phrase("pair.tries", "n", l.Tries)
		}
		return text
	case control.PairingListening:
		switch {
		case len(l.Windows) > 1:
			return lang.Phrase("pair.listening_many", "n", len(l.Windows), "names", strings.Join(l.Windows, ", "))
		case l.Peer != "":
			return lang.Phrase("pair.listening_to", "peer", l.Peer)
		}
		return lang.Phrase("pair.listening")
	case control.PairingJoining:
		if len(l.Windows) > 1 {
			return lang.Phrase("pair.joining_many", "n", len(l.Windows), "names", strings.Join(l.Windows, ", "))
		}
		return lang.Phrase("pair.joining")
	case control.PairingLeaving:
		return lang.Phrase("pair.leaving")
	case control.PairingPaired:
		switch {
		case l.Called != "":
			return lang.Phrase("pair.paired_called", "peer", l.Peer, "name", l.Called)
		case l.Peer != "":
			return lang.Phrase("pair.paired_with", "peer", l.Peer)
		}
		return lang.Phrase("pair.paired")
	case control.PairingCancelled:
		return lang.Phrase("pair.cancelled")
	case control.PairingLeft:
		if l.Room != "" {
			return lang.Phrase("pair.left_room", "room", l.Room)
		}
		return lang.Phrase("pair.left")
	case control.PairingRemoved:
		return lang.Phrase("pair.removed")
	case control.PairingKeeping:
		return lang.Phrase("pair.keeping")
	case control.PairingKeeper:
		return lang.Phrase("pair.keeper")
	case control.PairingRenamed:
		return lang.Phrase("pair.renamed", "name", l.Called)
	case control.PairingMoved:
		return lang.Phrase("pair.moved", "peer", l.Peer)
	case control.PairingElsewhere:
		return lang.Phrase("pair.elsewhere", "peer", l.Peer)
	}
	return failedText(lang, l)
}

// failedText is why pairing has failed, and what can be done.
func failedText(lang language.Language, l control.PairingLine) string {
	switch l.Why {
	case control.WhyWrongCode:
		if len(l.Windows) > 1 {
			return lang.Phrase("failed.wrong_code_many", "names", strings.Join(l.Windows, ", "))
		}
	case control.WhyStopped:
		if l.Peer != "" {
			return lang.Phrase("failed.stopped_at", "peer", l.Peer)
		}
	case control.WhyAlready:
		return lang.Phrase("failed.already", "room", l.Room)
	}
	if !language.Has("failed." + string(l.Why)) {
		l.Why = control.WhyDevice
	}
	return lang.Phrase("failed." + string(l.Why))
}
