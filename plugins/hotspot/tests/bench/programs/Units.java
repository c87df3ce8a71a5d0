/* SPDX-License-Identifier: Apache-2.0 */

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Units: units of work, each the same, as programs do it: strings, maps, sorting, lambdas, recursion, garbage.
 * Of each a line: when it began and ended (CLOCK_MONOTONIC, ns), and the CPU time that its thread took.
 *
 * Units MILLISECONDS: without lines, and with exceptions, until the compilers have had so many milliseconds, which is
 * two seconds at least and eight at most. Then it says "ready", and waits.
 */
public final class Units {
    private static final int TURNS = 60;

    static volatile long sink;

    static long words(int seed) {
        Map<String, Integer> counts = new HashMap<String, Integer>();
        for (int i = 0; i < 2000; i++) {
            String word = "w" + (i * 31 + seed) % 97;
            Integer old = counts.get(word);
            counts.put(word, old == null ? 1 : old + 1);
        }
        return counts.size();
    }

    static long sorted(int seed) {
        List<String> list = new ArrayList<String>();
        for (int i = 0; i < 1000; i++) {
            list.add(Integer.toHexString((i + seed) * 7919));
        }
        Collections.sort(list, (a, b) -> a.length() != b.length() ? a.length() - b.length() : a.compareTo(b));
        return list.stream().mapToInt(String::length).filter(x -> x > 2).sum();
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static void unit() {
        for (int i = 0; i < TURNS; i++) {
            sink += words(i) + sorted(i) + fibonacci(18);
        }
    }

    static int caught(int i) {
        try {
            if (i % 100 == 0) {
                throw new IllegalStateException("x" + i);
            }
            return new int[] {1, 2, 3}[i % 4];
        } catch (IllegalStateException | ArrayIndexOutOfBoundsException e) {
            return e.getMessage() == null ? 0 : e.getMessage().length();
        } finally {
            sink++;
        }
    }

    private static void load(long enough) throws Exception {
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean(); // none with -Xint
        long begin = System.currentTimeMillis(), took = 0;

        while (took < 2000 || took < 8000 && compilers != null && compilers.getTotalCompilationTime() < enough) {
            unit();
            for (int i = 0; i < 1000; i++) {
                sink += caught(i);
                sink += i % 50 == 0 ? String.format("%d %s %.3f", sink, "x", 1.5).length() : 0;
            }
            took = System.currentTimeMillis() - begin;
        }
        System.out.println("ready");
        System.out.flush();
        System.in.read();
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            load(Long.parseLong(args[0]));
            return;
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();

        while (true) {
            long begin = System.nanoTime(), cpu = threads.getCurrentThreadCpuTime();
            unit();
            long took = threads.getCurrentThreadCpuTime() - cpu;
            System.out.println(begin + " " + System.nanoTime() + " " + took);
            System.out.flush();
        }
    }
}
