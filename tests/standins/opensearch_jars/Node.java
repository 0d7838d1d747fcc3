import java.io.InputStream;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One OpenSearch node on loopback, in a folder and at a port, until its standard input ends. */
public class Node {
  public static void main(String[] arguments) throws Exception {
    OpenSearchRunner runner = new OpenSearchRunner();
    runner.onBuild(
        (number, settings) -> {
          settings.put("http.port", arguments[1]);
          settings.put("transport.port", arguments[2]);
          settings.put("network.host", "127.0.0.1");
          settings.put("discovery.type", "single-node");
        });
    runner.build(OpenSearchRunner.newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("tests").useLogger());
    InputStream in = System.in;
    while (in.read() >= 0) {}
    System.exit(0);
  }
}
