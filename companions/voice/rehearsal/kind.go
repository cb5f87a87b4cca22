package rehearsal

import (
	"conch/companions/voice"
	"conch/companions/voice/realtime"
)

// Kind is this voice, as the device knows it: a server of its own for each device, and the realtime voice as its client.
func Kind(o Options) voice.Kind {
	return kind(func(s voice.Settings) *Server {
		own := o
		own.Log = s.Log
		return New(own)
	})
}

// Kind is this voice with that server, which nobody runs yet.
func (s *Server) Kind() voice.Kind { return kind(func(voice.Settings) *Server { return s }) }

func kind(server func(voice.Settings) *Server) voice.Kind {
	return voice.Kind{
		Name: "rehearsal", Local: true,
		New: func(s voice.Settings, of []voice.Companion) (voice.Made, error) {
			x := server(s)
			made := voice.Made{Called: "rehearsal, on this machine", More: x.About(), Run: x.Run}
			address, err := x.Listen("127.0.0.1:0")
			if err != nil {
				return made, err
			}
			s.URL, s.Own, s.Roots, s.Hold = address, map[string]string{"dialect": "ga"}, nil, nil
			s.Key = func() string { return "rehearsal" }
			confs := make([]realtime.Config, len(of))
			for i, c := range of {
				c.Model, c.Voice = "rehearsal", Voice(c.Voice)
				if confs[i], err = realtime.Configure(s, c); err != nil {
					return made, err
				}
				confs[i].Assumed = realtime.Assumed{}
			}
			made.Sessions, err = realtime.Sessions(confs)
			return made, err
		},
	}
}
