/* SPDX-License-Identifier: Apache-2.0 */

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.TreeMap;
import java.util.concurrent.Executors;

/** Server SECONDS: an HTTP server under load, by clients in the same process. */
public final class Server {
    private static final int CLIENTS = 4;

    static final class Words implements HttpHandler {
        @Override
        public void handle(HttpExchange exchange) throws IOException {
            TreeMap<String, Integer> counts = new TreeMap<String, Integer>();
            String text = exchange.getRequestURI().toString() + " and some more words to count and sort";
            for (int i = 0; i < 200; i++) {
                for (String word : text.split("[ /?=&]")) {
                    counts.merge(word + i % 10, 1, Integer::sum);
                }
            }
            byte[] answer = counts.toString().getBytes("UTF-8");
            exchange.sendResponseHeaders(200, answer.length);
            OutputStream body = exchange.getResponseBody();
            body.write(answer);
            body.close();
        }
    }

    static void ask(int port, long end) {
        byte[] buffer = new byte[4096];
        try {
            for (int i = 0; System.currentTimeMillis() < end; i++) {
                HttpURLConnection connection = (HttpURLConnection) new URL(
                    "http", "127.0.0.1", port, "/words?a=" + i).openConnection();
                InputStream answer = connection.getInputStream();
                while (answer.read(buffer) > 0) {
                    continue;
                }
                answer.close();
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.currentTimeMillis() + (long) (Double.parseDouble(arguments[0]) * 1000);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        Thread[] clients = new Thread[CLIENTS];

        server.createContext("/words", new Words());
        server.setExecutor(Executors.newFixedThreadPool(2));
        server.start();
        for (int i = 0; i < CLIENTS; i++) {
            clients[i] = new Thread(() -> ask(server.getAddress().getPort(), end));
            clients[i].start();
        }
        for (Thread client : clients) {
            client.join();
        }
        System.exit(0);
    }
}
