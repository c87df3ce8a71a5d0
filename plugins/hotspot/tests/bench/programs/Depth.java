/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Depth one|many DEPTH [SECONDS]: prints "ready", then spends its time below so many calls of its own, of
 * one method that calls itself or of sixteen in turn. All of them were called often enough before to have
 * been compiled.
 */
public final class Depth {
    private static final int WARM_CALLS = 30000;
    private static final int WARM_DEPTH = 20;
    private static final int LONG = 20000000;

    static volatile int sink;

    static int spin(int times) {
        int x = times;
        for (int i = 0; i < times; i++) {
            x = x * 1103515245 + 12345;
        }
        return x;
    }

    static int one(int left, int times) {
        return left > 1 ? one(left - 1, times) + 1 : spin(times);
    }

    static int many0(int left, int times) { return left > 1 ? many1(left - 1, times) + 1 : spin(times); }
    static int many1(int left, int times) { return left > 1 ? many2(left - 1, times) + 2 : spin(times); }
    static int many2(int left, int times) { return left > 1 ? many3(left - 1, times) + 3 : spin(times); }
    static int many3(int left, int times) { return left > 1 ? many4(left - 1, times) + 4 : spin(times); }
    static int many4(int left, int times) { return left > 1 ? many5(left - 1, times) + 5 : spin(times); }
    static int many5(int left, int times) { return left > 1 ? many6(left - 1, times) + 6 : spin(times); }
    static int many6(int left, int times) { return left > 1 ? many7(left - 1, times) + 7 : spin(times); }
    static int many7(int left, int times) { return left > 1 ? many8(left - 1, times) + 8 : spin(times); }
    static int many8(int left, int times) { return left > 1 ? many9(left - 1, times) + 9 : spin(times); }
    static int many9(int left, int times) { return left > 1 ? many10(left - 1, times) + 10 : spin(times); }
    static int many10(int left, int times) { return left > 1 ? many11(left - 1, times) + 11 : spin(times); }
    static int many11(int left, int times) { return left > 1 ? many12(left - 1, times) + 12 : spin(times); }
    static int many12(int left, int times) { return left > 1 ? many13(left - 1, times) + 13 : spin(times); }
    static int many13(int left, int times) { return left > 1 ? many14(left - 1, times) + 14 : spin(times); }
    static int many14(int left, int times) { return left > 1 ? many15(left - 1, times) + 15 : spin(times); }
    static int many15(int left, int times) { return left > 1 ? many0(left - 1, times) + 16 : spin(times); }

    static int down(String kind, int depth, int times) {
        return kind.equals("one") ? one(depth, times) : many0(depth, times);
    }

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[1]);

        for (int i = 0; i < WARM_CALLS; i++) {
            sink += down(args[0], WARM_DEPTH, 10);
        }
        System.out.println("ready");
        System.out.flush();
        long end = System.nanoTime() + Long.parseLong(args.length > 2 ? args[2] : "1000000") * 1000000000L;
        while (System.nanoTime() < end) {
            sink += down(args[0], depth, LONG);
        }
    }
}
