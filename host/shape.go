package host

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// shape cuts what comes back to what a model should see: error messages, and results, whose whole is kept in a file.
func (h *snapshot) shape(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if result != nil {
			out := *result // the plugin may hold on to its own
			out.Error = h.shapeError(out.Error)
			h.cutterFor(c).result(&out)
			result = &out
		}
		if e := h.shapeError(asError(err)); e != nil {
			return result, e
		}
		return result, nil
	}
}

func (h *snapshot) shapeError(e *sdk.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	out := *e
	out.Code = cmp.Or(out.Code, sdk.CodeTool)
	out.Name = cutText(out.Name, 100)
	out.Message = cutText(out.Message, h.options.ErrorMessageLimit)
	out.Suggestion = cutText(out.Suggestion, h.options.ErrorMessageLimit)
	out.HelpURL = helpURL(out.HelpURL)
	return &out
}

// maxURL is the longest link of an error, in bytes.
const maxURL = 2 << 10

// helpURL drops what is no link that a person could follow: it is a plugin's word, and shown beside ours.
func helpURL(link string) string {
	u, err := url.Parse(link)
	if err != nil || len(link) > maxURL || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsFunc(link, textutil.Invisible) {
		return ""
	}
	return link
}

// cutterFor has the limit that the user set, else the tool's own word, else the host's; in a batch the call's share, if
// that is less.
func (h *snapshot) cutterFor(c *Call) cutter {
	limit := h.options.MaxResultBytes
	if t := c.recorded().Definition; t != nil { // else a middleware has answered a call of no tool
		limit = firstPositive(h.options.Tools[t.Name].MaxResultBytes, t.MaxResultBytes, limit)
	}
	return cutter{limit: int(min(limit, c.share(), sdk.MaxResult)), id: c.ID, keeper: h.results}
}
