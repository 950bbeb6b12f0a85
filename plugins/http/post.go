package main

import (
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"github.com/toolhost/toolhost/sdk"
)

type postArgs struct {
	common
	Body        *string         `json:"body,omitempty" jsonschema:"The text to send. Give this or json, not both; without either the body is empty."`
	JSON        json.RawMessage `json:"json,omitempty" jsonschema:"The JSON value to send, of any kind."`
	ContentType string          `json:"content_type,omitempty" jsonschema:"The type of the body. Default: application/json for json, text/plain for body."`
}

func (w *web) post(ctx context.Context, _ *sdk.Request, in postArgs) (*sdk.Result, error) {
	s := w.settings.Load()
	o, err := in.order(s)
	if err != nil {
		return nil, err
	}
	v := in.view()
	v.window = postWindow
	return w.exchange(ctx, s.client, o, v, in.timeout())
}

func (in *postArgs) order(s *settings) (order, error) {
	o, err := in.common.order(http.MethodPost, s)
	if err != nil {
		return o, err
	}
	_, _, typeErr := mime.ParseMediaType(in.ContentType)
	switch {
	case o.header["Content-Type"] != nil:
		return o, invalid("the type of the body is in headers; give it as content_type")
	case in.Body != nil && in.JSON != nil:
		return o, invalid("body and json are both given; give one of them")
	case in.ContentType != "" && (typeErr != nil || !httpguts.ValidHeaderFieldValue(in.ContentType)):
		return o, invalid("content_type %.100q is no media type, such as application/x-www-form-urlencoded", in.ContentType)
	}
	contentType := in.ContentType
	switch {
	case in.JSON != nil:
		o.body = in.JSON
		contentType = cmp.Or(contentType, "application/json")
	case in.Body != nil:
		o.body = []byte(*in.Body)
		contentType = cmp.Or(contentType, "text/plain; charset=utf-8")
	default:
		o.body = []byte{}
	}
	if contentType != "" {
		o.header.Set("Content-Type", contentType)
	}
	return o, nil
}
