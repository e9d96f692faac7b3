// Takes every step with every upstream of MATRIX, and prints the results (see host-program.ts). The library cannot cancel.
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import tools.jackson.databind.ObjectMapper;

public class Story {
  static final Duration LIMIT = Duration.ofSeconds(20);
  static final ObjectMapper JSON = new ObjectMapper();

  interface Step {
    void take() throws Exception;
  }

  final Map<String, Object> story;
  final McpSyncClient client;
  /** Released by a notification of the running call. */
  CountDownLatch progress = new CountDownLatch(0);

  /** The person answers every form with green. */
  Story(Map<String, Object> story) {
    this.story = story;
    var url = URI.create((String) story.get("url"));
    var transport = HttpClientStreamableHttpTransport.builder(url.getScheme() + "://" + url.getAuthority())
        .endpoint(url.getPath())
        .requestBuilder(HttpRequest.newBuilder().header("Authorization", "Bearer " + System.getenv("TOKEN")))
        .build();
    client = McpClient.sync(transport)
        .requestTimeout(LIMIT)
        .capabilities(ClientCapabilities.builder().elicitation(true, false).build())
        .elicitation(request -> ElicitResult.builder(ElicitResult.Action.ACCEPT).content(Map.of("color", "green")).build())
        .progressConsumer(notification -> progress.countDown())
        .build();
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    for (var one : JSON.readValue(System.getenv("MATRIX"), List.class)) new Story((Map<String, Object>) one).run();
    System.exit(0);
  }

  void run() throws Exception {
    print("list", () -> {
      client.initialize();
      var names = client.listTools().tools().stream().map(tool -> tool.name()).toList();
      check(names.contains(tool("call")) && names.contains(tool("cancel")), names.toString());
    });
    print("call", () -> call("call", null));
    if (story.containsKey("progress")) {
      print("progress", () -> {
        progress = new CountDownLatch(1);
        call("progress", "progress");
        check(progress.await(LIMIT.toSeconds(), TimeUnit.SECONDS), "no progress notification");
      });
    }
    if (story.containsKey("input")) print("input", () -> call("input", null));
    client.closeGracefully();
  }

  void print(String step, Step what) throws Exception {
    var result = "yes";
    try {
      what.take();
    } catch (Exception error) {
      result = error.toString();
    }
    System.out.println(JSON.writeValueAsString(Map.of("upstream", story.get("upstream"), "step", step, "result", result)));
  }

  void call(String step, Object progressToken) {
    var request = CallToolRequest.builder(tool(step)).arguments(object(object(story, step), "arguments"));
    if (progressToken != null) request.progressToken(progressToken);
    var text = client.callTool(request.build()).content().stream()
        .map(block -> block instanceof TextContent words ? words.text() : "")
        .collect(Collectors.joining());
    check(text.contains((String) object(story, step).get("text")), text);
  }

  String tool(String step) {
    return (String) object(story, step).get("tool");
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(Map<String, Object> parent, String key) {
    return (Map<String, Object>) parent.get(key);
  }

  static void check(boolean isRight, String otherwise) {
    if (!isRight) throw new IllegalStateException(otherwise);
  }
}
