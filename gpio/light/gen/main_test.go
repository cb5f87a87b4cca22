package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"testing"
)

func TestThePictureIsTrue(t *testing.T) {
	kept, err := os.ReadFile("../states.svg")
	if err != nil {
		t.Fatal(err)
	}
	drawn := draw()
	if !bytes.Equal(kept, drawn) {
		t.Error("states.svg is not what the code shows now; run: go generate ./gpio/light")
	}
	if len(drawn) > 40<<10 {
		t.Errorf("the picture has %d bytes; want at most 40 KiB, for it is in a README", len(drawn))
	}
	for d := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
