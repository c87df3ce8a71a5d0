/* SPDX-License-Identifier: Apache-2.0 */

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

    public static void main(String[] args) {
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
