package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type goSDK struct {
	session *mcp.ClientSession
	// onProgress of the running call.
	onProgress func()
}

func open(ctx context.Context, url string, token string) (host, error) {
	opened := &goSDK{}
	client := mcp.NewClient(&mcp.Implementation{Name: "matrix", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"color": "green"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			opened.onProgress()
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}}
	session, err := client.Connect(ctx, transport, nil)
	opened.session = session
	return opened, err
}

func (g *goSDK) tools(ctx context.Context) ([]string, error) {
	var names []string
	for tool, err := range g.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (g *goSDK) call(ctx context.Context, tool string, arguments map[string]any, onProgress func()) (string, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	if onProgress != nil {
		g.onProgress = onProgress
		params.SetProgressToken("progress of " + tool)
	}
	result, err := g.session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	text := ""
	for _, block := range result.Content {
		if words, ok := block.(*mcp.TextContent); ok {
			text += words.Text
		}
	}
	return text, nil
}

func (g *goSDK) close() error {
	return g.session.Close()
}
