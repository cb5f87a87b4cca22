package words

import (
	"embed"
	"sync"
)

//go:embed lang/*.toml
var langFiles embed.FS

// Known are the languages that come with the program. They are read when they are asked for first, since most commands never are asked
// anything; that they have no mistake is tested.
var Known = sync.OnceValue(func() *Languages {
	all, err := readLanguages(langFiles, "lang")
	if err != nil {
		panic(err) //nolint:forbidigo // impossible: they are part of the program, and TestLanguages reads them
	}
	return newLanguages(all)
})
