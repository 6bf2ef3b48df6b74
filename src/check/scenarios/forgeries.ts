import { judgeEach, refuses } from '../judge.ts'
import type { Scenario } from '../scenario.ts'

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
