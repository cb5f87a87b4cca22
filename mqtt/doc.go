// Package mqtt carries the packets of a room (companions/round) between devices over MQTT.
package mqtt
