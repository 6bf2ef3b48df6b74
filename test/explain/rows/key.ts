import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JSON_BODY, KEY, type Row } from '../table.ts'

/** Writes a key to a file and reads it back. */
function fromFile(content: string | Uint8Array): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-'))
  try {
    writeFileSync(join(folder, 'key'), content)
    return readFileSync(join(folder, 'key'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const HEX_KEY = '7b0cafe9d1e24f3a9b5c6d7e8f901a2b'
/** Output of `openssl rand -base64 32`. */
const BASE64_KEY = 'k3+Jm/8vQ2bX+pT0sYw7Zr1uE5hN9aLcG4dKf6iVxO8='
const DECODED_KEY = Buffer.from(BASE64_KEY, 'base64')
/** Output of `openssl rand 32`. Like most random bytes, it is not valid UTF-8. */
const BINARY_KEY = Buffer.from('93e1ff00c3284a9d7780be55d0f6a21b0c4499ee13f7da6682c10a5e3bb8fd71', 'hex')
const fromHex = (hex: string): Buffer => Buffer.from(hex, 'hex')
const UMLAUT_KEY = 'Flurst\u00fccke2026'
const UUID_KEY = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'

type Ring = NonNullable<Row['got']>['key']

/** Each row: the cause, the mistake, the sender's key, the receiver's key or keys, a pattern for the evidence. */
const TABLE: [Row['cause'], string, string | Uint8Array, Ring, RegExp?][] = [
  ['key_whitespace', 'a key file with a line feed', KEY, fromFile(`${KEY}\n`)],
  ['key_whitespace', 'a sender whose key file ends in an empty line', `${KEY}\n\n`, KEY],
  ['key_whitespace', 'a sender that copied the key with spaces around it', ` ${KEY} `, KEY],
  ['key_whitespace', 'a sender with a key file from an old editor', `\ufeff${KEY}\r\n`, KEY],
  ['key_whitespace', 'a key file from Windows', KEY, fromFile(`${KEY}\r\n`).toString()],
  ['key_whitespace', 'a sender that read its key with echo', `${KEY}\n`, KEY],
  ['key_whitespace', 'a sender on Windows that read its key with echo', `${KEY}\r\n`, KEY],
  ['key_whitespace', 'a copied space', `${KEY} `, KEY],
  ['key_whitespace', 'a tab from a spreadsheet', `${KEY}\t`, KEY],
  ['key_whitespace', 'a space before it at the sender', ` ${KEY}`, KEY],
  ['key_whitespace', 'an env file with a space after =', KEY, ` ${KEY}`],
  ['key_whitespace', 'different line endings on both sides', `${KEY}\n`, `${KEY}\r\n`],
  ['key_whitespace', 'a key file saved as UTF-8 with BOM', KEY, fromFile(`\ufeff${KEY}`)],
  ['key_whitespace', 'a key file saved as UTF-8 with BOM at the sender', `\ufeff${KEY}`, KEY],
  [
    'key_whitespace',
    'random bytes and a line feed',
    BINARY_KEY,
    Buffer.concat([BINARY_KEY, Buffer.from('\n')]),
  ],
  ['key_whitespace', 'the second key of the ring', KEY, ['AnotherKey2027', `${KEY}\n`]],

  ['key_encoding', 'the sender decodes it from hex', fromHex(HEX_KEY), HEX_KEY, /decoded from hex/],
  ['key_encoding', 'the receiver decodes it from hex', HEX_KEY, fromHex(HEX_KEY), /encoded in hex/],
  ['key_encoding', 'the receiver decodes it from hex in upper case', HEX_KEY.toUpperCase(), fromHex(HEX_KEY)],
  ['key_encoding', 'the sender decodes it from base64', DECODED_KEY, BASE64_KEY, /decoded from base64/],
  ['key_encoding', 'the receiver decodes it from base64', BASE64_KEY, DECODED_KEY, /encoded in base64/],
  ['key_encoding', 'base64 without padding', BASE64_KEY.replace('=', ''), DECODED_KEY],
  ['key_encoding', 'the sender decodes it from base64url', DECODED_KEY, DECODED_KEY.toString('base64url')],
  [
    'key_encoding',
    'decoded at the sender, and a line feed in the key file of the receiver',
    DECODED_KEY,
    `${BASE64_KEY}\n`,
  ],
  [
    'key_encoding',
    'the form that set the key turned + into spaces',
    BASE64_KEY.replaceAll('+', ' '),
    BASE64_KEY,
  ],
  ['key_encoding', 'the key of a form was never decoded', encodeURIComponent(BASE64_KEY), BASE64_KEY],
  ['key_encoding', 'a key with a space was never decoded from a form', 'Parcels+2026', 'Parcels 2026'],
  ['key_encoding', 'a key with a space was never decoded from a URL', 'Parcels%202026', 'Parcels 2026'],
  ['key_encoding', 'the receiver has it percent-encoded', UMLAUT_KEY, encodeURIComponent(UMLAUT_KEY)],
  ['key_encoding', 'the receiver has only / percent-encoded', BASE64_KEY, BASE64_KEY.replaceAll('/', '%2F')],
  // The decoder must keep the umlaut, which is not percent-encoded.
  ['key_encoding', 'the receiver has only the space percent-encoded', `${UMLAUT_KEY} a`, `${UMLAUT_KEY}%20a`],
  [
    'key_encoding',
    'the sender takes it as Latin-1',
    Buffer.from(UMLAUT_KEY, 'latin1'),
    UMLAUT_KEY,
    /Latin-1|1252/,
  ],
  ['key_encoding', ".NET's Encoding.Unicode", Buffer.from(KEY, 'utf16le'), KEY],
  ['key_encoding', "Java's UTF-16BE", Buffer.from(KEY, 'utf16le').swap16(), KEY],
  [
    'key_encoding',
    'random bytes converted to a string',
    BINARY_KEY.toString(),
    BINARY_KEY,
    /with its invalid bytes replaced/,
  ],
  [
    'key_encoding',
    "random bytes converted with Node's encoding binary",
    BINARY_KEY.toString('binary'),
    BINARY_KEY,
  ],

  ['key_invisible', 'a zero-width space at the end', KEY, `${KEY}\u200b`],
  ['key_invisible', 'a soft hyphen inside', KEY, `${KEY.slice(0, 4)}\u00ad${KEY.slice(4)}`],
  ['key_quotes', 'an env file read with its quotes', KEY, `"${KEY}"`],
  ['key_quotes', 'single quotes at the sender', `'${KEY}'`, KEY],
  ['key_copied', 'the name copied along', KEY, `SIGNATURE_KEY=${KEY}`],
  ['key_copied', 'export copied along', KEY, `export SIGNATURE_KEY=${KEY}`],
  ['key_prefix', 'the prefix of Standard Webhooks, with base64', KEY, `whsec_${btoa(KEY)}`],
  ['key_prefix', 'the prefix of Standard Webhooks at the sender', `whsec_${KEY}`, KEY],
  ['key_html', 'an ampersand from an HTML page', 'Parcels&2026', 'Parcels&amp;2026'],
  ['key_html', 'an ampersand written into HTML', 'Parcels&amp;2026', 'Parcels&2026'],
  ['key_escaped', 'a backslash and n at the end', `${KEY}\\n`, KEY],
  ['key_escaped', 'a backslash and n at the end of this key', KEY, `${KEY}\\n`],
  ['key_list', 'two keys separated by a comma', KEY, `Parcels2027Kataster,${KEY}`],
  ['key_list', 'two keys separated by a space', KEY, `Parcels2027Kataster ${KEY}`],
  ['key_truncated', 'a column of 8 characters', KEY.slice(0, 8), KEY],
  ['key_truncated', 'a column of 16 characters', KEY.slice(0, 16), KEY],
  ['key_hashed', 'the MD5 of the key in hex', createHash('md5').update(KEY).digest('hex'), KEY],
  ['key_hashed', 'the SHA-256 of the key', createHash('sha256').update(KEY).digest(), KEY],
  ['key_placeholder', 'String(undefined) at the sender', 'undefined', KEY],
  ['key_placeholder', 'str(None) at the sender', 'None', KEY],

  ['key_case', 'a form that writes keys in lower case', KEY.toLowerCase(), KEY],
  ['key_case', 'SQL Server gave a UUID back in upper case', UUID_KEY.toUpperCase(), UUID_KEY],
  ['key_case', 'a phone capitalized the first letter', 'parcels2026Kataster', KEY],
  ['key_case', 'a phone capitalized the first letter at the sender', KEY, 'parcels2026Kataster'],

  ['key_empty', 'the variable is not set at the sender', '', KEY, /computed with an empty key/],
  ['key_empty', 'the variable is empty at the receiver', KEY, '', /this side/],
  ['key_empty', 'the variable is not set at the receiver', KEY, undefined, /this side/],
  ['key_empty', 'the file is blank at the receiver', KEY, ' \n', /this side/],
  [
    'key_empty',
    'one of two variables is not set at the receiver',
    KEY,
    [KEY, undefined as unknown as string],
    /One of/,
  ],
  ['key_empty', 'the keyring is empty', KEY, [], /this side/],
  [
    'key_empty',
    'zero bytes at the receiver, which HMAC pads to the same key as the empty one',
    '',
    Buffer.alloc(32),
    /all zero bytes/,
  ],
  ['key_empty', 'a zero byte as text on both sides', '\0', '\0', /all zero bytes/],
  // `verify()` throws for a ring with an empty key, even if the signature is valid.
  ['key_empty', 'an empty key next to the right one', KEY, [KEY, ''], /One of the keys/],
  // Anyone can sign with an empty key.
  ['key_empty', 'empty on both sides, which is never ok', '', ''],
  ['key_empty', 'no bytes on both sides', '', new Uint8Array()],

  ['key_previous', 'the newer key is not set on the webhook yet', KEY, ['Parcels2027', KEY], /key 1 of/],
  [
    'key_previous',
    'the sender is two rotations behind',
    KEY,
    ['Parcels2028', Buffer.from('Parcels2027'), KEY],
    /key 2 of/,
  ],
]

export const KEY_ROWS: readonly Row[] = [
  ...TABLE.map<Row>(([cause, name, key, ring, evidence]) => ({
    cause,
    name,
    sent: { key },
    got: { key: ring },
    ...(evidence ? { evidence } : {}),
  })),
  {
    cause: 'key_whitespace',
    name: 'a line feed, with the signature in the last field of a form',
    headers: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    got: { key: `${KEY}\n`, body: (digest) => `payload=${JSON_BODY}&X-Service=${digest.toString('hex')}` },
  },
  {
    cause: 'key_empty',
    name: 'empty on both sides, in another header',
    sent: { key: '' },
    headers: (digest) => ({ 'x-hub-signature-256': digest.toString('hex') }),
    got: { key: '' },
  },
]
