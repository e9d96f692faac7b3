package main

import (
	"context"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type mcpGo struct {
	client *client.Client
	// onProgress of the running call.
	onProgress func()
}

func (*mcpGo) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action:  mcp.ElicitationResponseActionAccept,
		Content: map[string]any{"color": "green"},
	}}, nil
}

func open(ctx context.Context, url string, token string) (host, error) {
	opened := &mcpGo{}
	headers := transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token})
	connection, err := transport.NewStreamableHTTP(url, headers)
	if err != nil {
		return nil, err
	}
	opened.client = client.NewClient(connection, client.WithElicitationHandler(opened))
	opened.client.OnNotification(func(notification mcp.JSONRPCNotification) {
		if notification.Method == "notifications/progress" {
			opened.onProgress()
		}
	})
	if err := opened.client.Start(ctx); err != nil {
		return nil, err
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "matrix", Version: "1.0.0"}
	_, err = opened.client.Initialize(ctx, request)
	return opened, err
}

func (m *mcpGo) tools(ctx context.Context) ([]string, error) {
	result, err := m.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (m *mcpGo) call(ctx context.Context, tool string, arguments map[string]any, onProgress func()) (string, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = tool
	request.Params.Arguments = arguments
	if onProgress != nil {
		m.onProgress = onProgress
		request.Params.Meta = &mcp.Meta{ProgressToken: "progress of " + tool}
	}
	result, err := m.client.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	text := ""
	for _, block := range result.Content {
		if words, ok := block.(mcp.TextContent); ok {
			text += words.Text
		}
	}
	return text, nil
}

func (m *mcpGo) close() error {
	return m.client.Close()
}
