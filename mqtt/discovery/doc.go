// Package discovery lets devices of one network find each other: DNS-SD (RFC 6763) over multicast DNS (RFC 6762), service
// _conch._tcp.
package discovery
