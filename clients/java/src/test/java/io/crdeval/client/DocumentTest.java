package io.crdeval.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of documents. */
class DocumentTest {
    @Test
    void parsesWithoutLoss() {
        String text = "{\"a\":9007199254740993,\"b\":1.0,\"c\":[1e2,-0,null,true,\"ü\"],\"d\":{}}";
        Object parsed = Document.of(text).parse();
        assertEquals(
                Map.of(
                        "a",
                        new BigInteger("9007199254740993"),
                        "b",
                        new BigDecimal("1.0"),
                        "c",
                        Arrays.asList(new BigDecimal("1e2"), BigDecimal.ZERO, null, true, "ü"),
                        "d",
                        Map.of()),
                parsed);
        assertEquals("[a, b, c, d]", ((Map<?, ?>) parsed).keySet().toString());
        assertEquals("7", Document.of(" 7 ").parse().toString());
    }

    @Test
    void parsesDeepDocuments() {
        Object parsed = Document.of("[".repeat(10_000) + "]".repeat(10_000)).parse();
        int depth = 0;
        for (Object level = parsed; level instanceof List<?> list; level = list.isEmpty() ? null : list.get(0)) {
            depth++;
        }
        assertEquals(10_000, depth);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "{\"a\":}", "[1,]", "[1] 2", "{'a':1}", "a: 1", "NaN", "[NaN]", "01"})
    void rejectsOtherTexts(String text) {
        assertThrows(IllegalArgumentException.class, Document.of(text)::parse);
    }

    @Test
    void sendsBytesUnchanged() {
        String json = " \n\t{\"a\": 1.0}";
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        ByteString string = ByteString.copyFrom(bytes);
        for (Document document : List.of(Document.of(json), Document.of(bytes), Document.of(string))) {
            assertTrue(document.toProto().hasJson());
            assertEquals(json, document.toProto().getJson().toStringUtf8());
        }
        assertTrue(Document.of("a: {b: 1.0}").toProto().hasRawYaml());
        assertFalse(Document.of("").toProto().hasJson());
    }
}
