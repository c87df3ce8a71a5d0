/* SPDX-License-Identifier: Apache-2.0 */

import java.lang.reflect.Method;

/**
 * Virtual threads, JDK 21 on. They wait at their bottom, so that afterwards most of their frames are in
 * the heap, and come back a few at a time as they return.
 */
final class Virtual extends Burner.Scenario {
    private static final int DEPTH = 40;
    private static final int THREADS = 4;

    private Method start;

    Virtual() {
        super("virtual");
    }

    @Override
    boolean hasThread() {
        return false;
    }

    @Override
    String[] chains() {
        return new String[] {
            "Virtual$Body.run Virtual$Body.down{" + DEPTH + "} Virtual$Body.bottom Burner.spin",
            "Virtual$Body.run Virtual$Body.down{+} Virtual$Body.back Burner.spin",
            "Burner$Scenario.run Virtual.turn",
        };
    }

    @Override
    String root() {
        return "";
    }

    @Override
    void prepare() throws Exception {
        start = Thread.class.getMethod("startVirtualThread", Runnable.class);
    }

    @Override
    void turn() throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = (Thread) start.invoke(null, new Body());
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static final class Body implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 20; i++) {
                Burner.sink += down(DEPTH);
            }
        }

        static long down(int left) {
            if (left == 1) {
                return bottom();
            }
            return down(left - 1) + back();
        }

        static long bottom() {
            Burner.spin(20000);
            try {
                Thread.sleep(1);
            } catch (InterruptedException never) {
                return 0;
            }
            return Burner.spin(20000);
        }

        static long back() {
            return Burner.spin(3000);
        }
    }

    static void register() {
        Burner.add(new Virtual());
    }
}
