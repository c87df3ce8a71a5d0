/* SPDX-License-Identifier: Apache-2.0 */

import java.io.File;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.nio.file.Path;

/**
 * Native code between Java frames: natives.c, with and without unwind rules (the property "natives"
 * names their directory), called by JNI and by the foreign-function API.
 */
final class Natives {
    private static final int TURNS = 30;

    static native long across(int left);

    static native long work(int rounds);

    static native long acrossBare(int left);

    static native long workBare(int rounds);

    private static File library(String name) {
        return new File(System.getProperty("natives", "."), name);
    }

    /** Called by C: Java_Natives_across. */
    static long down(int left) {
        if (left == 0) {
            return Burner.spin(30000);
        }
        return across(left);
    }

    /** Called by C: Java_Natives_acrossBare. */
    static long downBare(int left) {
        if (left == 0) {
            return Burner.spin(30000);
        }
        return acrossBare(left);
    }

    static final class Turns extends Burner.Scenario {
        Turns() {
            super("turns");
        }

        @Override
        String[] chains() {
            StringBuilder chain = new StringBuilder("Natives$Turns.turn ");
            for (int i = 0; i < TURNS; i++) {
                chain.append("Natives.down Natives.across Java_Natives_across call_back ");
            }
            return new String[] {chain + "Natives.down Burner.spin"};
        }

        @Override
        void prepare() {
            System.load(library("libjavarules.so").getPath());
        }

        @Override
        void turn() {
            down(TURNS);
        }
    }

    static final class Leaves extends Burner.Scenario {
        Leaves() {
            super("native", "Natives$Leaves.turn Natives.work Java_Natives_work burn");
        }

        @Override
        void prepare() {
            System.load(library("libjavarules.so").getPath());
        }

        @Override
        void turn() {
            for (int i = 0; i < 30; i++) {
                work(10000);
            }
        }
    }

    /** C without unwind rules: its frames may be missing, Java's may not. */
    static final class Bare extends Burner.Scenario {
        Bare() {
            super("bare");
        }

        @Override
        String[] chains() {
            StringBuilder chain = new StringBuilder("Natives$Bare.turn ");
            for (int i = 0; i < TURNS; i++) {
                chain.append("Natives.downBare Natives.acrossBare ");
            }
            return new String[] {
                chain + "Natives.downBare Burner.spin",
                "Natives$Bare.turn Natives$Bare.leaf Natives.workBare",
                "Natives$Bare.turn Natives$Bare.few Natives.downBare Natives.acrossBare Natives.downBare"
                    + " Natives.acrossBare Natives.downBare Burner.spin",
            };
        }

        @Override
        void prepare() {
            System.load(library("libjavabare.so").getPath());
        }

        @Override
        void turn() {
            downBare(TURNS);
            leaf();
            few();
        }

        private static void leaf() {
            workBare(100000);
        }

        private static void few() {
            for (int i = 0; i < 4; i++) {
                downBare(2);
            }
        }
    }

    /** JDK 22 on: java.lang.foreign. */
    static final class Foreign extends Burner.Scenario {
        private static MethodHandle work;
        private static MethodHandle call;
        private static Object upcall;

        Foreign() {
            super("foreign",
                  "Natives$Foreign.turn Natives$Foreign.plain foreign_work burn",
                  "Natives$Foreign.turn Natives$Foreign.back foreign_call Natives$Foreign.called Burner.spin");
        }

        static long called(int rounds) {
            return Burner.spin(rounds);
        }

        private static Class<?> type(String name) throws Exception {
            return Class.forName("java.lang.foreign." + name);
        }

        private static Object constant(String name) throws Exception {
            return type("ValueLayout").getField(name).get(null);
        }

        /** A function of long, with these parameters. */
        private static Object descriptor(Object... parameters) throws Exception {
            Class<?> layouts = type("MemoryLayout");
            Object array = Array.newInstance(layouts, parameters.length);
            for (int i = 0; i < parameters.length; i++) {
                Array.set(array, i, parameters[i]);
            }
            Method of = type("FunctionDescriptor").getMethod("of", layouts, array.getClass());
            return of.invoke(null, constant("JAVA_LONG"), array);
        }

        private static Object symbol(Object arena, String name) throws Exception {
            Object lookup = type("SymbolLookup").getMethod("libraryLookup", Path.class, type("Arena"))
                .invoke(null, library("libjavarules.so").toPath(), arena);
            Object found = type("SymbolLookup").getMethod("find", String.class).invoke(lookup, name);
            return Class.forName("java.util.Optional").getMethod("get").invoke(found);
        }

        @Override
        void prepare() throws Exception {
            Object options = Array.newInstance(type("Linker$Option"), 0);
            Object linker = type("Linker").getMethod("nativeLinker").invoke(null);
            Object arena = type("Arena").getMethod("global").invoke(null);
            Method downcall = type("Linker").getMethod("downcallHandle", type("MemorySegment"),
                type("FunctionDescriptor"), options.getClass());
            Object number = constant("JAVA_INT");
            work = (MethodHandle) downcall.invoke(linker, symbol(arena, "foreign_work"),
                                                  descriptor(number), options);
            call = ((MethodHandle) downcall.invoke(linker, symbol(arena, "foreign_call"),
                                                   descriptor(constant("ADDRESS"), number), options))
                .asType(MethodType.methodType(long.class, Object.class, int.class));
            MethodHandle target = MethodHandles.lookup().findStatic(
                Foreign.class, "called", MethodType.methodType(long.class, int.class));
            upcall = type("Linker").getMethod("upcallStub", MethodHandle.class,
                    type("FunctionDescriptor"), type("Arena"), options.getClass())
                .invoke(linker, target, descriptor(number), arena, options);
        }

        @Override
        void turn() throws Throwable {
            plain();
            back();
        }

        private static void plain() throws Throwable {
            for (int i = 0; i < 20; i++) {
                Burner.sink += (long) work.invokeExact(10000);
            }
        }

        private static void back() throws Throwable {
            for (int i = 0; i < 20; i++) {
                Burner.sink += (long) call.invokeExact(upcall, 10000);
            }
        }
    }

    static void register() {
        Burner.add(new Turns());
        Burner.add(new Leaves());
        Burner.add(new Bare());
        Burner.add(new Foreign());
    }

    private Natives() {
    }
}
