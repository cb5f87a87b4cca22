// Package mcp makes tools of the servers of the Model Context Protocol that the configuration names (SKILLS.md 7).
//
//	configuration ──> Servers.Run ──> one goroutine a server: start, list its tools, wait until it is lost, back off, again
//	                     │                 │   child.go: a command on its standard input and output
//	                     │                 │   web.go:   streamable HTTP
//	                     │                 └── shorten.go: what comes from either, bounded while it is read
//	                     └──> Options.Tools(server, its tools), whenever they change; none: it is lost
//
// A server is somebody else's program: it may hang, die, flood, change its mind and ask for what it is not given. Each of these
// costs the call that meets it, in words, and nothing else. Nothing of conch waits for one, at its start least of all.
package mcp
