/* SPDX-License-Identifier: Apache-2.0 */

import java.io.BufferedReader;
import java.io.FileReader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Burner SECONDS [NAME...]: burns CPU time in stacks that it knows, each scenario on a thread of its own.
 *
 * Prints CHAIN lines first: the calls of a scenario from the root to the leaf, without those of the
 * JDK's own methods. A sample has a chain, or the first part of one.
 *
 *	CHAIN NAME TOKEN...	Class.method or a C function; * any end of a name, {n} n times, {+} any times
 *	THREAD NAME TID		the thread of a scenario; 0: any that has its methods
 *	MISSING NAME WHY	a scenario that this JVM has not
 *	SEEN NAME CALL...	-Dobserve=N: what the JVM says of a thread's calls, Class.method:line, leaf first
 *	CPU SECONDS		what the process has used, as its last line
 *
 * Sources are of release 8: what is newer is called by reflection.
 */
public final class Burner {
    public static volatile long sink;
    static volatile boolean over;

    private static final List<Scenario> ALL = new ArrayList<Scenario>();

    /** One thread's work. */
    abstract static class Scenario extends Thread {
        final String name;
        private final String[] chains;

        /** chains: what its calls are, behind root(). */
        Scenario(String name, String... chains) {
            super(name);
            this.name = name;
            this.chains = chains;
            setDaemon(true);
        }

        /** Where they are not constant. */
        String[] chains() {
            return chains;
        }

        String root() {
            return "Burner$Scenario.run ";
        }

        /** One piece of work, of some milliseconds at most. */
        abstract void turn() throws Throwable;

        /** Called before the first turn: throws what says that this JVM cannot. */
        void prepare() throws Throwable {
        }

        /** Whether its frames are those of the thread that is printed. */
        boolean hasThread() {
            return true;
        }

        @Override
        public void run() {
            try {
                say("THREAD " + name + " " + (hasThread() ? threadId() : "0"));
                while (!over) {
                    turn();
                }
            } catch (Throwable error) {
                say("BROKEN " + name + " " + error);
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String threadId() throws Exception {
        return Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
    }

    /** A leaf for all: some microseconds of work. */
    public static long spin(int rounds) {
        long x = rounds | 1;
        for (int i = 0; i < rounds; i++) {
            x = x * 6364136223846793005L + i;
            x ^= x >>> 29;
        }
        sink = x;
        return x;
    }

    static void add(Scenario scenario) {
        ALL.add(scenario);
    }

    private static boolean isWanted(Scenario scenario, List<String> names) {
        return names.isEmpty() || names.contains(scenario.name);
    }

    private static List<Scenario> prepared(List<String> names) {
        List<Scenario> ready = new ArrayList<Scenario>();
        for (Scenario scenario : ALL) {
            if (!isWanted(scenario, names)) {
                continue;
            }
            try {
                scenario.prepare();
            } catch (Throwable error) {
                say("MISSING " + scenario.name + " " + error);
                continue;
            }
            for (String chain : scenario.chains()) {
                say("CHAIN " + scenario.name + " " + scenario.root() + chain);
            }
            ready.add(scenario);
        }
        return ready;
    }

    /** The JVM's own view, at safepoints: for a test of who judges profiles. */
    private static void observe(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            for (Scenario scenario : ALL) {
                StringBuilder line = new StringBuilder("SEEN " + scenario.name);
                for (StackTraceElement call : scenario.getStackTrace()) {
                    line.append(' ').append(call.getClassName()).append('.').append(call.getMethodName())
                        .append(':').append(call.getLineNumber());
                }
                say(line.toString());
            }
            Thread.sleep(20);
        }
    }

    private static double cpuSeconds() throws Exception {
        BufferedReader reader = new BufferedReader(new FileReader("/proc/self/stat"));
        try {
            String line = reader.readLine();
            String[] words = line.substring(line.lastIndexOf(')') + 2).split(" ");
            return (Long.parseLong(words[11]) + Long.parseLong(words[12])) / 100.0; // USER_HZ
        } finally {
            reader.close();
        }
    }

    /** Never called: a name that no profile may have. */
    static long never(int rounds) {
        return spin(rounds) + spin(rounds + 1);
    }

    public static void main(String[] arguments) throws Exception {
        double seconds = Double.parseDouble(arguments[0]);
        List<String> names = Arrays.asList(arguments).subList(1, arguments.length);

        Calls.register();
        Deep.register();
        Functions.register();
        Intrinsics.register();
        Natives.register();
        Memory.register();
        Virtual.register();
        for (Scenario scenario : prepared(names)) {
            scenario.start();
        }
        observe(Integer.getInteger("observe", 0));
        Thread.sleep((long) (seconds * 1000));
        over = true;
        for (Scenario scenario : ALL) {
            if (scenario.isAlive()) {
                scenario.join(20000);
            }
        }
        say("CPU " + cpuSeconds());
        if (seconds < 0) {
            never(3);
        }
    }
}
