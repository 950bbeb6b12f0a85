// Package toolschema rewrites the input schemas of tools into what the makers of models accept in a tool list.
//
// What a vendor cannot express is left out where that only widens what a model may send, since the host checks each
// call against the schema as the plugin gave it. Where leaving out would not do, the schema is refused with the place
// and the reason. Names keep their order, numbers their digits; the same schema always gives the same bytes. References
// stay inside the schema, and size, depth and expansion are bounded.
package toolschema
