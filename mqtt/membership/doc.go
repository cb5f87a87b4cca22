// Package membership is who belongs to a room: kept by the room's host, known to every member, and on disk at each of them.
//
//	button, code (mqtt/pairing)            broker, client (mqtt)
//	   │ Found, Admit, Accept                 │ BrokerTLS, ClientTLS, Admits, Member
//	   v                                      v
//	Membership ── room/room.json, room/ca.key (state directory)
//	   │  ^ HandleNote, LinkUp, Refused, Reached
//	   v  │ SendWith
//	 the room's notes ─────────> the same in every other device
//
// The host is the device that admitted the first other one. Its list is the authority: a certificate says which device is there, the
// list whether that is a member. The list's version counts up; a device that has seen a version takes no older one.
//
//	note              who says it   body                               answer
//	members.ask       member        have: version of its list          members.list
//	members.list      host          room, version, at, members         (no members: the room has ended)
//	members.open      member        request: names the window          members.window (to all: window, device, open, waitMs)
//	members.shut      member        request: of members.open           members.window
//	members.admit     member        request, device, key, name, window members.admitted (welcome) or members.refused (why)
//	members.remove    member        request, device                    members.removed or members.refused
//	members.rename    member        request, device, name              members.renamed or members.refused
//	members.renew     member        key                                members.renewed (to, cert)
//	members.left      member                                           members.list
//	members.ack       member        key, sig: under the host's claim
//	members.moved     host          to: who is the host from now on
//
// A welcome is the newcomer's room.json. Several that ask at once get one list, a tenth of a second after the first; what has changed is
// said at once, and once more at the host's next look, for either may get lost.
//
// # The host is gone
//
// Keep makes a member the host, by a person's word: a claim (keeper.go). Two devices of the room that meet, one of which at least says that it is
// the host, settle it (Meet). Who follows whom is computed from what both have proven (standing.follows); nothing is elected.
//
//	keep: ca.key (new) ─> room.json (host: this device, claim) ─> begins anew as the host
//	follow: room.json (host: the other one, its authority, a new certificate) ─> ca.key goes, if there was one; then it begins anew
//
// # Commit points
//
// The host writes ca.key, then room.json with the newcomer as pending, then gives the welcome away: whoever has one can come. The
// newcomer is in when its room.json is there. Pending ends with its first connection, or after a day without one. Leaving and
// being removed delete room.json first; where that cannot be, on a card that can only be read by now, whoever runs this is told (Stuck),
// and it is tried again. Each file is replaced whole, so a power cut leaves the old state or the new one.
//
// # Clocks
//
// A device may believe that it is 1970, or 2099. A clock is one while it is neither before this program nor after the room's authority.
// A certificate is looked at as of that, or without a clock as of the latest of what the host last wrote under its list and NotBefore
// of the own certificate; and never as of a time before NotBefore of the authority and of the one that is looked at, for the room's authority has
// signed both. A host without a clock issues certificates for ten years, from a day on which conch did not exist yet; they
// are renewed once its clock is right. Otherwise certificates last two years and are renewed after one.
//
// Run's goroutine handles what the room says and writes the files then; everything else happens in the caller's.
package membership
