/* SPDX-License-Identifier: Apache-2.0 */

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;

/**
 * Redefine SECONDS: a class whose methods are redefined while they run, by turns by two versions of it. Version 1 calls
 * one() from its own lines, version 2, "Redefine$Work.2" beside it, calls two() from lines that are 1000 higher.
 *
 *	REDEFINED N	so often
 */
public final class Redefine {
    private static Instrumentation instrumentation;

    /** Of the agent, which is this class, too. */
    public static void premain(String arguments, Instrumentation given) {
        instrumentation = given;
    }

    /** What is redefined. */
    static final class Work {
        static long turn(long x) {
            long sum = 0;
            for (int i = 0; i < 40; i++) {
                sum += Redefine.one(x + i);
            }
            return sum;
        }
    }

    static long one(long x) {
        return burn(x, 31);
    }

    static long two(long x) {
        return burn(x, 37);
    }

    static long burn(long x, int factor) {
        for (int k = 0; k < 5000; k++) {
            x = x * factor + k;
        }
        return x;
    }

    private static byte[] read(String name) throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (InputStream from = Redefine.class.getResourceAsStream(name)) {
            byte[] buffer = new byte[4096];
            for (int n = from.read(buffer); n > 0; n = from.read(buffer)) {
                all.write(buffer, 0, n);
            }
        }
        return all.toByteArray();
    }

    public static void main(String[] arguments) throws Exception {
        final long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        Thread worker = new Thread() {
            @Override
            public void run() {
                while (System.nanoTime() < end) {
                    Burner.sink += Work.turn(Burner.sink);
                }
            }
        };
        byte[][] versions = {read("Redefine$Work.2"), read("Redefine$Work.class")};
        int n = 0;
        worker.start();
        for (; System.nanoTime() < end; n++) {
            instrumentation.redefineClasses(new ClassDefinition(Work.class, versions[n % 2]));
            Thread.sleep(n % 10 > 7 ? 100 : 10);
        }
        worker.join();
        Burner.say("REDEFINED " + n);
    }
}
