//go:build !race

package mqtt

const manyClients = 50
