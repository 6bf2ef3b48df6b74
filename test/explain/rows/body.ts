import { createHash } from 'node:crypto'
import { deflateRawSync, deflateSync, gzipSync, inflateSync } from 'node:zlib'
import { JSON_BODY, type Row } from '../table.ts'

/** A body after `express.json()` and `JSON.stringify(req.body)`. */
const reparsed = (body: string): string => JSON.stringify(JSON.parse(body))

/** Parts of {@link JSON_BODY} that all serializers below write in the same way. */
const HEAD = '{"serviceType":"FeatureServer","changesUrl":"'
const URL_START = 'https://gis.example/Flur/FeatureServer/extractChanges'
const TAIL = '"events":[{"eventType":"FeaturesCreated","when":1730385704000}],"extent":[]}'

/** Output of `json.dumps(payload)` in Python 3.11. */
const PYTHON =
  '{"serviceType": "FeatureServer", "changesUrl": "https://gis.example/Flur/FeatureServer/extractChanges?gens=[1,2]&async=true",' +
  ' "name": "Flurst\\u00fccke <neu> + it\'s", "events": [{"eventType": "FeaturesCreated", "when": 1730385704000}], "extent": []}'
/** Output of `json.dumps(payload, separators=(',', ':'), sort_keys=True)`. */
const PYTHON_SORTED =
  '{"changesUrl":"https://gis.example/Flur/FeatureServer/extractChanges?gens=[1,2]&async=true",' +
  '"events":[{"eventType":"FeaturesCreated","when":1730385704000}],"extent":[],' +
  '"name":"Flurst\\u00fccke <neu> + it\'s","serviceType":"FeatureServer"}'
/** Output of `json_encode($payload)` in PHP. */
const PHP = `${HEAD}${URL_START.replaceAll('/', '\\/')}?gens=[1,2]&async=true","name":"Flurst\\u00fccke <neu> + it's",${TAIL}`
/** Output of `json_encode($payload, JSON_UNESCAPED_UNICODE)` in PHP, which still escapes slashes. */
const PHP_UNICODE = PHP.replace('\\u00fc', '\u00fc')
/** Output of `new Gson().toJson(payload)`, which escapes for HTML. */
const GSON = `${HEAD}${URL_START}?gens\\u003d[1,2]\\u0026async\\u003dtrue","name":"Flurst\u00fccke \\u003cneu\\u003e + it\\u0027s",${TAIL}`
/** Output of `json.NewEncoder(w).Encode(payload)` in Go, which escapes for HTML and adds a line feed. */
const GO = `${HEAD}${URL_START}?gens=[1,2]\\u0026async=true","name":"Flurst\u00fccke \\u003cneu\\u003e + it's",${TAIL}\n`
/** Output of Jackson with `ESCAPE_NON_ASCII`. */
const JACKSON = `${HEAD}${URL_START}?gens=[1,2]&async=true","name":"Flurst\\u00FCcke <neu> + it's",${TAIL}`
/** Output of `JsonSerializer.Serialize(payload)` in .NET. */
const DOT_NET = `${HEAD}${URL_START}?gens=[1,2]\\u0026async=true","name":"Flurst\\u00FCcke \\u003Cneu\\u003E \\u002B it\\u0027s",${TAIL}`
/** The body in the response format `f=pjson`, which indents by one space. */
const PJSON = JSON.stringify(JSON.parse(JSON_BODY), null, 1)
/** Numbers as Python and Java write them; JavaScript cannot write them this way. */
const FLOAT = '{"extent":{"xmin":-13045000.0,"10":1E-7,"9":12345678901234567890}}'

/** `{"events":[]}`, compressed with `GZIPOutputStream` in Java 17 or `gzip.compress(…, mtime=0)` in Python 3.11. */
const JAVA_GZIP = Buffer.from('H4sIAAAAAAAA/6tWSi1LzSspVrKKjq0FADp5TF8NAAAA', 'base64')
const PYTHON_GZIP = Buffer.from('H4sIAAAAAAACA6tWSi1LzSspVrKKjq0FADp5TF8NAAAA', 'base64')

/**
 * Returns {@link JAVA_GZIP} with the header of another program: two bytes differ (RFC 1952 section 2.3: XFL, OS).
 */
function gzipAs(effort: number, system: number): Buffer {
  const gzip = Buffer.from(JAVA_GZIP)
  gzip.set([effort, system], 8)
  return gzip
}

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')
/** Text with \u20ac and \u201c, which Latin-1 does not contain. Windows-1252 encodes them as 0x80 and 0x93. */
const EURO = '{"price":"5 \u20ac","name":"\u201cFlurst\u00fccke\u201d"}'
const EURO_1252 = Buffer.from(
  EURO.replace('\u20ac', '\x80').replace('\u201c', '\x93').replace('\u201d', '\x94'),
  'latin1',
)

const JSON_SIZE = Buffer.byteLength(JSON_BODY)

/** Each row: the cause, the mistake, the bytes that were signed, the bytes that the receiver has. */
const TABLE: [Row['cause'], string, string | Uint8Array, string | Uint8Array][] = [
  ['body_reserialized', 'express.json() and JSON.stringify, after Python', PYTHON, reparsed(PYTHON)],
  ['body_reserialized', 'after PHP', PHP, reparsed(PHP)],
  ['body_reserialized', 'after PHP with JSON_UNESCAPED_UNICODE', PHP_UNICODE, reparsed(PHP_UNICODE)],
  ['body_reserialized', 'after Gson', GSON, reparsed(GSON)],
  ['body_reserialized', "after Go's Encoder", GO, reparsed(GO)],
  ['body_reserialized', 'after Jackson', JACKSON, reparsed(JACKSON)],
  ['body_reserialized', 'after .NET', DOT_NET, reparsed(DOT_NET)],
  [
    'body_reserialized',
    'after .NET, with quotes and backslashes',
    '{"a":"\\u0022\\\\\\u0022"}',
    '{"a":"\\"\\\\\\""}',
  ],
  ['body_reserialized', 'after pjson', PJSON, reparsed(PJSON)],
  ['body_reserialized', 'by a Python proxy in front of the receiver', JSON_BODY, PYTHON],
  ['body_reserialized', 'by a PHP proxy in front of the receiver', JSON_BODY, PHP],
  [
    'body_reserialized',
    'a tool that indents by four',
    JSON_BODY,
    JSON.stringify(JSON.parse(JSON_BODY), null, 4),
  ],
  ['body_reserialized', 'a sender signs sorted JSON and sends unsorted JSON', PYTHON_SORTED, JSON_BODY],
  [
    'body_reserialized',
    'numbers that JavaScript cannot write, indented',
    FLOAT,
    FLOAT.replaceAll(':', ' : ').replaceAll(',', ',\n'),
  ],
  [
    'body_reserialized',
    'Gson, which writes 1 as 1.0, after JavaScript',
    '{"when":1,"ids":[2]}',
    '{"when":1.0,"ids":[2.0]}',
  ],

  ['body_trailing_newline', 'an editor ended the file with a line feed', JSON_BODY, `${JSON_BODY}\n`],
  ['body_trailing_newline', 'PowerShell ended the file with CR LF', JSON_BODY, `${JSON_BODY}\r\n`],
  [
    'body_trailing_newline',
    'the sender signed a file with a line feed at the end, and curl -d removed it',
    `${JSON_BODY}\n`,
    JSON_BODY,
  ],
  [
    'body_trailing_newline',
    'the sender signed a file with CR LF at the end, and curl -d removed it',
    `${JSON_BODY}\r\n`,
    JSON_BODY,
  ],
  ['body_trailing_newline', 'an editor added a second line feed', `${JSON_BODY}\n`, `${JSON_BODY}\n\n`],
  ['body_trailing_newline', 'a template added white space at the end', JSON_BODY, `${JSON_BODY} \t\n\n`],
  // In UTF-8, U+00E0 ends in the byte 0xA0. `String.prototype.trimEnd` treats U+00A0 as white space.
  [
    'body_trailing_newline',
    'white space after text that is not JSON and ends in an accented letter',
    'citt\u00e0',
    'citt\u00e0 \n',
  ],

  ['body_line_endings', 'git checked out the file with CR LF', PJSON, PJSON.replaceAll('\n', '\r\n')],
  [
    'body_line_endings',
    'the sender signed CR LF, and text mode read LF',
    PJSON.replaceAll('\n', '\r\n'),
    PJSON,
  ],
  ['body_line_endings', 'only the last line ending differs', `${JSON_BODY}\r\n`, `${JSON_BODY}\n`],
  ['body_line_endings', 'a terminal sent CR', 'a\rb\r', 'a\nb\n'],
  ['body_line_endings', 'an XML parser normalized the line endings', 'a\nb\nc', 'a\r\nb\rc'],
  ['body_line_endings', 'text with replacement patterns of String.replace', "$&\n$'", "$&\r\n$'"],

  [
    'body_bom',
    'Response.text() dropped it',
    `\ufeff${JSON_BODY}`,
    new TextDecoder().decode(Buffer.from(`\ufeff${JSON_BODY}`)),
  ],
  ['body_bom', 'Set-Content -Encoding utf8 of PowerShell 5 added it', JSON_BODY, `\ufeff${JSON_BODY}`],
  [
    'body_bom',
    'before bytes that are not UTF-8',
    Buffer.from([0xff, 0xfe, 0xfd]),
    Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0xfe, 0xfd]),
  ],

  [
    'body_charset',
    'the sender signs text in which invalid UTF-8 was replaced',
    '{"a":"\ufffd"}',
    Buffer.from('{"a":"\xfe"}', 'latin1'),
  ],
  ['body_charset', 'the sender signs Latin-1 and sends UTF-8', Buffer.from(JSON_BODY, 'latin1'), JSON_BODY],
  ['body_charset', 'a proxy reads UTF-8 as Latin-1', EURO, Buffer.from(EURO).toString('latin1')],
  [
    'body_charset',
    "the sender signs the result of PHP's utf8_encode",
    Buffer.from(EURO).toString('latin1'),
    EURO,
  ],
  ['body_charset', 'a proxy converts it to Latin-1', JSON_BODY, Buffer.from(JSON_BODY, 'latin1')],
  ['body_charset', 'the sender signs Windows-1252 and sends UTF-8', EURO_1252, EURO],
  ['body_charset', 'a proxy converts it to Windows-1252', EURO, EURO_1252],
  ['body_charset', 'a file in UTF-16 with a byte order mark', EURO, utf16(EURO)],
  ['body_charset', 'UTF-16 as .NET signs strings', Buffer.from(EURO, 'utf16le'), EURO],
  ['body_charset', 'UTF-16 as Java signs strings', utf16(EURO).swap16(), EURO],

  ['body_decompressed', 'express inflates the signed body', gzipSync(JSON_BODY), JSON_BODY],
  ['body_decompressed', 'express inflates a deflated body', deflateSync(JSON_BODY), JSON_BODY],
  [
    'body_decompressed',
    'express inflates a body deflated without the zlib header',
    deflateRawSync(JSON_BODY),
    JSON_BODY,
  ],
  ['body_decompressed', 'packed by Java 17', JAVA_GZIP, '{"events":[]}'],
  ['body_decompressed', 'packed by Java 8', gzipAs(0, 0), '{"events":[]}'],
  ['body_decompressed', 'packed by Python 3.11', PYTHON_GZIP, '{"events":[]}'],
  ['body_decompressed', 'packed by Python 3.10', gzipAs(2, 255), '{"events":[]}'],
  ['body_decompressed', 'packed by zlib on Linux', gzipAs(0, 3), '{"events":[]}'],
  ['body_decompressed', 'packed by zlib on Windows', gzipAs(0, 10), '{"events":[]}'],
  ['body_decompressed', 'packed by zlib on a Mac', gzipAs(0, 19), '{"events":[]}'],
  ['body_decompressed', 'a proxy packs what was signed', JSON_BODY, gzipSync(JSON_BODY, { level: 1 })],
  [
    'body_decompressed',
    'nothing before us unpacks it',
    inflateSync(deflateSync('{"events":[]}')),
    deflateSync('{"events":[]}'),
  ],

  ['body_trailing_newline', 'a template ends in two line feeds', `${JSON_BODY}\n\n`, JSON_BODY],
  ['body_trailing_newline', 'a template ends in a space', `${JSON_BODY} `, JSON_BODY],
  ['body_empty', 'other code read the stream first', JSON_BODY, ''],
  ['body_empty', 'other code read the stream first, and the body is bytes', PJSON, new Uint8Array()],
  ['body_empty', 'the sender signs before it writes the body', '', JSON_BODY],
  ['body_leading_space', 'a template literal begins with a line feed', `\n${JSON_BODY}`, JSON_BODY],
  ['body_nul', 'the whole buffer was signed', Buffer.alloc(1024).fill(JSON_BODY, 0, JSON_SIZE), JSON_BODY],
  ['body_normalized', 'a proxy wrote NFD', JSON_BODY, JSON_BODY.normalize('NFD')],
  [
    'body_json_string',
    'JSON.stringify was called twice before sending',
    JSON_BODY,
    JSON.stringify(JSON_BODY),
  ],
  ['body_event', 'the event of a function', JSON_BODY, JSON.stringify({ version: '2.0', body: JSON_BODY })],
  ['body_event', 'the sender signs the wrapper', `{"payload":${JSON_BODY}}`, JSON_BODY],
  ['body_base64', 'isBase64Encoded was ignored', JSON_BODY, Buffer.from(JSON_BODY).toString('base64')],
  ['body_stringified', 'String(object) was signed', '[object Object]', JSON_BODY],
  ['body_escaped', 'encodeURIComponent before signing', encodeURIComponent(JSON_BODY), JSON_BODY],
]

/** A hash of the sent body, as headers have it. */
const hashed = (hash: string): string => createHash(hash).update(JSON_BODY).digest('base64')
const CHANGED = JSON_BODY.replace('Flur/', 'Wald/')
const HEADERS: [name: string, value: string][] = [
  ['content-length', `${Buffer.byteLength(JSON_BODY)}`],
  ['content-digest', `sha-256=:${hashed('sha256')}:`],
  ['repr-digest', `sha-512=:${hashed('sha512')}:, sha-256=:${hashed('sha256')}:`],
  ['digest', `SHA-256=${hashed('sha256')}`],
]
const withHeader = (name: string, value: string) => (digest: Buffer) => ({
  'x-service': digest.toString('hex'),
  [name]: value,
})

export const BODY_ROWS: readonly Row[] = [
  ...TABLE.map<Row>(([cause, name, signed, received]) => ({
    cause,
    name,
    sent: { body: signed },
    got: { body: received },
  })),
  ...HEADERS.map<Row>(([name, value]) => ({
    cause: 'body_changed',
    name: `another body than ${name} says`,
    headers: withHeader(name, value),
    got: { body: name === 'content-length' ? '{}' : CHANGED },
    evidence: new RegExp(`^The header ${name} `),
  })),
  // The header fits the body, so the sender has another key or signs another text.
  ...HEADERS.map<Row>(([name, value]) => ({
    cause: 'unexplained',
    name: `another key, and a body as ${name} says`,
    headers: withHeader(name, value),
    got: { key: 'Roads2031' },
  })),
  ...[
    ['content-length', 'many'],
    ['content-digest', 'sha-256=:abc:'],
    ['digest', 'MD5=abc'],
  ].map<Row>(([name = '', value = '']) => ({
    cause: 'unexplained',
    name: `${name}: ${value}, which is not a hash or a length`,
    headers: withHeader(name, value),
    got: { key: 'Roads2031' },
  })),
]
