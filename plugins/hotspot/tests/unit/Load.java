// SPDX-License-Identifier: Apache-2.0
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * Work of many kinds for two seconds, and on a busy machine, where the compilers have not had so many milliseconds by then,
 * up to eight: both have compiled some hundred methods. Then waits.
 */
public class Load {
    static int sum;

    static Map<String, Integer> words(int n) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < n; i++)
            map.merge("w" + i % 97, 1, Integer::sum);
        return map;
    }

    static int sorted(int n) {
        List<String> list = new ArrayList<>();
        for (int i = 0; i < n; i++)
            list.add(Integer.toHexString(i * 7919));
        Collections.sort(list, (a, b) -> a.length() != b.length() ? a.length() - b.length() : a.compareTo(b));
        return list.stream().mapToInt(String::length).filter(x -> x > 2).sum();
    }

    static int caught(int i) {
        try {
            if (i % 100 == 0)
                throw new IllegalStateException("x" + i);
            return new int[] {1, 2, 3}[i % 4];
        } catch (IllegalStateException | ArrayIndexOutOfBoundsException e) {
            return e.getMessage() == null ? 0 : e.getMessage().length();
        } finally {
            sum++;
        }
    }

    public static void main(String[] args) throws Exception {
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        long enough = Long.parseLong(args[0]), begin = System.currentTimeMillis(), soon = begin + 2000, end = begin + 8000, now = begin;
        IntUnaryOperator twice = x -> x * 2;
        for (; now < soon || now < end && compilers.getTotalCompilationTime() < enough; now = System.currentTimeMillis()) {
            sum += words(500).size() + sorted(500) + twice.applyAsInt(3);
            for (int i = 0; i < 1000; i++)
                sum += caught(i);
            sum += String.format("%d %s %.3f", sum, "x", 1.5).length();
            sum += new String(new byte[100], "UTF-8").hashCode();
        }
        System.out.println("ready");
        System.out.flush();
        System.in.read();
    }
}
