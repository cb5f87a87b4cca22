//go:build race

package mqtt

// The race detector makes a signature ten times as much work, and everybody checks everybody's.
const manyClients = 12
