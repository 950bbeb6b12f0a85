package modelapi

import "github.com/go-json-experiment/json/jsontext"

// A geminiChunk is a chunk of Gemini's streamGenerateContent, as far as it tells of calls:
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
type geminiChunk struct {
	Candidates []struct {
		Index   int64 `json:"index"`
		Content struct {
			Parts []struct {
				Call *geminiCall `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
	} `json:"candidates"`
	Error *vendorError `json:"error"`
}

type geminiCall struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Args         jsontext.Value   `json:"args"`
	PartialArgs  []jsontext.Value `json:"partialArgs"`
	WillContinue bool             `json:"willContinue"`
}

// readGemini takes the first candidate. Calls come whole, one a part; as Gemini wants one answer a part, a part that looks
// like an earlier one is a call of its own, unless both have the same id.
func (a *Assembler) readGemini(chunk []byte) error {
	var c geminiChunk
	if err := decode(chunk, &c); err != nil {
		return err
	}
	for _, candidate := range c.Candidates {
		for _, part := range candidate.Content.Parts {
			if part.Call != nil && candidate.Index == 0 {
				a.addGemini(part.Call)
			}
		}
	}
	a.vendorFailed(c.Error)
	return nil
}

func (a *Assembler) addGemini(c *geminiCall) {
	if c.Name == "" && len(c.Args) == 0 {
		return // the parts and the end of one that is streamed, which has been refused
	}
	text, _ := argumentText(c.Args)
	said := a.last(func(d *draft) bool {
		return c.ID != "" && d.id == c.ID && d.name.in(a.known) == c.Name && string(d.pieces.sum.text) == text
	})
	if said != nil {
		return
	}
	d := a.begin()
	d.addRaw(c.ID, c.Name, c.Args)
	if c.WillContinue || len(c.PartialArgs) > 0 {
		d.fail("StreamedArguments", "has its arguments streamed in parts, which is not read: ask for them without streamFunctionCallArguments")
	}
	d.finish(a.known)
}
