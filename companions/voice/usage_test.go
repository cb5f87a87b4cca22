package voice

import (
	"math"
	"reflect"
	"testing"
)

// Two absurd reports of a server are no small number, and no negative one.
func TestCountersStopAtTheLargestNumber(t *testing.T) {
	var most, day Counts
	for v, i := reflect.ValueOf(&most).Elem(), 0; i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(math.MaxInt)
		case reflect.Int64:
			f.SetInt(math.MaxInt64)
		case reflect.Float64:
			f.SetFloat(math.MaxFloat64)
		default:
			t.Fatalf("a counter of another kind: %s", v.Type().Field(i).Name)
		}
	}
	day.Add(most)
	day.Add(most)
	if day.Tokens() != math.MaxInt64 {
		t.Errorf("%d tokens of a day on which two reports had the largest number", day.Tokens())
	}
	for v, i := reflect.ValueOf(day), 0; i < v.NumField(); i++ {
		name, want := v.Type().Field(i).Name, reflect.ValueOf(most).Field(i)
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			if f.Float() <= 0 || math.IsInf(f.Float(), 0) || math.IsNaN(f.Float()) {
				t.Errorf("%s = %v; no file can keep that", name, f.Float())
			}
		default:
			if f.Int() != want.Int() {
				t.Errorf("%s = %d; want the largest number", name, f.Int())
			}
		}
	}
}

// What is negative or no number gives nothing back.
func TestNothingIsTakenBackFromADay(t *testing.T) {
	day := Counts{Responses: 1, TextIn: 5, AudioOut: 5, HeardSeconds: 1, Cost: 2}
	want := day
	day.Add(Counts{Responses: -1, TextIn: -5, TextCached: -1, AudioOut: math.MinInt64, HeardSeconds: math.Inf(-1), SaidSeconds: math.NaN(), Cost: -2})
	if day != want {
		t.Errorf("%+v; want %+v", day, want)
	}
}
