package main

import (
	"encoding/json"
	"errors"
)

var errNoObject = errors.New("it is no JSON object")

// eachMember calls do for every member of the object that comes next. Do takes the value from dec.
func eachMember(dec *json.Decoder, do func(key string) error) error {
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return errNoObject
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if err := do(key.(string)); err != nil { // the decoder lets nothing else be a key
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// eachElement calls do for every element of the list that comes next, and gives wrong when it is no list. Do takes the
// element from dec.
func eachElement(dec *json.Decoder, wrong error, do func() error) error {
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('[') {
		return wrong
	}
	for dec.More() {
		if err := do(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// skip passes over a value.
func skip(dec *json.Decoder) error {
	var value json.RawMessage
	return dec.Decode(&value)
}
