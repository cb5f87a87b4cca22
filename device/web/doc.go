// Package web is the page of the device: to look at it and its room, and to talk to them from a browser (WEB.md).
package web
