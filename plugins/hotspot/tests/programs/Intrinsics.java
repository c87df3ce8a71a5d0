/* SPDX-License-Identifier: Apache-2.0 */

import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Random;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Methods that the VM has stubs of its own for, written by hand: often they keep no frame. */
final class Intrinsics extends Burner.Scenario {
    private interface Work {
        void work() throws Exception;
    }

    private final String method;
    private final Work work;

    private Intrinsics(String name, String method, Work work) {
        super(name);
        this.method = method;
        this.work = work;
    }

    @Override
    String[] chains() {
        return new String[] {"Intrinsics.turn Intrinsics.lambda$register$* Intrinsics." + method};
    }

    @Override
    void turn() throws Exception {
        work.work();
    }

    private static final byte[] BYTES = new byte[16384];
    private static final byte[] COPY = new byte[20000];
    private static final Random RANDOM = new Random(1);
    private static final BigInteger FACTOR = new BigInteger(2048, RANDOM);
    private static final BigInteger MODULUS = new BigInteger(1024, RANDOM).setBit(0).setBit(1023);

    static void encrypt() throws Exception {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        byte[] nonce = new byte[12];
        for (int i = 0; i < 20; i++) {
            nonce[0]++;
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"),
                        new GCMParameterSpec(128, nonce));
            Burner.sink += cipher.doFinal(BYTES)[0];
            nonce[1] += nonce[0] == 0 ? 1 : 0;
        }
    }

    static void digest() throws Exception {
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        for (int i = 0; i < 20; i++) {
            Burner.sink += sha.digest(BYTES)[0];
        }
    }

    static void multiply() {
        BigInteger product = FACTOR;
        for (int i = 0; i < 300; i++) {
            product = FACTOR.multiply(product).shiftRight(2048);
            product = product.add(FACTOR.multiply(FACTOR));
        }
        Burner.sink += product.longValue();
    }

    static void power() {
        Burner.sink += FACTOR.modPow(MODULUS.shiftRight(1), MODULUS).longValue();
    }

    static void sine() {
        double sum = 0;
        for (int i = 0; i < 20000; i++) {
            sum += Math.sin(i * 1.7) + Math.exp(i % 10) + Math.pow(1.01, i % 100);
        }
        Burner.sink += (long) sum;
    }

    static void checksum() {
        CRC32 crc = new CRC32();
        for (int i = 0; i < 50; i++) {
            crc.update(BYTES);
        }
        Burner.sink += crc.getValue();
    }

    static void copy() {
        for (int i = 0; i < 300; i++) {
            System.arraycopy(BYTES, 0, COPY, i & 63, BYTES.length);
            System.arraycopy(COPY, 5, COPY, 17 + (i & 7), 10000);
        }
        Burner.sink += COPY[100];
    }

    static void register() {
        Burner.add(new Intrinsics("aes", "encrypt", () -> encrypt()));
        Burner.add(new Intrinsics("sha", "digest", () -> digest()));
        Burner.add(new Intrinsics("multiply", "multiply", () -> multiply()));
        Burner.add(new Intrinsics("power", "power", () -> power()));
        Burner.add(new Intrinsics("sine", "sine", () -> sine()));
        Burner.add(new Intrinsics("checksum", "checksum", () -> checksum()));
        Burner.add(new Intrinsics("arraycopy", "copy", () -> copy()));
    }
}
