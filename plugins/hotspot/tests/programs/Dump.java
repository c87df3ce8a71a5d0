/* SPDX-License-Identifier: Apache-2.0 */

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;

/**
 * Dump LIST DIRECTORY: writes the class files that this JVM has of the classes in LIST, a line each, as
 * DIRECTORY/NAME.class. What it has not is left out: hidden classes, those made at run time.
 */
public final class Dump {
    public static void main(String[] arguments) throws Exception {
        Path directory = Paths.get(arguments[1]);
        BufferedReader list = new BufferedReader(
            new InputStreamReader(new FileInputStream(arguments[0]), "UTF-8"));

        for (String name = list.readLine(); name != null; name = list.readLine()) {
            String resource = name.replace('.', '/') + ".class";
            InputStream from = ClassLoader.getSystemResourceAsStream(resource);
            if (from != null) {
                Files.copy(from, directory.resolve(name + ".class"), StandardCopyOption.REPLACE_EXISTING);
                from.close();
            }
        }
        list.close();
    }
}
