/* SPDX-License-Identifier: Apache-2.0 */

import java.io.ByteArrayOutputStream;
import java.io.InputStream;

/** What collectors have to do with: garbage, and classes that go. */
final class Memory {
    static final class Allocating extends Burner.Scenario {
        private static final int KEPT = 20000;

        private static final class Node {
            Node next;
            final long[] value;

            Node(Node next, int words) {
                this.next = next;
                this.value = new long[words];
            }
        }

        private Node kept;

        Allocating() {
            super("allocating",
                  "Memory$Allocating.turn Memory$Allocating.grown Memory$Allocating.node"
                      + " Memory$Allocating$Node.<init>");
        }

        @Override
        void turn() {
            kept = grown(KEPT);
        }

        static Node grown(int nodes) {
            Node head = null;
            for (int i = 0; i < nodes; i++) {
                head = node(i % 16 == 0 ? head : null, i & 31);
            }
            return head;
        }

        static Node node(Node next, int words) {
            return new Node(next, words);
        }
    }

    /** Defined anew by each Loader: its code goes with its class. */
    public static final class Churned implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 300; i++) {
                Burner.sink += churn(i);
            }
        }

        static long churn(int i) {
            return Burner.spin(300 + (i & 7));
        }
    }

    private static final class Loader extends ClassLoader {
        private final byte[] bytes;

        Loader(byte[] bytes) {
            super(Memory.class.getClassLoader());
            this.bytes = bytes;
        }

        Class<?> define() {
            return defineClass("Memory$Churned", bytes, 0, bytes.length);
        }
    }

    static final class Unloading extends Burner.Scenario {
        private byte[] bytes;
        private int turns;

        Unloading() {
            super("unloading",
                  "Memory$Unloading.turn Memory$Churned.run Memory$Churned.churn Burner.spin",
                  "Memory$Unloading.turn Memory$Loader.define");
        }

        @Override
        void prepare() throws Exception {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            InputStream from = Memory.class.getResourceAsStream("Memory$Churned.class");
            byte[] buffer = new byte[4096];
            for (int n = from.read(buffer); n > 0; n = from.read(buffer)) {
                all.write(buffer, 0, n);
            }
            from.close();
            bytes = all.toByteArray();
        }

        @Override
        void turn() throws Exception {
            ((Runnable) new Loader(bytes).define().newInstance()).run();
            if (++turns % 100 == 0) {
                System.gc();
            }
        }
    }

    static void register() {
        Burner.add(new Allocating());
        Burner.add(new Unloading());
    }

    private Memory() {
    }
}
