package io.crdeval.client;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The text of one object, manifest or patch in UTF-8. The client never changes it, so numbers keep every digit.
 *
 * @param bytes the text: JSON if its first character is a brace or a bracket, otherwise YAML. Results are JSON.
 */
public record Document(ByteString bytes) {
    private static final int MAX_NESTING = 20_000; // twice the limit of a server

    /** Checks that there is a text. */
    public Document {
        Objects.requireNonNull(bytes, "bytes");
    }

    /** Returns a document with this text. */
    public static Document of(String text) {
        return new Document(ByteString.copyFromUtf8(text));
    }

    /** Returns a document with a copy of this text in UTF-8. */
    public static Document of(byte[] text) {
        return new Document(ByteString.copyFrom(text));
    }

    /** Returns a document with this text in UTF-8. */
    public static Document of(ByteString text) {
        return new Document(text);
    }

    /** Returns the text. */
    public String text() {
        return bytes.toStringUtf8();
    }

    /** Returns the text. */
    @Override
    public String toString() {
        return text();
    }

    /**
     * Parses the text as JSON without loss: objects become a {@code Map<String, Object>} in the order of the text,
     * arrays a {@code List<Object>}, integers a {@link BigInteger}, and other numbers a {@link BigDecimal} with the
     * same digits, so that 1.0 stays 1.0. The other values are {@link String}, {@link Boolean} and null. Maps and lists
     * cannot be changed.
     *
     * @throws IllegalArgumentException if the text is not one JSON value, for example because it is YAML
     */
    public Object parse() {
        try (JsonReader reader = new JsonReader(new StringReader(text()))) {
            reader.setStrictness(Strictness.STRICT);
            reader.setNestingLimit(MAX_NESTING);
            Object value = read(reader);
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new IllegalArgumentException("the document has text after its JSON value");
            }
            return value;
        } catch (IOException | NumberFormatException e) {
            throw new IllegalArgumentException("the document is not JSON: " + e.getMessage(), e);
        }
    }

    /** One object or array whose end was not read yet. Exactly one of map and list is set. */
    private record Open(Map<String, Object> map, List<Object> list, Object view) {
        static Open object() {
            Map<String, Object> map = new LinkedHashMap<>();
            return new Open(map, null, Collections.unmodifiableMap(map));
        }

        static Open array() {
            List<Object> list = new ArrayList<>();
            return new Open(null, list, Collections.unmodifiableList(list));
        }
    }

    /** Reads one value. It keeps open values in a list, because a document may have more levels than the Java stack. */
    private static Object read(JsonReader reader) throws IOException {
        Deque<Open> open = new ArrayDeque<>();
        while (true) {
            Open parent = open.peek();
            if (parent != null && !reader.hasNext()) {
                if (parent.map() != null) {
                    reader.endObject();
                } else {
                    reader.endArray();
                }
                open.pop();
                if (open.isEmpty()) {
                    return parent.view();
                }
                continue;
            }
            String name = parent != null && parent.map() != null ? reader.nextName() : null;
            Object value;
            Open opened = null;
            switch (reader.peek()) {
                case BEGIN_OBJECT -> {
                    reader.beginObject();
                    opened = Open.object();
                    value = opened.view();
                }
                case BEGIN_ARRAY -> {
                    reader.beginArray();
                    opened = Open.array();
                    value = opened.view();
                }
                case STRING -> value = reader.nextString();
                case NUMBER -> value = number(reader.nextString());
                case BOOLEAN -> value = reader.nextBoolean();
                case NULL -> {
                    reader.nextNull();
                    value = null;
                }
                default -> throw new IOException("no value at " + reader.getPath());
            }
            if (parent != null && name != null) {
                parent.map().put(name, value);
            } else if (parent != null) {
                parent.list().add(value);
            } else if (opened == null) {
                return value;
            }
            if (opened != null) {
                open.push(opened);
            }
        }
    }

    private static Number number(String digits) {
        boolean integer = digits.chars().allMatch(c -> c == '-' || c >= '0' && c <= '9');
        return integer && !digits.equals("-0") ? new BigInteger(digits) : new BigDecimal(digits);
    }

    io.crdeval.v1.Document toProto() {
        io.crdeval.v1.Document.Builder builder = io.crdeval.v1.Document.newBuilder();
        for (int i = 0; i < bytes.size(); i++) {
            byte b = bytes.byteAt(i);
            if (b == '{' || b == '[') {
                return builder.setJson(bytes).build();
            }
            if (b != ' ' && b != '\t' && b != '\r' && b != '\n') {
                break;
            }
        }
        return builder.setRawYaml(bytes).build();
    }

    static Document fromProto(io.crdeval.v1.Document document) {
        return new Document(document.hasRawYaml() ? document.getRawYaml() : document.getJson());
    }
}
