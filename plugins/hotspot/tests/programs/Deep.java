/* SPDX-License-Identifier: Apache-2.0 */

/** Recursion, and exceptions that are thrown deep down. */
final class Deep extends Burner.Scenario {
    private final int depth;

    Deep(int depth) {
        super("deep" + depth);
        this.depth = depth;
    }

    @Override
    String[] chains() {
        return new String[] {"Deep.turn Deep.down{" + depth + "} Deep.bottom Burner.spin"};
    }

    @Override
    void turn() {
        Burner.sink += down(depth);
    }

    static long down(int left) {
        if (left > 1) {
            return down(left - 1) + left;
        }
        return bottom();
    }

    static long bottom() {
        long x = 0;
        for (int i = 0; i < 20; i++) {
            x += Burner.spin(20000);
        }
        return x;
    }

    /** Thrown at the bottom, caught on the way: made with a stack trace each time. */
    static final class Thrown extends Burner.Scenario {
        private static final int DEPTH = 60;

        Thrown() {
            super("thrown", "Deep$Thrown.turn Deep$Thrown.fall{" + DEPTH + "} Deep$Thrown.fail Burner.spin");
        }

        @Override
        void turn() {
            for (int i = 0; i < 20; i++) {
                try {
                    fall(DEPTH);
                } catch (IllegalStateException caught) {
                    Burner.sink += caught.getStackTrace().length;
                }
            }
        }

        static long fall(int left) {
            if (left == 1) {
                return fail();
            }
            try {
                return fall(left - 1) + 1;
            } catch (ArrayIndexOutOfBoundsException other) {
                return left;
            } catch (IllegalStateException passed) {
                if (left % 20 == 0) {
                    throw new IllegalStateException("again", passed);
                }
                throw passed;
            }
        }

        static long fail() {
            Burner.spin(5000);
            if ((Burner.sink & 1) == 0) {
                int[] none = new int[1];
                return none[(int) (Burner.sink & 6) + 1];
            }
            throw new IllegalStateException("at the bottom");
        }
    }

    static void register() {
        Burner.add(new Deep(500));
        Burner.add(new Deep(1000));
        Burner.add(new Thrown());
    }
}
