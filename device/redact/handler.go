package redact

import "net/http"

// Handler is next whose answers have no secrets in them. An answer whose length is fixed, which is a file of the page, stays as it is.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(answer{w}, r) })
}

type answer struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController, and who takes the connection over.
func (a answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter.
func (a answer) Write(p []byte) (int, error) {
	if a.Header().Get("Content-Length") != "" {
		return a.ResponseWriter.Write(p)
	}
	if _, err := a.ResponseWriter.Write(Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
