import { judgeEach, refuses } from '../judge.ts'
import type { Scenario } from '../scenario.ts'
import type { Sender } from '../sender.ts'

const KEY_FIX = 'Respond with 401, before you use any part of the body.'

/** Requests without a signature, or with a value that cannot be one. */
export const SIGNATURES: readonly Scenario[] = [
  {
    id: 'signature-missing',
    level: 'must',
    title: 'refuses a delivery without the signature header',
    reason: 'Anyone could send events.',
    fix: KEY_FIX,
    run: (probe) =>
      judgeEach(
        probe,
        [{ sent: 'a delivery without the header', body: probe.sender.create().body, credential: null }],
        refuses,
      ),
  },
  {
    id: 'signature-empty',
    level: 'must',
    title: 'refuses an empty signature, a prefix alone, and a placeholder such as null',
    reason: 'A receiver must not take such a value for "nothing to verify".',
    fix: KEY_FIX,
    run: (probe) =>
      judgeEach(
        probe,
        ['', ' ', 'null', 'undefined', probe.sender.prefix, 'sha256='].map((credential) => ({
          sent: `the signature ${JSON.stringify(credential)}`,
          body: probe.sender.create().body,
          credential,
        })),
        refuses,
      ),
  },
  {
    id: 'signature-malformed',
    level: 'must',
    title: 'refuses values that cannot be a signature',
    reason:
      'In some languages, comparing values of different lengths throws, and the receiver responds with 5xx. The sender may then retry, and may disable the webhook after several failures.',
    fix: 'Check the length and the alphabet of the header before you compare. Respond with 401.',
    run(probe) {
      const { body } = probe.sender.create()
      return judgeEach(
        probe,
        [
          ['of one character', wrongStart(probe.sender, body)],
          ['of 6,000 characters', 'a'.repeat(6000)],
          ['with characters outside ASCII', '\u00e9'.repeat(32)],
          ['of 64 letters that are not hex digits', 'z'.repeat(64)],
          ['of invalid base64', `${'*'.repeat(43)}=`],
          ['of JSON', '{"signature":"none"}'],
          ['with two values', `${'0'.repeat(64)}, ${'0'.repeat(64)}`],
          ['with broken percent-encoding', '%zz%signature%'],
        ].map(([what, credential = '']) => ({ sent: `a signature ${what}`, body, credential })),
        refuses,
      )
    },
  },
  {
    id: 'signature-odd-hex',
    level: 'must',
    needsSignature: true,
    title: 'refuses a signature with more or fewer than 64 hex digits',
    reason:
      'Functions such as timingSafeEqual throw if the lengths differ, and some hex decoders throw for an odd number of digits, so the receiver responds with 5xx. The sender may then retry, and may disable the webhook after several failures.',
    fix: 'Check that the decoded signature has 32 bytes before you compare. Respond with 401.',
    run: (probe) =>
      judgeEach(
        probe,
        [63, 65, 62, 66, 3, 128].map((length) => {
          const { body } = probe.sender.create()
          const digits = wrongStart(probe.sender, body).repeat(length)
          return {
            sent: `a signature of ${length} hex digits`,
            body,
            credential: probe.sender.prefix + digits,
          }
        }),
        refuses,
      ),
  },
  {
    id: 'signature-truncated',
    level: 'must',
    title: 'refuses the first or the last part of the right signature',
    reason:
      'A receiver that compares only as many bytes as it was given accepts a signature of one byte, which anyone can guess.',
    fix: 'Check that the signature has its full length.',
    run: (probe) =>
      judgeEach(
        probe,
        [1, 2, 8, 22, 32, 42, -8].map((length) => {
          const { body } = probe.sender.create()
          const { prefix, isSigned } = probe.sender
          const whole = probe.sender.credential(body, { prefix: '' })
          const kept = Math.min(Math.abs(length), whole.length - 1)
          return {
            sent: `the ${length < 0 ? 'last' : 'first'} ${kept === 1 ? 'character' : `${kept} characters`} of the right ${isSigned ? 'signature' : 'key'}`,
            body,
            credential: (isSigned ? prefix : '') + (length < 0 ? whole.slice(-kept) : whole.slice(0, kept)),
          }
        }),
        refuses,
      ),
  },
]

/**
 * Returns a hex digit with which the right signature does not start. A receiver that compares only as many characters as
 * it gets would accept the right digit, and `signature-truncated` is about such receivers.
 */
function wrongStart(sender: Sender, body: Uint8Array): string {
  const right = sender.credential(body, { prefix: '' })
  return right.toLowerCase().startsWith('a') ? 'b' : 'a'
}
