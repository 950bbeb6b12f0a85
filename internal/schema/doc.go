// Package schema makes JSON Schemas from strangers safe to compile and cheap to validate with.
//
// A schema is read into a tree of our own, which is also its meta-validation: every keyword has a known shape, references
// stay inside the schema, and size, depth, patterns and expansion are bounded. The tree is written out again in one
// normal form (JSON Schema 2020-12, no annotations, all shared parts in one place) and only that form reaches the JSON Schema library.
// Arguments then take one of two ways:
//
//   - accept reads the bytes once, allocates nothing, and says yes or "don't know";
//   - for the rest, check finds and words the problems within a budget of work, and the library decides.
//
// The library is not safe for concurrent use, fetches URLs and can be made to panic. No other package imports it.
package schema
