/* SPDX-License-Identifier: Apache-2.0 */

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Churn SECONDS: classes of the very same shape and of different names, each with a loader, a thread and some
 * milliseconds of its own; between them the dead ones are unloaded, and new ones take their addresses.
 *
 *	RAN TID CLASS	the one class that this thread ran; no other thread had the number
 */
public final class Churn {
    static final int TURNS = 12;

    /** Its name is replaced by one as long. */
    public static final class Work00000 implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < TURNS; i++) {
                Burner.sink += turn(i);
            }
        }

        static long turn(int i) {
            long x = i | 1;
            for (int k = 0; k < 20000; k++) {
                x = x * 31 + k;
            }
            return x;
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Churn.class.getClassLoader());
        }

        Runnable make(String name, byte[] bytes) throws Exception {
            return (Runnable) defineClass(name, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
        }
    }

    private static byte[] template() throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (InputStream from = Churn.class.getResourceAsStream("Churn$Work00000.class")) {
            byte[] buffer = new byte[4096];
            for (int n = from.read(buffer); n > 0; n = from.read(buffer)) {
                all.write(buffer, 0, n);
            }
        }
        return all.toByteArray();
    }

    /** Latin-1 keeps each byte. */
    private static byte[] renamed(byte[] template, String number) {
        String text = new String(template, StandardCharsets.ISO_8859_1);
        return text.replace("Work00000", "Work" + number).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static void run(byte[] template, int n) throws Exception {
        final String number = String.format("%05d", n);
        final Runnable work = new Loader().make("Churn$Work" + number, renamed(template, number));
        Thread thread = new Thread() {
            @Override
            public void run() {
                try {
                    String tid = Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
                    Burner.say("RAN " + tid + " Churn$Work" + number);
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
                work.run();
            }
        };
        thread.start();
        thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        byte[] template = template();
        for (int n = 1; n < 100000 && System.nanoTime() < end; n++) {
            run(template, n);
            if (n % 4 == 0) {
                System.gc();
            }
        }
    }
}
