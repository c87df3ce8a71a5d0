// SPDX-License-Identifier: Apache-2.0
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that stay where they are, each in another kind of code. The kernel knows them by the names of the
 * methods that they begin in. For Java 8 and newer.
 */
public class Stand {
	static final long EVER = Long.MAX_VALUE;
	static final int WARM = 100000;	// calls until a method is C2's
	static final int LUKEWARM = 2500;	// C1's
	static volatile long count;
	static volatile boolean isStanding;

	/** A name of 15 bytes at most. Files are read and written on the thread itself, a virtual one's carrier too. */
	static void nameThread(String name) throws Exception {
		Files.write(Paths.get("/proc/thread-self/comm"), name.getBytes(StandardCharsets.US_ASCII));
	}

	static void spin(long turns) {
		for (long i = 0; i < turns; i++)
			count++;
	}

	static void rest(long turns) {
		do
			LockSupport.parkNanos(turns == EVER ? EVER : 1);
		while (turns == EVER);
	}

	/** Never compiled: by its name, see recipes.py. A lambda, an interface, a constructor, recursion. */
	static class Interpreted {
		interface Task {
			void run(long turns);
		}

		final Task task;

		Interpreted(Task task, long turns) {
			this.task = task;
			begin(turns, 3);
		}

		synchronized void begin(long turns, int depth) {
			if (depth > 0)
				begin(turns, depth - 1);
			else
				task.run(turns);
		}

		static void spin(long turns) {
			for (long i = 0; i < turns; i++)
				count++;
		}

		static void interpreted() {
			new Interpreted(turns -> spin(turns), EVER);
		}
	}

	/** outer and middle are C1's when they stand, below them is C2's code, with inlined methods. */
	static class Compiled {
		final List<Long> turns = new ArrayList<>();

		void outer(long n) {
			middle(n, 1);
		}

		void middle(long n, int depth) {
			if (depth > 0)
				middle(n, depth - 1);
			else
				sort(n);
		}

		static void sort(long n) {
			Long[] turns = {n, n};
			Arrays.sort(turns, (a, b) -> compare(a, b));
		}

		static int compare(Long a, Long b) {
			between(a);
			return Long.compare(a, b);
		}

		static void between(long n) {
			inner(n);
		}

		static void inner(long n) {
			spin(n);
		}

		static void compiled() throws Exception {
			warm();
			Thread.sleep(1000);
			new Compiled().outer(EVER);
		}

		static void warm() {
			for (int i = 0; i < WARM; i++)
				sort(10);
			for (int i = 0; i < LUKEWARM; i++)
				new Compiled().outer(10);
		}
	}

	/** The VM calls an initializer, which C calls in its turn: Java, C++, Java, C++. */
	static class Native {
		static class Holder {
			static {
				rest(EVER);
			}

			static void touch() {
			}
		}

		static void inNative() {
			Holder.touch();
		}
	}

	/** A method whose code is given up while it stands: area() was the only one when it was compiled. */
	static class Deoptimized {
		static class Shape {
			void area(long turns) {
				spin(10);
				if (turns != 0)
					hold(turns);
			}
		}

		static class Circle extends Shape {
			@Override
			void area(long turns) {
			}
		}

		static void hold(long turns) {
			spin(turns & 7);
			if (turns != EVER)
				return;
			isStanding = true;
			rest(turns);
		}

		static void measure(Shape shape, long turns) {
			shape.area(turns);
			count++;
		}

		static void deoptimized() throws Exception {
			Shape shape = new Shape();

			for (int i = 0; i < WARM; i++)
				measure(shape, i & 1);
			Thread.sleep(1000);
			measure(shape, EVER);
		}
	}

	/** In a stub of the VM, nearly all of its time. */
	static void copying() {
		byte[] from = new byte[1 << 14], to = new byte[1 << 14];

		for (;;)
			copy(from, to);
	}

	static void copy(byte[] from, byte[] to) {
		for (int i = 0; i < 16; i++)
			System.arraycopy(from, 0, to, 1, from.length - 1);
	}

	/** Its outer frames stay in the heap when it has slept. */
	static class Virtual {
		static void deep(int depth) {
			if (depth > 0) {
				deep(depth - 1);
				return;
			}
			LockSupport.parkNanos(1000000);
			try {
				nameThread("virtual");
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
			Stand.spin(EVER);
		}

		static void virtual() throws Exception {
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> deep(20));
		}
	}

	interface Body {
		void run() throws Exception;
	}

	static void start(String name, Body body) {
		Thread thread = new Thread(() -> {
			try {
				nameThread(name);
				body.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		});

		thread.setDaemon(true);
		thread.start();
	}

	public static void main(String[] arguments) throws Exception {
		for (int i = 1; i < arguments.length; i++) {
			String name = arguments[i];

			switch (name) {
			case "interpreted":
				start(name, Interpreted::interpreted);
				break;
			case "compiled":
				start(name, Compiled::compiled);
				break;
			case "native":
				start(name, Native::inNative);
				break;
			case "deoptimized":
				start(name, Deoptimized::deoptimized);
				while (!isStanding)
					Thread.sleep(10);
				Thread.sleep(100);
				new Deoptimized.Circle().area(1);
				break;
			case "copying":
				start(name, Stand::copying);
				break;
			case "virtual":
				Virtual.virtual();
				break;
			default:
				throw new IllegalArgumentException(name);
			}
		}
		System.out.println("ready");
		Thread.sleep(1000 * Long.parseLong(arguments[0]));
		System.exit(0);
	}
}
