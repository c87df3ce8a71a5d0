/* SPDX-License-Identifier: Apache-2.0 */

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/** Mix SECONDS: recursion, hash maps and streams, sorting of objects, formatting, big numbers. */
public final class Mix {
    private abstract static class Shape {
        abstract double area();
    }

    private static final class Square extends Shape {
        private final double side;

        Square(double side) {
            this.side = side;
        }

        @Override
        double area() {
            return side * side;
        }
    }

    private static final class Circle extends Shape {
        private final double radius;

        Circle(double radius) {
            this.radius = radius;
        }

        @Override
        double area() {
            return Math.PI * radius * radius;
        }
    }

    static long fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static int words(int seed) {
        Map<String, Integer> counts = new HashMap<>();

        for (int i = 0; i < 500; i++)
            counts.merge("w" + (i * 31 + seed) % 97, 1, Integer::sum);
        return counts.entrySet().stream().sorted((a, b) -> b.getValue() - a.getValue()).map(Object::toString)
                .collect(Collectors.joining(",")).length();
    }

    static double shapes(Random random) {
        List<Shape> all = new ArrayList<>();
        double sum = 0;

        for (int i = 0; i < 2000; i++)
            all.add(i % 2 == 0 ? new Square(random.nextDouble()) : new Circle(random.nextDouble()));
        all.sort(Comparator.comparingDouble(Shape::area));
        for (Shape shape : all)
            sum += shape.area();
        return sum;
    }

    static int power(Random random) {
        BigInteger modulus = new BigInteger(255, random).setBit(0);

        return new BigInteger(256, random).modPow(BigInteger.TEN, modulus).bitLength();
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        Random random = new Random(1);
        double sink = 0;

        while (System.nanoTime() < end) {
            sink += fibonacci(22) + words((int) sink & 1023) + shapes(random) + power(random);
            sink += String.format("%08x", (int) sink).length();
        }
        System.out.println(sink);
    }
}
