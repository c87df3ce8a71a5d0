// SPDX-License-Identifier: Apache-2.0
/** A JVM that is there and does nothing: for who looks at it from outside. */
final class Sleeper {
    private Sleeper() {}

    public static void main(String[] args) throws InterruptedException {
        Thread.sleep(300_000);
    }
}
