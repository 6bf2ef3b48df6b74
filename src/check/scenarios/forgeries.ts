import { type Attempt, judgeEach, refuses } from '../judge.ts'
import type { Scenario } from '../scenario.ts'
import type { Sender } from '../sender.ts'

/** Signatures that look right. */
export const FORGERIES: readonly Scenario[] = [
  {
    id: 'signature-wrong-key',
    level: 'must',
    title: 'refuses a signature made with another key',
    reason: 'Anyone could send events.',
    fix: 'Compare the header with the HMAC-SHA256 of the body under the stored key, and respond with 401 if they differ.',
    run: (probe) =>
      judgeEach(
        probe,
        ['another key', 'secret']
          .filter((key) => !Buffer.from(key).equals(Buffer.from(probe.sender.key as Uint8Array)))
          .map((key) => {
            const { body } = probe.sender.create()
            return {
              sent: 'a signature made with another key',
              body,
              credential: probe.sender.credential(body, { key }),
            }
          }),
        refuses,
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
    run: (probe) =>
      judgeEach(
        probe,
        ['', '\0'.repeat(32), 'undefined', 'null', 'None'].map((key) => {
          const { body } = probe.sender.create()
          return {
            sent: `a signature made with the key ${JSON.stringify(key)}`,
            body,
            credential: probe.sender.credential(body, { key }),
          }
        }),
        refuses,
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
    run: (probe) =>
      judgeEach(
        probe,
        ['md5', 'sha1', 'sha512'].map((algorithm) => {
          const { body } = probe.sender.create()
          const credential = probe.sender.credential(body, { algorithm, prefix: `${algorithm}=` })
          return { sent: `a valid signature with HMAC-${algorithm.toUpperCase()}`, body, credential }
        }),
        refuses,
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
    run: (probe) => judgeEach(probe, partlyRight(probe.sender), refuses),
  },
  {
    id: 'signature-repeated',
    level: 'should',
    title: 'refuses two signature headers',
    reason:
      'A proxy and the receiver may each read another of the two values, so one of them may verify a value that the other ignores.',
    fix: 'Refuse a request whose signature header occurs more than once.',
    run: (probe) =>
      judgeEach(
        probe,
        [true, false].map((isFirst) => {
          const { body } = probe.sender.create()
          const right = probe.sender.credential(body)
          const wrong = probe.sender.credential(body, { key: 'another key' })
          const [first, second] = isFirst ? [right, wrong] : [wrong, right]
          const headers = [[probe.sender.header, second]] as const
          return {
            sent: `the right and a wrong header, the right one ${isFirst ? 'first' : 'last'}`,
            body,
            credential: first,
            headers,
          }
        }),
        refuses,
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
    run: (probe) =>
      judgeEach(
        probe,
        [true, false].map((isEncoded) => {
          const { body } = probe.sender.create()
          const once = percentEncodeAll(probe.sender.credential(body))
          return {
            sent: `the right signature, percent-encoded ${isEncoded ? 'twice' : 'three times'}`,
            body,
            credential: isEncoded
              ? once.replaceAll('%', '%25')
              : once.replaceAll('%', '%25').replaceAll('%', '%25'),
          }
        }),
        refuses,
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
  return right.map((byte) => ~byte) as Buffer
}

/** Deliveries with partly right signatures: each has 32 bytes, and some of them are wrong. */
function partlyRight({ create, credential, prefix }: Sender): Attempt[] {
  const changes: [string, (right: Buffer) => Buffer][] = [
    ...RIGHT_AT_START.map((count): [string, (right: Buffer) => Buffer] => [
      `right only in its first ${count} bytes`,
      (right) => right.map((byte, at) => (at < count ? byte : ~byte)) as Buffer,
    ]),
    ...RIGHT_AT_END.map((count): [string, (right: Buffer) => Buffer] => [
      `right only in its last ${count} bytes`,
      (right) => right.map((byte, at) => (at >= right.length - count ? byte : ~byte)) as Buffer,
    ]),
    [
      'right only in its first and last 4 bytes',
      (right) => right.map((byte, at) => (at % 28 < 4 ? byte : ~byte)) as Buffer,
    ],
    ['with the right bytes in reverse order', (right) => Buffer.from(right).reverse()],
    [
      'right only in the low 7 bits of each byte, as in ASCII',
      (right) => right.map((byte) => byte ^ 0x80) as Buffer,
    ],
    ['right only as UTF-8 text', sameText],
  ]
  const attempts = (['hex', 'base64'] as const).flatMap((encoding) =>
    changes.map(([what, change]): Attempt => {
      const { body } = create()
      const right = Buffer.from(credential(body, { encoding: 'hex', prefix: '' }), 'hex')
      return {
        sent: `a signature in ${encoding}, ${what}`,
        body,
        credential: prefix + Buffer.from(change(right)).toString(encoding),
      }
    }),
  )
  const { body } = create()
  const swapped = credential(body, { encoding: 'base64', prefix: '' }).replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
  return [...attempts, { sent: 'the right base64 with swapped case', body, credential: prefix + swapped }]
}
