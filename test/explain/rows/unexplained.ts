import { hmac, JSON_BODY, KEY, type Row } from '../table.ts'

const LATIN1 = Buffer.from(JSON_BODY, 'latin1')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** `explain` does not report a cause that it cannot prove, because a wrong hint is worse than none. */
export const UNEXPLAINED_ROWS: Row[] = [
  ...(
    [
      [
        'one letter of the body changed',
        JSON_BODY,
        JSON_BODY.replace('Parcels', 'parcels').replace('Flur', 'flur'),
      ],
      ['an event was added', JSON_BODY, JSON_BODY.replace('"extent":[]', '"extent":[],"x":1')],
      ['1e2 became 100', '{"xmin":1e2}', JSON.stringify(JSON.parse('{"xmin":1e2}'))],
      [
        'a long id was rounded',
        '{"id":12345678901234567890}',
        JSON.stringify(JSON.parse('{"id":12345678901234567890}')),
      ],
      ['a duplicate member was dropped', '{"a":1,"a":2}', JSON.stringify(JSON.parse('{"a":1,"a":2}'))],
      [
        'bytes that are not UTF-8, one of them changed',
        LATIN1,
        Buffer.from(LATIN1.map((byte) => (byte === 0xfc ? 0xe4 : byte))),
      ],
      ['bytes that are not UTF-8 were converted to a string', LATIN1, LATIN1.toString()],
      ['characters beyond ASCII became question marks', JSON_BODY, JSON_BODY.replace('\u00fc', '?')],
      ['the body was cut', JSON_BODY, JSON_BODY.slice(0, 100)],
      ['white space changed inside a string', '{"name":"a  b"}', '{"name":"a b"}'],
    ] as const
  ).map<Row>(([name, body, received]) => ({
    cause: 'unexplained',
    name,
    sent: { body },
    got: { body: received },
  })),

  ...[
    'Parcels2027Kataster',
    KEY.slice(0, -1),
    `${KEY}!`,
    [...KEY].reverse().join(''),
    Buffer.alloc(32, 7),
  ].map<Row>((key, index) => ({
    cause: 'unexplained',
    name: `another key (${index})`,
    sent: { key },
    got: { key: KEY },
  })),
  {
    cause: 'unexplained',
    name: 'a key that is not among the two of the ring',
    sent: { key: 'Roads2026' },
    got: { key: ['Parcels2027', KEY] },
  },

  ...Object.entries<(digest: Buffer) => string>({
    '32 random bytes': () => '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'the signature of a time that is not in the request': () =>
      `t=1730385704,v1=${hex(hmac(KEY, `1730385705.${JSON_BODY}`))}`,
    'one digit changed': (digest) => hex(digest).replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    'base64 in lower case, which loses bits': (digest) => digest.toString('base64').toLowerCase(),
    'seven bytes, too few for a proof': (digest) => hex(digest.subarray(0, 7)),
    'seven bytes in base64': (digest) => digest.subarray(0, 7).toString('base64'),
    'the bytes in reverse': (digest) => hex(Buffer.from(digest).reverse()),
  }).map<Row>(([name, write]) => ({
    cause: 'unexplained',
    name,
    headers: (digest) => ({ 'x-service': write(digest) }),
  })),

  ...[
    'none',
    '[object Promise]',
    'Bearer eyJhbGciOiJIUzI1NiJ9.e30.e30',
    '%',
    '%%%zz',
    'sha256=',
    ',',
    '\u20ac',
    KEY,
  ].map<Row>((value) => ({
    cause: 'unexplained',
    name: `a header that is not a signature: ${value}`,
    headers: () => ({ 'x-service': value }),
    evidence: /not 32 bytes in hex or base64\.( Not all hypotheses were tested|$)/,
  })),
]

for (const [name, headers] of [
  ['an empty body with a content-length of 0', { 'x-service': '0'.repeat(64), 'content-length': '0' }],
  ['an empty body with an invalid signature', { 'x-service': 'zz' }],
] as const) {
  UNEXPLAINED_ROWS.push({ cause: 'unexplained', name, sent: { body: '' }, headers: () => headers })
}
