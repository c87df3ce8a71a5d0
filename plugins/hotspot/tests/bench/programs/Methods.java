/* SPDX-License-Identifier: Apache-2.0 */

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Methods COPIES: loads Thousand so many times, each by a loader of its own, and calls its thousand methods; with
 * -Xcomp each of them is compiled. Then "ready", and now and then a call, so that it is seen.
 */
public final class Methods extends ClassLoader {
    static final List<Class<?>> ALL = new ArrayList<Class<?>>();

    private final byte[] code;

    Methods(byte[] code) {
        super(null);
        this.code = code;
    }

    @Override
    protected Class<?> findClass(String name) {
        return defineClass(name, code, 0, code.length);
    }

    static byte[] read(String name) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] part = new byte[65536];
        try (InputStream in = ClassLoader.getSystemResourceAsStream(name)) {
            for (int n = in.read(part); n > 0; n = in.read(part)) {
                out.write(part, 0, n);
            }
        }
        return out.toByteArray();
    }

    public static void main(String[] args) throws Exception {
        byte[] code = read("Thousand.class");

        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Class<?> copy = Class.forName("Thousand", true, new Methods(code));
            copy.getMethod("all").invoke(null);
            ALL.add(copy);
        }
        System.out.println("ready");
        System.out.flush();
        while (true) {
            long end = System.nanoTime() + 20000000;
            while (System.nanoTime() < end) {
                for (Class<?> copy : ALL) {
                    copy.getMethod("all").invoke(null);
                }
            }
            Thread.sleep(80);
        }
    }
}
