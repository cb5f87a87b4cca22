package round

// step is one Step under way. It is made in layers, and each calls only itself and those below:
//
//	step      facts: what a person, a voice, the time and other devices say (step*.go)
//	rounds    a message, its votes, its decision (rounds.go, votes.go, candidates.go)
//	company   who is here, who lives where, how they are to behave (members.go, names.go, control.go)
//	answers   the floor: epochs, claims, what this device gets ready and says (epoch.go, floor.go, claims.go)
//	orders    what all are made of: the machine's copy and the orders so far (orders.go, history.go)
//	Machine   what is known, without an order (machine.go, state.go, queries.go)
type (
	step    struct{ rounds }
	rounds  struct{ company }
	company struct{ answers }
	answers struct{ orders }
	orders  struct {
		m   Machine
		out []Effect
		id  MessageID // from a Tick: may become a message's
	}
)
