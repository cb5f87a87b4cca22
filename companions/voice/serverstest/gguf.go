package serverstest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// A Chain is a text that a model says from its first piece to its end, whatever it was asked.
type Chain struct {
	When string // a condition of the chat's template: the first chain whose condition holds is said; "": always
	Says string
}

// A Mind is a model for llama-server, of architecture llama. It has one block of zeros, so that a token decides alone which one follows.
type Mind struct {
	Chains []Chain
	Wide   int // numbers in a row of the block's zeros: the more, the slower it is, and the longer it loads; 0: as few as can be
}

const (
	wide    = 128   // numbers that stand for a token
	trained = 32768 // tokens that a model says it was trained with
)

// The first tokens of the vocabulary; behind them the 256 bytes, then all pairs of two letters, then the pieces of the chains.
const (
	unknown = iota
	opens
	closes
	control // the first of those that begin a chain
)

// template is a chat's, in the dialect of models whose calls stand between <tool_call> and </tool_call>.
const template = `{%- if tools %}<|im_start|>system
{%- if messages[0].role == 'system' %}{{ messages[0].content }}{%- endif %}
You are provided with function signatures within <tools></tools> XML tags:
<tools>{%- for tool in tools %}
{{ tool | tojson }}{%- endfor %}
</tools>
For each call, return a json object within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{%- elif message.role != 'system' or not tools %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- if message.tool_calls %}{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{%- endfor %}{%- endif %}<|im_end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
%CHAINS%{%- endif %}`

// pieces cuts a text at its spaces, so that no piece is one that is there already: each has one that follows.
func pieces(text string, there map[string]bool) (all []string) {
	piece := ""
	for word := range strings.SplitAfterSeq(text, " ") {
		if piece += word; !there[piece] {
			there[piece] = true
			all, piece = append(all, piece), ""
		}
	}
	if piece != "" { // it ends as it began somewhere: the last piece is longer
		all[len(all)-1] += piece
		there[all[len(all)-1]] = true
	}
	return all
}

// file writes the numbers of both formats, least significant byte first, and remembers the first error.
type file struct {
	*bufio.Writer
	to  *os.File
	at  int64
	err error
}

func (f *file) put(all ...any) {
	for _, v := range all {
		if s, ok := v.(string); ok {
			v = []byte(s)
		}
		if err := binary.Write(f, binary.LittleEndian, v); err != nil && f.err == nil {
			f.err = err
		}
		f.at += int64(binary.Size(v))
	}
}

// create writes a file as a whole, or none.
func create(path string, write func(f *file)) error {
	to, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("serverstest: write a model: %w", err)
	}
	f := &file{Writer: bufio.NewWriterSize(to, 1<<20), to: to}
	write(f)
	err = f.err
	if err == nil {
		err = f.Flush()
	}
	if err == nil {
		err = to.Truncate(f.at) // a hole at the end counts, too
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		_ = to.Close()
		_ = os.Remove(path)
		return fmt.Errorf("serverstest: write the model %s: %w (is the disk full?)", path, err)
	}
	return nil
}

// Types of values in a GGUF file.
const (
	isUint32  = 4
	isInt32   = 5
	isFloat32 = 6
	isString  = 8
	isArray   = 9
)

func (f *file) text(s string) { f.put(uint64(len(s)), s) }

func (f *file) texts(key string, all []string) {
	f.text(key)
	f.put(uint32(isArray), uint32(isString), uint64(len(all)))
	for _, s := range all {
		f.text(s)
	}
}

func (f *file) numbers(key string, kind uint32, n int, all any) {
	f.text(key)
	f.put(uint32(isArray), kind, uint64(n), all)
}

func (f *file) string(key, s string) {
	f.text(key)
	f.put(uint32(isString))
	f.text(s)
}

func (f *file) number(key string, n int) {
	f.text(key)
	f.put(uint32(isUint32), uint32(n))
}

// vocabulary is what a model knows of text, and which token begins each chain.
type vocabulary struct {
	tokens []string
	kinds  []int32 // 1: text, 2: unknown, 3: control, 6: a byte
	follow map[int]int
}

func (v *vocabulary) add(kind int32, token string) int {
	v.tokens, v.kinds = append(v.tokens, token), append(v.kinds, kind)
	return len(v.tokens) - 1
}

// vocabulary is the one of these chains; begin chooses among them, in the template.
func (m Mind) vocabulary() (v *vocabulary, begin string) {
	v = &vocabulary{follow: map[int]int{}}
	v.add(2, "<unk>")
	v.add(3, "<|im_start|>")
	v.add(3, "<|im_end|>")
	for i, c := range m.Chains {
		name := fmt.Sprintf("<|chain%d|>", i)
		v.add(3, name)
		if c.When == "" {
			c.When = "true"
		}
		begin += fmt.Sprintf("{%%- %s %s %%}%s", []string{"if", "elif"}[min(i, 1)], c.When, name)
	}
	begin += "{%- endif %}"
	for b := range 256 {
		v.add(6, fmt.Sprintf("<0x%02X>", b))
	}
	there := map[string]bool{}
	letters := []rune{'▁'} // of a space
	for r := '!'; r <= '~'; r++ {
		letters = append(letters, r)
	}
	v.add(1, "▁")
	for _, a := range letters {
		for _, b := range letters {
			pair := string([]rune{a, b})
			there[strings.ReplaceAll(pair, "▁", " ")] = true
			v.add(1, pair)
		}
	}
	for i, c := range m.Chains {
		last := control + i
		for _, p := range pieces(c.Says, there) {
			next := v.add(1, strings.ReplaceAll(p, " ", "▁"))
			v.follow[last], last = next, next
		}
		v.follow[last] = closes
	}
	return v, begin
}

// tensor is one of a model, and what writes its numbers; nil: they are zeros.
type tensor struct {
	name  string
	shape []int // the shortest step first
	write func(f *file)
}

func (t tensor) size() int64 {
	n := int64(4)
	for _, k := range t.shape {
		n *= int64(k)
	}
	return n
}

// Write writes the model. Each token has a direction of its own, and the row of the output that is for a token points where
// the one before it does.
func (m Mind) Write(path string) error {
	v, begin := m.vocabulary()
	n, block := len(v.tokens), max(m.Wide, 32)
	rows := make([][]float32, n)
	r := rand.New(rand.NewPCG(1, 2)) // the same each time
	for t := range rows {
		rows[t] = make([]float32, wide)
		long := 0.0
		for i := range rows[t] {
			x := r.NormFloat64()
			rows[t][i], long = float32(x), long+x*x
		}
		for i := range rows[t] {
			rows[t][i] *= float32(math.Sqrt(wide / long))
		}
	}
	out := make([]float32, n*wide)
	for before, t := range v.follow {
		for i, x := range rows[before] {
			out[t*wide+i] += x / 2
		}
	}
	ones := func(f *file) { f.put(slices.Repeat([]float32{1}, wide)) }
	all := []tensor{
		{"token_embd.weight", []int{wide, n}, func(f *file) { f.put(slices.Concat(rows...)) }},
		{"output_norm.weight", []int{wide}, ones},
		{"output.weight", []int{wide, n}, func(f *file) { f.put(out) }},
		{"blk.0.attn_norm.weight", []int{wide}, ones}, {"blk.0.ffn_norm.weight", []int{wide}, ones},
		{"blk.0.attn_q.weight", []int{wide, wide}, nil}, {"blk.0.attn_k.weight", []int{wide, wide}, nil},
		{"blk.0.attn_v.weight", []int{wide, wide}, nil}, {"blk.0.attn_output.weight", []int{wide, wide}, nil},
		{"blk.0.ffn_gate.weight", []int{wide, block}, nil}, {"blk.0.ffn_up.weight", []int{wide, block}, nil},
		{"blk.0.ffn_down.weight", []int{block, wide}, nil},
	}
	return create(path, func(f *file) {
		f.put("GGUF", uint32(3), uint64(len(all)), uint64(18))
		f.string("general.architecture", "llama")
		f.string("general.name", "chain")
		f.number("llama.context_length", trained)
		f.number("llama.embedding_length", wide)
		f.number("llama.block_count", 1)
		f.number("llama.feed_forward_length", block)
		f.number("llama.attention.head_count", 2)
		f.number("llama.attention.head_count_kv", 2)
		f.number("llama.rope.dimension_count", wide/2)
		f.text("llama.attention.layer_norm_rms_epsilon")
		f.put(uint32(isFloat32), float32(1e-5))
		f.string("tokenizer.ggml.model", "llama")
		f.texts("tokenizer.ggml.tokens", v.tokens)
		f.numbers("tokenizer.ggml.scores", isFloat32, n, make([]float32, n))
		f.numbers("tokenizer.ggml.token_type", isInt32, n, v.kinds)
		f.number("tokenizer.ggml.bos_token_id", opens)
		f.number("tokenizer.ggml.eos_token_id", closes)
		f.number("tokenizer.ggml.unknown_token_id", unknown)
		f.string("tokenizer.chat_template", strings.Replace(template, "%CHAINS%", begin, 1))
		at := int64(0)
		for _, t := range all {
			f.text(t.name)
			f.put(uint32(len(t.shape)))
			for _, k := range t.shape {
				f.put(uint64(k))
			}
			f.put(uint32(0), uint64(at)) // of float32
			at += (t.size() + 31) / 32 * 32
		}
		for _, t := range all {
			f.put(make([]byte, (32-f.at%32)%32))
			f.tensor(t)
		}
	})
}

func (f *file) tensor(t tensor) {
	if t.write != nil {
		t.write(f)
		return
	}
	err := f.Flush()
	if err == nil {
		_, err = f.to.Seek(t.size(), io.SeekCurrent) // a hole in the file takes no room on the disk
	}
	if f.at += t.size(); err != nil && f.err == nil {
		f.err = err
	}
}
