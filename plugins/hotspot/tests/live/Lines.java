// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Counts the time of its own lines: tests/kit/check_lines.py. Argument: seconds. */
public class Lines {
	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	static long x;

	static double now() {
		return threads.getCurrentThreadCpuTime() / 1e9;
	}

	static long spin(long n) {
		long sum = x;
		for (long i = 1; i < n; i++)
			sum = sum * 3 + i % (sum | 1);
		return sum;
	}

	static double[] burn(double seconds) {
		double[] spent = new double[3];
		for (double end = now() + seconds; now() < end;) {
			double a = now();
			x += spin(1000000);                                      // line 26 of its own
			double b = now();
			x += spin(2000000);                                      // line 28 of its own
			double c = now();
			x += spin(3000000);                                      // line 30 of its own
			double d = now();
			spent = new double[] {spent[0] + b - a, spent[1] + c - b, spent[2] + d - c};
		}
		return spent;
	}

	public static void main(String[] args) {
		double[] spent = burn(Double.parseDouble(args[0]));
		int[] lines = {26, 28, 30};
		for (int i = 0; i < lines.length; i++)
			System.out.printf(java.util.Locale.ROOT, "LINE %d %.4f%n", lines[i], spent[i]);
	}
}
