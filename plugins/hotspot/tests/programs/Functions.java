/* SPDX-License-Identifier: Apache-2.0 */

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;

/** Functions that the JDK calls: lambdas, comparators, reflection, method handles. */
final class Functions {
    static final class Lambdas extends Burner.Scenario {
        Lambdas() {
            super("lambdas",
                  "Functions$Lambdas.turn Functions$Lambdas.apply Functions$Lambdas.lambda$* Burner.spin",
                  "Functions$Lambdas.turn Functions$Lambdas.lambda$* Functions$Lambdas.mapped Burner.spin",
                  "Functions$Lambdas.turn Functions$Lambdas.odd");
        }

        @Override
        void turn() {
            final long more = Burner.sink & 15;
            apply(x -> Burner.spin((int) (x + more)));
            apply(x -> Burner.spin((int) (x * 2)));
            Burner.sink += LongStream.range(1, 100).filter(Lambdas::odd).map(x -> mapped(x + 30)).sum();
        }

        static long apply(LongUnaryOperator operator) {
            long sum = 0;
            for (int i = 0; i < 50; i++) {
                sum += operator.applyAsLong(i + 20);
            }
            return sum;
        }

        static boolean odd(long x) {
            return (x & 1) == 1;
        }

        static long mapped(long x) {
            return Burner.spin((int) x);
        }
    }

    static final class Sorted extends Burner.Scenario {
        private final Integer[] numbers = new Integer[2000];

        Sorted() {
            super("sorted",
                  "Functions$Sorted.turn Functions$Sorted$Order.compare Functions$Sorted.weigh",
                  "Functions$Sorted.turn Functions$Sorted.filled Functions$Sorted$Order.compare Functions$Sorted.weigh");
        }

        static final class Order implements Comparator<Integer> {
            @Override
            public int compare(Integer a, Integer b) {
                return Integer.compare(weigh(a), weigh(b));
            }
        }

        static int weigh(int x) {
            for (int i = 0; i < 20; i++) {
                x = x * 1103515245 + 12345;
            }
            return x;
        }

        @Override
        void turn() {
            Random random = new Random(Burner.sink);
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = random.nextInt();
            }
            Arrays.sort(numbers, new Order());
            Burner.sink += filled().size();
        }

        private TreeMap<Integer, Integer> filled() {
            TreeMap<Integer, Integer> map = new TreeMap<Integer, Integer>(new Order());
            for (int i = 0; i < 300; i++) {
                map.put(numbers[i], i);
            }
            return map;
        }
    }

    interface Target {
        long called(int rounds);
    }

    static final class Reflected extends Burner.Scenario implements InvocationHandler {
        private Method method;
        private Target proxy;

        Reflected() {
            super("reflected",
                  "Functions$Reflected.turn Functions$Reflected.byMethod Functions$Reflected.called Burner.spin",
                  "Functions$Reflected.turn Functions$Reflected.byProxy Functions$Reflected.invoke"
                      + " Functions$Reflected.called Burner.spin");
        }

        @Override
        void prepare() throws Exception {
            method = Reflected.class.getDeclaredMethod("called", int.class);
            proxy = (Target) Proxy.newProxyInstance(Reflected.class.getClassLoader(),
                                                    new Class<?>[] {Target.class}, this);
        }

        static long called(int rounds) {
            return Burner.spin(rounds);
        }

        @Override
        public Object invoke(Object self, Method which, Object[] arguments) {
            return called((Integer) arguments[0] + 3);
        }

        @Override
        void turn() throws Exception {
            byMethod();
            byProxy();
        }

        private void byMethod() throws Exception {
            for (int i = 0; i < 50; i++) {
                Burner.sink += (Long) method.invoke(null, 300);
            }
        }

        private void byProxy() {
            for (int i = 0; i < 50; i++) {
                Burner.sink += proxy.called(300);
            }
        }
    }

    static final class Handles extends Burner.Scenario {
        private static MethodHandle direct;
        private static MethodHandle composed;
        private MethodHandle varying;

        Handles() {
            super("handles",
                  "Functions$Handles.turn Functions$Handles.called Burner.spin",
                  "Functions$Handles.turn Functions$Handles.added",
                  "Functions$Handles.turn Functions$Handles.vary Functions$Handles.called Burner.spin");
        }

        @Override
        void prepare() throws Exception {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodType type = MethodType.methodType(long.class, int.class);
            direct = lookup.findStatic(Handles.class, "called", type);
            MethodHandle added = lookup.findStatic(Handles.class, "added",
                                                   MethodType.methodType(int.class, int.class));
            composed = MethodHandles.filterArguments(direct, 0, added);
        }

        static int added(int x) {
            return x + 7;
        }

        static long called(int rounds) {
            return Burner.spin(rounds);
        }

        @Override
        void turn() throws Throwable {
            for (int i = 0; i < 50; i++) {
                Burner.sink += (long) direct.invokeExact(300);
                Burner.sink += (long) composed.invokeExact(300);
            }
            varying = (Burner.sink & 1) == 0 ? direct : composed;
            vary();
        }

        private void vary() throws Throwable {
            for (int i = 0; i < 50; i++) {
                Burner.sink += (long) varying.invoke(200);
            }
        }
    }

    static void register() {
        Burner.add(new Lambdas());
        Burner.add(new Sorted());
        Burner.add(new Reflected());
        Burner.add(new Handles());
    }

    private Functions() {
    }
}
