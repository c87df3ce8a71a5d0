/* SPDX-License-Identifier: Apache-2.0 */

/** Calls of all kinds, and what a compiler makes of them. */
final class Calls {
    private static final int WORK = 400;

    interface Shape {
        long area(int rounds);
    }

    static final class Square implements Shape {
        @Override
        public long area(int rounds) {
            return work(rounds);
        }

        static long work(int rounds) {
            return Burner.spin(rounds);
        }
    }

    static final class Circle implements Shape {
        @Override
        public long area(int rounds) {
            return Burner.spin(rounds + 1);
        }
    }

    static class Line implements Shape {
        @Override
        public long area(int rounds) {
            return Burner.spin(rounds + 2);
        }

        long length(int rounds) {
            return Burner.spin(rounds + 3);
        }
    }

    static final class Curve extends Line {
        @Override
        long length(int rounds) {
            return Burner.spin(rounds + 4);
        }
    }

    static final class Arc extends Line {
        @Override
        long length(int rounds) {
            return Burner.spin(rounds + 5);
        }
    }

    private static final Shape[] SHAPES = {new Square(), new Circle(), new Line(), new Curve()};
    private static final Line[] LINES = {new Line(), new Curve(), new Arc()};

    /** Interface calls at one place to many classes: itable stubs. And virtual ones: vtable stubs. */
    static final class Many extends Burner.Scenario {
        Many() {
            super("many",
                  "Calls$Many.turn Calls$Many.all Calls$Square.area Calls$Square.work Burner.spin",
                  "Calls$Many.turn Calls$Many.all Calls$Circle.area Burner.spin",
                  "Calls$Many.turn Calls$Many.all Calls$Line.area Burner.spin",
                  "Calls$Many.turn Calls$Many.lengths Calls$Line.length Burner.spin",
                  "Calls$Many.turn Calls$Many.lengths Calls$Curve.length Burner.spin",
                  "Calls$Many.turn Calls$Many.lengths Calls$Arc.length Burner.spin");
        }

        @Override
        void turn() {
            for (int i = 0; i < 200; i++) {
                all(i);
                lengths(i);
            }
        }

        static long all(int i) {
            long sum = 0;
            for (Shape shape : SHAPES) {
                sum += shape.area(10 + (i & 7));
            }
            return sum;
        }

        static long lengths(int i) {
            long sum = 0;
            for (Line line : LINES) {
                sum += line.length(10 + (i & 7));
            }
            return sum;
        }
    }

    /** Small methods that any compiler inlines; nearly all of the time is in the innermost. */
    static final class Inlined extends Burner.Scenario {
        Inlined() {
            super("inlined",
                  "Calls$Inlined.turn Calls$Inlined.outer Calls$Inlined.middle Calls$Inlined.hot",
                  "Calls$Inlined.turn Calls$Inlined.outer Calls$Inlined.cold");
        }

        @Override
        void turn() {
            for (int i = 0; i < 500; i++) {
                Burner.sink += outer(i);
            }
        }

        static long outer(int i) {
            return middle(i) + cold(i);
        }

        static long middle(int i) {
            return hot(i | 1) + 1;
        }

        static long hot(long x) {
            for (int i = 0; i < WORK; i++) {
                x = x * 6364136223846793005L + i;
                x ^= x >>> 31;
            }
            return x;
        }

        static long cold(long x) {
            for (int i = 0; i < WORK / 50; i++) {
                x = x * 2862933555777941757L + i;
            }
            return x;
        }
    }

    /** One long loop: it is compiled while it runs, and entered in its middle. */
    static final class Loop extends Burner.Scenario {
        Loop() {
            super("loop", "Calls$Loop.turn Calls$Loop.longLoop Calls$Loop.step");
        }

        @Override
        void turn() {
            longLoop();
        }

        static void longLoop() {
            long x = 1;
            while (!Burner.over) {
                for (int i = 0; i < 10000; i++) {
                    x = step(x, i);
                }
            }
            Burner.sink = x;
        }

        static long step(long x, int i) {
            return (x ^ x >>> 27) * 2862933555777941757L + i;
        }
    }

    /** Asks what objects are, by turns of two interfaces: what is cached is always of the other one. */
    static final class Subtypes extends Burner.Scenario {
        interface First {
        }

        interface Second {
        }

        static final class Both implements First, Second, Shape {
            @Override
            public long area(int rounds) {
                return rounds;
            }
        }

        private final Object[] objects = {new Both(), new Both(), "neither", new Both()};

        Subtypes() {
            super("subtypes", "Calls$Subtypes.turn Calls$Subtypes.between Calls$Subtypes.count");
        }

        @Override
        void turn() {
            for (int i = 0; i < 500; i++) {
                Burner.sink += between(i);
            }
        }

        long between(int i) {
            return count(objects[i & 3], i) + count(objects[i + 1 & 3], 1);
        }

        static long count(Object object, long sum) {
            for (int i = 0; i < WORK / 4; i++) {
                sum += object instanceof First ? 1 : 0;
                sum += object instanceof Second ? i : 2;
            }
            return sum;
        }
    }

    /** Two of these share a lock, so that both wait, spin and wake each other. */
    static final class Locked extends Burner.Scenario {
        private static final Object LOCK = new Object();

        Locked(String name) {
            super(name);
        }

        @Override
        String[] chains() {
            return new String[] {
                "Calls$Locked.turn Calls$Locked.hold Burner.spin",
                "Calls$Locked.turn Calls$Locked.own Burner.spin",
            };
        }

        @Override
        void turn() {
            for (int i = 0; i < 100; i++) {
                hold(300);
                own(100);
            }
        }

        static void hold(int rounds) {
            synchronized (LOCK) {
                Burner.spin(rounds);
            }
        }

        synchronized void own(int rounds) {
            Burner.spin(rounds);
        }
    }

    static void register() {
        Burner.add(new Many());
        Burner.add(new Inlined());
        Burner.add(new Loop());
        Burner.add(new Subtypes());
        Burner.add(new Locked("locked1"));
        Burner.add(new Locked("locked2"));
    }

    private Calls() {
    }
}
