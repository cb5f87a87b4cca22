package serverstest

import (
	"fmt"
	"math"
)

// An Ear is a model for whisper-server, in whisper.cpp's own format. It writes one sentence of whatever it hears.
type Ear struct{ Writes string }

// Tokens of whisper's multilingual vocabulary, and sizes that it has.
const (
	heardTokens  = 51865
	heardEnd     = 50257
	heardBegin   = 50258
	heardEnglish = 50259
	heardWrite   = 50359
	heardFrom    = 50364 // "at 0 s"; each of the 1,500 behind it is 0.02 s later
	heardUntil   = 51864

	heardWide   = 64 // numbers that stand for a token
	heardFrames = 1500
	heardText   = 448
	heardBands  = 80
	heardBins   = 201
)

// Write writes the model. The k-th token of the chain is the k-th of the numbers; the decoder's one block shifts what it gets by one.
func (e Ear) Write(path string) error {
	words := append([]string{" "}, pieces(" "+e.Writes, map[string]bool{" ": true})...)
	chain := []int{heardBegin, heardEnglish, heardWrite, heardFrom}
	for i := range words[1:] {
		chain = append(chain, i+1)
	}
	if chain = append(chain, heardUntil, heardEnd); len(chain) > heardWide {
		return fmt.Errorf("serverstest: %q has %d words more than this model can write: take fewer", e.Writes, len(chain)-heardWide)
	}
	return create(path, func(f *file) {
		f.put(int32(0x67676d6c), int32(heardTokens), int32(heardFrames), int32(heardWide), int32(1), int32(1),
			int32(heardText), int32(heardWide), int32(1), int32(1), int32(heardBands), int32(0))
		f.put(int32(heardBands), int32(heardBins), make([]float32, heardBands*heardBins))
		f.put(int32(len(words)))
		for _, w := range words {
			f.put(int32(len(w)), w)
		}
		for _, t := range heardTensors(chain) {
			f.put(int32(len(t.shape)), int32(len(t.name)), int32(0))
			for _, k := range t.shape {
				f.put(int32(k))
			}
			f.put(t.name)
			f.tensor(t)
		}
	})
}

// matrix writes rows of so many numbers, of which some are none.
func matrix(rows, row int, set func(put func(i, k int, x float32))) func(*file) {
	return func(f *file) {
		all := make([]float32, rows*row)
		set(func(i, k int, x float32) { all[i*row+k] = x })
		f.put(all)
	}
}

func heardTensors(chain []int) (all []tensor) {
	const w = heardWide
	add := func(name string, write func(*file), shape ...int) { all = append(all, tensor{name, shape, write}) }
	one := matrix(1, w, func(put func(i, k int, x float32)) {
		for k := range w {
			put(0, k, 1)
		}
	})
	norm := func(name string) {
		add(name+".weight", one, w)
		add(name+".bias", nil, w)
	}
	attention := func(name string) {
		for _, part := range []string{"query", "key", "value", "out"} {
			add(name+"."+part+".weight", nil, w, w)
			if part != "key" {
				add(name+"."+part+".bias", nil, w)
			}
		}
	}
	block := func(name string, up, down func(*file)) {
		norm(name + ".attn_ln")
		attention(name + ".attn")
		norm(name + ".mlp_ln")
		add(name+".mlp.0.weight", up, w, 4*w)
		add(name+".mlp.0.bias", nil, 4*w)
		add(name+".mlp.2.weight", down, 4*w, w)
		add(name+".mlp.2.bias", nil, w)
	}
	add("encoder.positional_embedding", nil, w, heardFrames)
	add("encoder.conv1.weight", nil, 3, heardBands, w)
	add("encoder.conv1.bias", nil, 1, w)
	add("encoder.conv2.weight", nil, 3, w, w)
	add("encoder.conv2.bias", nil, 1, w)
	norm("encoder.ln_post")
	block("encoder.blocks.0", nil, nil)

	add("decoder.positional_embedding", nil, w, heardText)
	add("decoder.token_embedding.weight", matrix(heardTokens, w, func(put func(i, k int, x float32)) {
		for k, token := range chain {
			put(token, k, 10)
		}
	}), w, heardTokens)
	norm("decoder.ln")
	norm("decoder.blocks.0.cross_attn_ln")
	attention("decoder.blocks.0.cross_attn")
	block("decoder.blocks.0", matrix(4*w, w, func(put func(i, k int, x float32)) {
		for k := range w {
			put(k, k, 1)
		}
	}), matrix(w, 4*w, func(put func(i, k int, x float32)) {
		for k := range w - 1 {
			put(k+1, k, float32(math.Sqrt(heardWide))*10)
		}
	}))
	return all
}
