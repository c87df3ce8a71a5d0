// SPDX-License-Identifier: Apache-2.0
/*
 * What is single-stepped: small calls of every shape, for ever, on one thread. No stretch without a
 * call or a return is long, so that the stepper soon knows each caller. It is compiled for release 8.
 *
 *	java Steps SECONDS	warms up as long, then "READY TID", then goes on until it is ended
 */
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.function.IntUnaryOperator;

public class Steps {
	interface Shape {
		int area(int n);
	}

	static class Square implements Shape {
		int side = 3;

		public int area(int n) {
			return side * n;
		}
	}

	static class Circle implements Shape {
		double radius = 1.5;

		public int area(int n) {
			return (int)(radius * radius * n);
		}
	}

	static class Line implements Shape {
		public synchronized int area(int n) {
			return n ^ 1;
		}
	}

	static class Sum implements Shape {
		Shape one, other;

		Sum(Shape one, Shape other) {
			this.one = one;
			this.other = other;
		}

		public int area(int n) {
			return one.area(n) + other.area(n + 1);
		}
	}

	static abstract class Base {
		Object kept;

		abstract int get(int n);

		int twice(int n) {
			return get(n) + get(n + 1);
		}
	}

	static class Left extends Base {
		int get(int n) {
			kept = this;
			return n + 1;
		}
	}

	static class Right extends Base {
		int get(int n) {
			kept = new int[n & 7];
			return n - 1;
		}
	}

	static class Third extends Base {
		int get(int n) {
			kept = null;
			return n * 3;
		}
	}

	static final Shape[] SHAPES = {new Square(), new Circle(), new Line(),
				       new Sum(new Square(), new Line())};
	static final Base[] BASES = {new Left(), new Right(), new Third()};
	static final int[] FROM = new int[300], TO = new int[300];
	static final byte[] BYTES = new byte[100];
	static final HashMap<Integer, String> MAP = new HashMap<>();
	static final java.util.zip.CRC32 CRC = new java.util.zip.CRC32();
	static int sink;
	static Object heap;
	static double real;

	static int shapes(int n) {
		int sum = 0;
		for (Shape shape : SHAPES)
			sum += shape.area(n);
		return sum;
	}

	static int bases(int n) {
		int sum = 0;
		for (Base base : BASES)
			sum += base.twice(n);
		return sum;
	}

	static int lambda(IntUnaryOperator f, int n) {
		return f.applyAsInt(n) + 1;
	}

	static int lambdas(int n) {
		int m = n & 3;
		return lambda(x -> x + m, n) + lambda(x -> x * 2, n) + lambda(Steps::halve, n);
	}

	static int halve(int n) {
		return n / 2;
	}

	static int fail(int n) {
		if (n % 3 == 0)
			throw new IllegalStateException();
		return n;
	}

	static int failDeep(int n) {
		return fail(n) + 1;
	}

	static int exceptions(int n) {
		try {
			return failDeep(n);
		} catch (IllegalStateException e) {
			heap = e;
			return 1;
		}
	}

	static int nulls(int n) {
		Base base = n % 1000 == 0 ? null : BASES[n % 3];
		try {
			return base.get(n);
		} catch (NullPointerException e) {
			return 2;
		}
	}

	static synchronized int locked(int n) {
		synchronized (MAP) {
			return n + MAP.size();
		}
	}

	static int arrays(int n) {
		System.arraycopy(FROM, n & 31, TO, n & 15, n & 63);
		System.arraycopy(BYTES, n & 7, BYTES, 20, n & 31);
		Arrays.fill(TO, 0, n & 15, n);
		long[] copy = new long[(n & 15) + 1];
		heap = copy.clone();
		return TO[n & 31] + Arrays.hashCode(copy);
	}

	static int natives(int n) {
		Object object = n % 2 == 0 ? new Object() : SHAPES;
		long now = System.nanoTime() ^ Thread.currentThread().getId();
		return (int)now + object.hashCode() + System.identityHashCode(heap)
			+ (Thread.holdsLock(object) ? 1 : 0) + object.getClass().hashCode()
			+ (int)Runtime.getRuntime().freeMemory();
	}

	static double math(double x) {
		return Math.sin(x) + Math.cos(x) * Math.log(x + 2) + Math.pow(x, 1.3) + Math.exp(-x)
			+ Math.tan(x) + x % 7;
	}

	static int strings(int n) {
		String text = "n" + n + "/" + (n & 7);
		heap = text;
		CRC.update(BYTES, 0, n & 63);
		return text.indexOf("/") + text.hashCode() + text.compareTo("n5") + (text.equals(heap) ? 1 : 0)
			+ (int)CRC.getValue();
	}

	static int collections(int n) {
		ArrayList<Integer> list = new ArrayList<>();
		for (int i = 0; i < (n & 7); i++)
			list.add(i * n);
		MAP.put(n & 63, "x");
		return list.size() + MAP.get(n & 63).length() + (list.contains(n) ? 1 : 0);
	}

	static long many(int a, long b, double c, Object d, int e, long f, float g, Object h, int i, long j,
			 double k, int l) {
		return a + b + (long)c + e + f + (long)g + i + j + (long)k + l + (d == h ? 1 : 0);
	}

	static int recursive(int n) {
		return n <= 0 ? 1 : recursive(n - 1) + (n & 1);
	}

	static int casts(Object object) {
		if (object instanceof Shape)
			return ((Shape)object).area(3);
		return object instanceof Cloneable ? 1 : 2;
	}

	static int chars(int n) {
		char[] text = new char[n & 31];
		Object[] objects = new Object[4];
		objects[n & 3] = text;
		Object[][] grid = new Object[2][n & 3];
		heap = grid;
		return text.length + objects.length + casts(objects[0]) + casts(SHAPES[n & 3]);
	}

	static void round(int n) {
		sink += shapes(n) + bases(n) + lambdas(n) + exceptions(n) + nulls(n) + locked(n);
		sink += arrays(n) + natives(n) + strings(n) + collections(n) + recursive(n & 15) + chars(n);
		sink += (int)many(n, n, n, heap, n, n, n, heap, n, n, n, n);
		real += math((n & 1023) * 0.01);
	}

	static int rounds(int n) {
		for (int i = 0; i < 20; i++)
			round(n + i);
		return n + 20;
	}

	static void run(int seconds) {
		int n = 0;
		long end = System.nanoTime() + seconds * 1000000000L;
		while (System.nanoTime() < end)
			n = rounds(n) & 0xfffffff;
		try {
			String[] words = Files.readSymbolicLink(Paths.get("/proc/thread-self")).toString().split("/");
			System.out.println("READY " + words[words.length - 1]);
			System.out.flush();
		} catch (java.io.IOException e) {
			throw new IllegalStateException(e);
		}
		for (;;)
			n = rounds(n) & 0xfffffff;
	}

	public static void main(String[] args) {
		int seconds = Integer.parseInt(args[0]);
		new Thread(() -> run(seconds), "steps").start();
	}
}
