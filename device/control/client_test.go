package control

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// An appliance that ends in the middle of a request is named as what it is.
func TestAnApplianceThatEndsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler) // net/http's way to end a connection in the middle
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	r, err := DialSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), "POST", "/ask", nil, nil); !errors.Is(err, ErrEnded) {
		t.Errorf("%v; want %v", err, ErrEnded)
	}
}
