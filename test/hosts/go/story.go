// Takes every step with every upstream of MATRIX, and prints the results (see host-program.ts).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// host is a client of one library that is connected to one address. Its person answers every form with green.
type host interface {
	tools(ctx context.Context) ([]string, error)
	// call returns the text of the result.
	call(ctx context.Context, tool string, arguments map[string]any, onProgress func()) (string, error)
	close() error
}

type storyCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Text      string         `json:"text"`
}

type story struct {
	Upstream string     `json:"upstream"`
	URL      string     `json:"url"`
	Control  string     `json:"control"`
	Call     storyCall  `json:"call"`
	Progress *storyCall `json:"progress"`
	Cancel   storyCall  `json:"cancel"`
	Input    *storyCall `json:"input"`
}

const limit = 20 * time.Second

func main() {
	var matrix []story
	if err := json.Unmarshal([]byte(os.Getenv("MATRIX")), &matrix); err != nil {
		panic(err)
	}
	for _, one := range matrix {
		one.run(os.Getenv("TOKEN"))
	}
}

func (s story) run(token string) {
	ctx := context.Background()
	opened, err := open(ctx, s.URL, token)
	if err != nil {
		s.print("list", err)
		return
	}
	defer opened.close()
	s.print("list", s.list(ctx, opened))
	s.print("call", expectText(ctx, opened, s.Call, nil))
	if s.Progress != nil {
		s.print("progress", s.progress(ctx, opened))
	}
	s.print("cancel", s.cancel(ctx, opened))
	if s.Input != nil {
		s.print("input", expectText(ctx, opened, *s.Input, nil))
	}
}

func (s story) print(step string, err error) {
	result := "yes"
	if err != nil {
		result = err.Error()
	}
	line, _ := json.Marshal(map[string]string{"upstream": s.Upstream, "step": step, "result": result})
	fmt.Println(string(line))
}

func (s story) list(ctx context.Context, opened host) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	names, err := opened.tools(ctx)
	if err == nil && (!slices.Contains(names, s.Call.Tool) || !slices.Contains(names, s.Cancel.Tool)) {
		return fmt.Errorf("lists %v", names)
	}
	return err
}

func expectText(ctx context.Context, opened host, call storyCall, onProgress func()) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	text, err := opened.call(ctx, call.Tool, call.Arguments, onProgress)
	if err == nil && !strings.Contains(text, call.Text) {
		return fmt.Errorf("returns %q", text)
	}
	return err
}

// progress waits for the notifications, because libraries handle them beside the result.
func (s story) progress(ctx context.Context, opened host) error {
	var count atomic.Int32
	if err := expectText(ctx, opened, *s.Progress, func() { count.Add(1) }); err != nil {
		return err
	}
	for end := time.Now().Add(limit); count.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("received no progress notification")
		}
	}
	return nil
}

func (s story) cancel(ctx context.Context, opened host) error {
	canceling, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		text, err := opened.call(canceling, s.Cancel.Tool, s.Cancel.Arguments, func() {})
		if err == nil {
			err = fmt.Errorf("ended with %q", text)
		}
		ended <- err
	}()
	if err := s.witnessed("started"); err != nil {
		return err
	}
	cancel()
	if err := <-ended; strings.HasPrefix(err.Error(), "ended with") {
		return err
	}
	return s.witnessed("canceled")
}

// witnessed waits until the upstream has seen an event.
func (s story) witnessed(event string) error {
	client := http.Client{Timeout: limit}
	answer, err := client.Get(s.Control + "/" + event)
	if err != nil {
		return fmt.Errorf("the upstream has not seen the call %s", event)
	}
	return answer.Body.Close()
}

// withToken adds the token to every request.
type withToken string

func (token withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}
