import { type Attempt, each, refuses, type Scenario } from '../judge.ts'
import type { Sender } from '../sender.ts'

const KEY_FIX = 'Respond with 401, before you use any part of the body.'

/** Requests without a signature, with a value that cannot be one, and with signatures that look right. */
export const SIGNATURES: readonly Scenario[] = [
  {
    id: 'signature-missing',
    level: 'must',
    title: 'refuses a delivery without the signature header',
    reason: 'Anyone could send events.',
    fix: KEY_FIX,
    run: each(refuses, () => [{ sent: 'a delivery without the header', credential: null }]),
  },
  {
    id: 'signature-empty',
    level: 'must',
    title: 'refuses an empty signature, a prefix alone, and a placeholder such as null',
    reason: 'A receiver must not take such a value for "nothing to verify".',
    fix: KEY_FIX,
    run: each(refuses, (sender) =>
      ['', ' ', 'null', 'undefined', sender.prefix, 'sha256='].map((credential) => ({
        sent: `the signature ${JSON.stringify(credential)}`,
        credential,
      })),
    ),
  },
  {
    id: 'signature-malformed',
    level: 'must',
    title: 'refuses values that cannot be a signature',
    reason:
      'In some languages, comparing values of different lengths throws, and the receiver responds with 5xx. The sender may then retry, and may disable the webhook after several failures.',
    fix: 'Check the length and the alphabet of the header before you compare. Respond with 401.',
    run: each(refuses, (sender) => {
      const { body } = sender.create()
      return [
        ['of one character', wrongDigit(sender, body)],
        ['of 6,000 characters', 'a'.repeat(6000)],
        ['with characters outside ASCII', '\u00e9'.repeat(32)],
        ['of 64 letters that are not hex digits', 'z'.repeat(64)],
        ['of invalid base64', `${'*'.repeat(43)}=`],
        ['of JSON', '{"signature":"none"}'],
        ['with two values', `${'0'.repeat(64)}, ${'0'.repeat(64)}`],
        ['with broken percent-encoding', '%zz%signature%'],
      ].map(([what, credential = '']) => ({ sent: `a signature ${what}`, body, credential }))
    }),
  },
  {
    id: 'signature-odd-hex',
    level: 'must',
    needsSignature: true,
    title: 'refuses a signature with more or fewer than 64 hex digits',
    reason:
      'Functions such as timingSafeEqual throw if the lengths differ, and some hex decoders throw for an odd number of digits, so the receiver responds with 5xx. The sender may then retry, and may disable the webhook after several failures.',
    fix: 'Check that the decoded signature has 32 bytes before you compare. Respond with 401.',
    run: each(refuses, (sender) =>
      [63, 65, 62, 66, 3, 128].map((length) => ({
        sent: `a signature of ${length} hex digits`,
        credential: (body) => sender.prefix + wrongDigit(sender, body).repeat(length),
      })),
    ),
  },
  {
    id: 'signature-truncated',
    level: 'must',
    title: 'refuses the first or the last part of the right signature',
    reason:
      'A receiver that compares only as many bytes as it was given accepts a signature of one byte, which anyone can guess.',
    fix: 'Check that the signature has its full length.',
    run: each(refuses, (sender) =>
      [1, 2, 8, 22, 32, 42, -8].map((length) => {
        const { body } = sender.create()
        const { prefix, isSigned } = sender
        const whole = sender.credential(body, { prefix: '' })
        const kept = Math.min(Math.abs(length), whole.length - 1)
        return {
          sent: `the ${length < 0 ? 'last' : 'first'} ${kept === 1 ? 'character' : `${kept} characters`} of the right ${isSigned ? 'signature' : 'key'}`,
          body,
          credential: (isSigned ? prefix : '') + (length < 0 ? whole.slice(-kept) : whole.slice(0, kept)),
        }
      }),
    ),
  },
  {
    id: 'signature-wrong-key',
    level: 'must',
    title: 'refuses a signature made with another key',
    reason: 'Anyone could send events.',
    fix: 'Compare the header with the HMAC-SHA256 of the body under the stored key, and respond with 401 if they differ.',
    run: each(refuses, (sender) =>
      ['another key', 'secret']
        .filter((key) => !Buffer.from(key).equals(Buffer.from(sender.key as Uint8Array)))
        .map((key) => ({
          sent: 'a signature made with another key',
          credential: (body) => sender.credential(body, { key }),
        })),
    ),
  },
  {
    id: 'signature-empty-key',
    level: 'must',
    needsSignature: true,
    title: 'refuses a signature made with an empty key',
    reason:
      'If the variable with the key is not set, some receivers use an empty key or the text `undefined`, which anyone can guess.',
    fix: 'Do not start without a key.',
    run: each(refuses, ({ credential }) =>
      ['', '\0'.repeat(32), 'undefined', 'null', 'None'].map((key) => ({
        sent: `a signature made with the key ${JSON.stringify(key)}`,
        credential: (body) => credential(body, { key }),
      })),
    ),
  },
  {
    id: 'signature-other-algorithm',
    level: 'must',
    needsSignature: true,
    title: 'refuses signatures of other algorithms',
    reason:
      'If the request names the algorithm, an attacker chooses the weakest one that the receiver accepts.',
    fix: 'Accept only HMAC-SHA256; never read the algorithm from the request.',
    run: each(refuses, ({ credential }) =>
      ['md5', 'sha1', 'sha512'].map((algorithm) => ({
        sent: `a valid signature with HMAC-${algorithm.toUpperCase()}`,
        credential: (body) => credential(body, { algorithm, prefix: `${algorithm}=` }),
      })),
    ),
  },
  {
    id: 'signature-partly-right',
    level: 'must',
    needsSignature: true,
    title: 'refuses a partly right signature, in hex and in base64',
    reason:
      'If a receiver compares only some of the bytes, their sum, or base64 without its case, an attacker needs far fewer guesses.',
    fix: 'Decode the signature to 32 bytes, and compare all of them with a constant-time function.',
    run: each(refuses, partlyRight),
  },
  {
    id: 'signature-repeated',
    level: 'should',
    title: 'refuses two signature headers',
    reason:
      'A proxy and the receiver may each read another of the two values, so one of them may verify a value that the other ignores.',
    fix: 'Refuse a request whose signature header occurs more than once.',
    run: each(refuses, (sender) =>
      [true, false].map((isFirst) => {
        const { body } = sender.create()
        const right = sender.credential(body)
        const wrong = sender.credential(body, { key: 'another key' })
        const [first, second] = isFirst ? [right, wrong] : [wrong, right]
        const headers = [[sender.header, second]] as const
        return {
          sent: `the right and a wrong header, the right one ${isFirst ? 'first' : 'last'}`,
          body,
          credential: first,
          headers,
        }
      }),
    ),
  },
  {
    id: 'signature-double-encoded',
    level: 'should',
    needsSignature: true,
    title: 'refuses a signature that is percent-encoded twice',
    reason:
      'A receiver that decodes more than once accepts values that a proxy or a firewall in front of it does not recognize.',
    fix: 'Percent-decode the header at most once.',
    run: each(refuses, ({ credential }) =>
      ['%25', '%2525'].map((percent) => ({
        sent: `the right signature, percent-encoded ${percent === '%25' ? 'twice' : 'three times'}`,
        credential: (body) => percentEncodeAll(credential(body)).replaceAll('%', percent),
      })),
    ),
  },
]

/** Percent-encodes the first character, and all that are not letters or digits. */
const percentEncodeAll = (text: string): string =>
  text.replace(/^.|[^0-9A-Za-z]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)

/** Numbers of right bytes at the start, or at the end, of a partly right signature. */
const RIGHT_AT_START = [4, 8, 16, 31]
const RIGHT_AT_END = [4, 31]

/** Returns other bytes that a decoder of UTF-8 turns into the same text, because it replaces or drops invalid bytes. */
function sameText(right: Buffer): Buffer {
  for (let at = 0; at < right.length; at++) {
    const other = Buffer.from(right)
    other[at] = right[at] === 0xff ? 0xfe : 0xff
    if (String(other) === String(right)) return other
  }
  return Buffer.from(right.map((byte) => ~byte))
}

/** Deliveries with partly right signatures: each has 32 bytes, and some of them are wrong. */
function partlyRight({ credential, prefix }: Sender): Attempt[] {
  const only = (isRight: (at: number) => boolean) => (right: Buffer) =>
    right.map((byte, at) => (isRight(at) ? byte : ~byte))
  const changes: [string, (right: Buffer) => Uint8Array][] = [
    ...RIGHT_AT_START.map((count): (typeof changes)[number] => [
      `right only in its first ${count} bytes`,
      only((at) => at < count),
    ]),
    ...RIGHT_AT_END.map((count): (typeof changes)[number] => [
      `right only in its last ${count} bytes`,
      only((at) => at >= 32 - count),
    ]),
    ['right only in its first and last 4 bytes', only((at) => at % 28 < 4)],
    ['with the right bytes in reverse order', (right) => right.reverse()],
    ['right only in the low 7 bits of each byte, as in ASCII', (right) => right.map((byte) => byte ^ 0x80)],
    ['right only as UTF-8 text', sameText],
  ]
  const attempts = (['hex', 'base64'] as const).flatMap((encoding) =>
    changes.map(
      ([what, change]): Attempt => ({
        sent: `a signature in ${encoding}, ${what}`,
        credential(body) {
          const right = Buffer.from(credential(body, { encoding: 'hex', prefix: '' }), 'hex')
          return prefix + Buffer.from(change(right)).toString(encoding)
        },
      }),
    ),
  )
  const swapped: Attempt = {
    sent: 'the right base64 with swapped case',
    credential: (body) =>
      prefix +
      credential(body, { encoding: 'base64', prefix: '' }).replace(/[a-z]/gi, (letter) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      ),
  }
  return [...attempts, swapped]
}

/**
 * Returns a hex digit with which the right signature neither starts nor ends. A receiver that compares only as many
 * characters as it gets would accept the right digit, and `signature-truncated` is about such receivers.
 */
function wrongDigit(sender: Sender, body: Uint8Array): string {
  const right = sender.credential(body, { prefix: '' }).toLowerCase()
  return [...'abc'].find((digit) => !right.startsWith(digit) && !right.endsWith(digit)) as string
}
