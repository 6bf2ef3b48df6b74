import { accepts, judgeEach, skipped } from '../judge.ts'
import type { Scenario } from '../scenario.ts'

/** Ways to write the same signature. */
export const NOTATIONS: readonly Scenario[] = [
  {
    id: 'encoding-hex',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature in hex',
    reason: 'Vendors write signatures in hex or in base64, and their pages contradict each other.',
    fix: 'Decode the header as hex if it has 64 hex digits.',
    run: async (probe) => {
      const { body } = probe.sender.create()
      const credential = probe.sender.credential(body, { encoding: 'hex' })
      return accepts(await probe.deliver(body, { credential }), 'a valid signature in hex')
    },
  },
  {
    id: 'encoding-base64',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature in base64',
    reason: 'Vendors write signatures in hex or in base64, and their pages contradict each other.',
    fix: 'Decode the header as base64 if it has 43 or 44 characters.',
    run: async (probe) => {
      const { body } = probe.sender.create()
      const credential = probe.sender.credential(body, { encoding: 'base64' })
      return accepts(await probe.deliver(body, { credential }), 'a valid signature in base64')
    },
  },
  {
    id: 'prefix',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature with and without the prefix sha256=',
    reason: 'Some senders name the algorithm before the signature.',
    fix: 'Remove the prefix sha256= if the header has it.',
    run: (probe) =>
      judgeEach(
        probe,
        ['sha256=', ''].map((prefix) => {
          const { body } = probe.sender.create()
          const sent = `a valid signature with ${prefix === '' ? 'no prefix' : `the prefix ${prefix}`}`
          return { sent, body, credential: probe.sender.credential(body, { prefix }) }
        }),
        accepts,
      ),
  },
  {
    id: 'percent-encoded',
    level: 'may',
    needsSignature: true,
    title: 'accepts a percent-encoded signature',
    reason: 'Some senders percent-encode the header, for example sha256%3d….',
    fix: 'Percent-decode the header once. Keep +, which is a base64 character.',
    run: async (probe) => {
      const { body } = probe.sender.create()
      const signature = probe.sender.credential(body, { encoding: 'base64', prefix: 'sha256=' })
      const credential = signature.replace(
        /[=+/]/g,
        (character) => `%${character.charCodeAt(0).toString(16)}`,
      )
      return accepts(await probe.deliver(body, { credential }), 'a valid signature, percent-encoded')
    },
  },
  {
    id: 'upper-case-hex',
    level: 'should',
    needsSignature: true,
    title: 'accepts hex digits in upper case',
    reason:
      'Hex digits may be in either case (RFC 4648 section 8). A receiver that refuses one of them probably compares text, often with ==, which is not constant-time.',
    fix: 'Decode the signature to 32 bytes, and compare the bytes with a constant-time function.',
    async run(probe) {
      if (probe.sender.encoding !== 'hex') return skipped('the sender writes base64')
      const { body } = probe.sender.create()
      const { prefix } = probe.sender
      const credential = prefix + probe.sender.credential(body, { prefix: '' }).toUpperCase()
      return accepts(await probe.deliver(body, { credential }), 'a valid signature in upper case')
    },
  },
]
