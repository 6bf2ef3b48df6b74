import { judgeEach, refuses } from '../judge.ts'
import type { Scenario } from '../scenario.ts'

const KEY_FIX = 'Refuse the request before you use anything of its body, and answer 401.'

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
    title: 'refuses an empty signature',
    reason: 'An empty value must not count as "nothing to verify".',
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
      'Comparing values of different lengths throws in some languages. A 5xx makes the sender retry, and disable the webhook.',
    fix: 'Check the length and the alphabet of the header before you compare. Answer 401.',
    run: (probe) =>
      judgeEach(
        probe,
        [
          ['of one character', 'a'],
          ['of 6,000 characters', 'a'.repeat(6000)],
          ['with characters outside ASCII', '\u00e9'.repeat(32)],
          ['of 64 letters that are not hex digits', 'z'.repeat(64)],
          ['of invalid base64', `${'*'.repeat(43)}=`],
          ['of JSON', '{"a":1}'],
          ['with two values', `${'0'.repeat(64)}, ${'0'.repeat(64)}`],
          ['with broken percent-encoding', '%zz%'],
        ].map(([what, credential = '']) => ({
          sent: `a signature ${what}`,
          body: probe.sender.create().body,
          credential,
        })),
        refuses,
      ),
  },
  {
    id: 'signature-odd-hex',
    level: 'must',
    needsSignature: true,
    title: 'refuses a signature with an odd or wrong number of hex digits',
    reason:
      'Functions such as timingSafeEqual and hex decoders throw for them. A 5xx makes the sender retry, and disable the webhook.',
    fix: 'Check that the decoded signature has 32 bytes before you compare. Answer 401.',
    run: (probe) =>
      judgeEach(
        probe,
        [63, 65, 62, 66, 3, 128].map((length) => ({
          sent: `a signature of ${length} hex digits`,
          body: probe.sender.create().body,
          credential: probe.sender.prefix + 'ab'.repeat(64).slice(0, length),
        })),
        refuses,
      ),
  },
  {
    id: 'signature-truncated',
    level: 'must',
    title: 'refuses the first part of the right signature',
    reason:
      'A receiver that compares only as many bytes as it was given accepts a signature of one byte, which anyone can guess.',
    fix: 'Check that the signature has its full length.',
    run: (probe) =>
      judgeEach(
        probe,
        [1, 2, 8, 22, 32, 42].map((length) => {
          const { body } = probe.sender.create()
          const { prefix, isSigned } = probe.sender
          const whole = probe.sender.credential(body, { prefix: '' })
          const kept = Math.min(length, whole.length - 1)
          return {
            sent: `the first ${kept === 1 ? 'character' : `${kept} characters`} of the right ${isSigned ? 'signature' : 'key'}`,
            body,
            credential: (isSigned ? prefix : '') + whole.slice(0, kept),
          }
        }),
        refuses,
      ),
  },
]
