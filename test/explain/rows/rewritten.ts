import { stringify as qsStringify } from 'node:querystring'
import { JSON_BODY, type Row } from '../table.ts'

/** Each row: the cause, the mistake, the bytes that were signed, the bytes that the receiver has. */
type Table = [Row['cause'], string, string | Uint8Array, string | Uint8Array][]
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const BOM = '\ufeff'

const JSON_TABLE: Table = [
  ['body_reserialized', 'JavaScript wrote 1.0 as 1', '{"xmin":1.0}', '{"xmin":1}'],
  [
    'body_reserialized',
    'a tool that indents by two',
    JSON_BODY,
    JSON.stringify(JSON.parse(JSON_BODY), null, 2),
  ],
  [
    'body_reserialized',
    'a sender that indents by two',
    JSON.stringify(JSON.parse(JSON_BODY), null, 2),
    JSON_BODY,
  ],
  [
    'body_reserialized',
    'a sender that indents by a tab',
    JSON.stringify(JSON.parse(JSON_BODY), null, '\t'),
    JSON_BODY,
  ],
  [
    'body_reserialized',
    'white space of every kind',
    '{"a":[1,true],"b":2}',
    '{\t"a" :\r\n[1 ,true\t]\r,"b": 2\n}',
  ],
  [
    'body_reserialized',
    'names sorted at every level',
    '{"a":[{"c":1,"d":{"e":2,"f":null}},"z","y"],"b":3}',
    '{"b":3,"a":[{"d":{"f":null,"e":2},"c":1},"z","y"]}',
  ],
  ['body_reserialized', 'an empty object inside another', '{\n  "a": {},\n  "b": []\n}', '{"a":{},"b":[]}'],
]

const CHARSET_TABLE: Table = [
  [
    'body_charset',
    'no-break space and \u00ff in Windows-1252',
    latin1('5\xa0\x80\xff'),
    '5\u00a0\u20ac\u00ff',
  ],
  ['body_charset', 'characters cut to their last byte', latin1('\u20ac\u0101'), '\u20ac\u0101'],
  ['body_charset', 'characters cut to their last byte, at the end', latin1('\u0101a'), '\u0101a'],
  ['body_charset', 'characters cut to their last byte, at the beginning', latin1('a\u0101'), 'a\u0101'],
  ['unexplained', 'control characters that Windows-1252 replaces', latin1('\x80\x80'), '\u20ac\u0080'],
  ['unexplained', 'characters missing from Windows-1252', latin1('\x80\x7f'), '\u20ac\u6f22'],
  [
    'body_charset',
    'bytes replaced after a byte order mark',
    `${BOM}{"a":"\ufffd"}`,
    Buffer.concat([Buffer.from(BOM), latin1('{"a":"\xfe"}')]),
  ],
  [
    'body_charset',
    'a proxy converts it to UTF-16BE',
    '{"a":"\u00fc"}',
    Buffer.from('{"a":"\u00fc"}', 'utf16le').swap16(),
  ],
  ['body_charset', 'a byte order mark inside UTF-16', `a${BOM}b`, Buffer.from(`a${BOM}b`, 'utf16le')],
]

const END_TABLE: Table = [
  ['body_trailing_newline', 'the last of several line feeds', 'a\nb\n', 'a\nb\n\n'],
  ['body_trailing_newline', 'the last of several CR LF', 'a\r\nb\r\n', 'a\r\nb\r\n\r\n'],
  ['body_trailing_newline', 'CR at the end', 'a', 'a \r'],
]

const many = (count: number, field: string): string => new Array(count).fill(field).join('&')

const FORM_TABLE: Table = [
  ['unexplained', 'a part of a body that is not a form', 'a', 'a&b'],
  ['body_form_field', 'a field without a name', 'a+b', '=a+b'],
  ['unexplained', 'a field that lost its last character', 'ab', 'payload=abc'],
  ['body_form_decoded', '1000 fields', many(1000, 'a=%C3%BC%2A'), many(1000, 'a=\u00fc*')],
  ['unexplained', '1001 fields', many(1001, 'a=%C3%BC%2A'), many(1001, 'a=\u00fc*')],
  ['body_form_decoded', '1000 fields, encoded again', many(1000, 'a=%2A~'), many(1000, 'a=*%7E')],
  ['unexplained', '1001 fields, encoded again', many(1001, 'a=%2A~'), many(1001, 'a=*%7E')],
  ['body_form_decoded', 'a field without a value', 'a=&b=%C3%BC', 'a&b=\u00fc'],
  ['body_form_decoded', 'a value without a name', '=%C3%BC&c=d', '=\u00fc&c=d'],
  ['body_form_decoded', 'a space encoded again', 'a=b+c&d=%2B', qsStringify({ a: 'b c', d: '+' })],
  ['unexplained', 'a JSON string, parsed as an object', '0=a&1=b', '"ab"'],
  ['unexplained', 'a JSON array, parsed as an object', '0=a', '["a"]'],
  ['unexplained', 'a number among the fields', 'a=b&c=1', '{"a":"b","c":1}'],
]

export const REWRITTEN_ROWS: readonly Row[] = [JSON_TABLE, CHARSET_TABLE, END_TABLE, FORM_TABLE].flatMap(
  (table) =>
    table.map<Row>(([cause, name, body, received]) => ({
      cause,
      name,
      sent: { body },
      got: { body: received },
    })),
)
