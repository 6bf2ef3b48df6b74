import { createSigner } from '../../testing/signer.ts'
import { writeChunk } from '../connection.ts'
import { accepts, each, type Scenario, untilProblem } from '../judge.ts'
import { type DeliveryParts, FORM_TYPE } from '../probe.ts'
import type { Sender } from '../sender.ts'
import { skipped } from '../types.ts'

/** Valid deliveries, as senders and proxies write them, and ways to write the same signature. */
export const ACCEPTANCE: readonly Scenario[] = [
  {
    id: 'valid-json',
    level: 'must',
    title: 'accepts a valid JSON delivery',
    reason: 'Otherwise the receiver gets no events, and refusing other requests means nothing.',
    fix: 'Check the URL and the key. Then capture a delivery of the real sender with `geohook listen --save`, run `geohook explain` on it, and give `geohook check` the same profile, signature header, encoding and prefix.',
    run: each(accepts, () => [{ sent: 'a valid delivery' }]),
  },
  {
    id: 'valid-form',
    level: 'should',
    title: 'accepts a valid delivery as a form',
    reason: 'A webhook can be configured to send its payload in the form field `payload`.',
    fix: 'Verify the signature over the bytes of the form, then decode the form, then parse the field `payload`.',
    async run(probe) {
      const form = await signedForm(probe.sender, probe.sender.create().body)
      return accepts(await probe.deliver(form), 'a valid delivery as a form')
    },
  },
  {
    id: 'form-decoded-once',
    level: 'must',
    title: 'decodes a form exactly once',
    reason:
      'Decoding twice changes text such as %22 in a payload, so that the JSON becomes invalid or gets another meaning.',
    fix: 'Decode the form once, with a form parser. Do not decode the field again.',
    async run(probe) {
      const { sender } = probe
      if (sender.isSigned && sender.dialect === 'hosted')
        return skipped('the sender does not percent-encode its forms')
      const notes = ['plain', '%22 %26payload=%7B', '100% & a+b %zz']
      return untilProblem(notes, async (note) => {
        const reply = await probe.deliver(await signedForm(sender, sender.create({ note }).body))
        const finding = accepts(reply, 'a valid form with percent signs in its payload')
        return finding.verdict === 'failed' && note === notes[0]
          ? skipped('the receiver does not accept forms (valid-form)')
          : finding
      })
    },
  },
  {
    id: 'valid-utf8',
    level: 'must',
    title: 'accepts text outside ASCII',
    reason: 'A receiver that hashes characters in place of bytes refuses names with umlauts or emoji.',
    fix: 'Compute the signature over the bytes of the body, as they arrived.',
    run: each(accepts, ({ create }) => [
      {
        sent: 'a valid delivery with characters of 1 to 4 bytes',
        body: create({ note: 'Gr\u00fc\u00dfe \u{1f30d} \u2028' }).body,
      },
    ]),
  },
  {
    id: 'body-reserialized',
    level: 'must',
    needsSignature: true,
    title: 'accepts JSON that a parser would write differently',
    reason:
      'Senders may indent JSON or escape characters. A receiver that parses and serializes the body before it computes the signature refuses such deliveries, and accepts unsigned bodies.',
    fix: 'Keep the raw bytes of the body, and compute the signature over them.',
    run: each(accepts, ({ create }) => {
      const odd = JSON.stringify(JSON.parse(create().body.toString()), null, '\t ')
        .replaceAll('\n', '\r\n')
        .replaceAll('/', '\\/')
        .replace('check', '\\u0063heck')
      return [{ sent: 'valid JSON with white space and escapes', body: Buffer.from(`${odd}\r\n`) }]
    }),
  },
  {
    id: 'body-dollar',
    level: 'must',
    title: 'accepts text such as $& and {{x}}, which replacements and templates would change',
    reason:
      'String.replace changes $& in a replacement, and templates change {{x}}. If the body goes through one of them before it is verified, the signature does not match.',
    fix: 'Compute the signature over the bytes of the body, as they arrived. Until then, do not pass it to String.replace, a template or a shell command.',
    run: each(accepts, ({ create }) => [
      {
        sent: 'a valid delivery with $&',
        body: create({ note: "$& $1 $$ $` $' {{x}} %s %n %22 \\0 `id`" }).body,
      },
    ]),
  },
  {
    id: 'several-events',
    level: 'must',
    title: 'accepts several events in one delivery',
    reason: 'Services collect events for some seconds, and send them together.',
    fix: 'Handle each item of `events`.',
    run: each(accepts, ({ create, dialect }) => {
      const events =
        dialect === 'organization'
          ? ['update', 'add']
          : ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted']
      return [{ sent: `a valid delivery with ${events.length} events`, body: create({ events }).body }]
    }),
  },
  {
    id: 'chunked',
    level: 'must',
    title: 'accepts a body without content-length, in chunks',
    reason:
      'Proxies and HTTP clients may send a body with transfer-encoding: chunked (RFC 9112 section 7.1).',
    fix: 'Read the body to its end; do not rely on content-length.',
    async run(probe) {
      const { body } = probe.sender.create()
      const head = probe.head({ body, headers: [['transfer-encoding', 'chunked']], length: null })
      const reply = await probe.exchange(async (connection) => {
        await connection.write(head)
        for (let at = 0; at < body.length; at += 100)
          await connection.write(writeChunk(body.subarray(at, at + 100)))
        await connection.write(writeChunk(Buffer.alloc(0)))
      })
      return accepts(reply, 'a valid delivery in chunks of 100 bytes')
    },
  },
  {
    id: 'split-writes',
    level: 'must',
    title: 'accepts a body in several packets',
    reason: 'The network may split a request anywhere, also inside a character.',
    fix: 'Collect all bytes of the body before you compute the signature, and never decode single chunks.',
    async run(probe) {
      const { body } = probe.sender.create({ note: '\u{1f30d}'.repeat(40) })
      const bytes = probe.bytes({ body })
      const reply = await probe.exchange(async (connection) => {
        for (let at = 0; at < bytes.length; at += 41) {
          await connection.write(bytes.subarray(at, at + 41))
          await new Promise((resolve) => setTimeout(resolve, 2)) // so that the packets stay apart
        }
      })
      return accepts(reply, 'a valid delivery in pieces of 41 bytes')
    },
  },
  {
    id: 'header-name-case',
    level: 'must',
    title: 'reads header names in upper case and in lower case',
    reason: 'Header names are case-insensitive (RFC 9110 section 5.1), and proxies change them.',
    fix: 'Look up headers case-insensitively.',
    run: each(accepts, (sender) =>
      [sender.header.toUpperCase(), sender.header.toLowerCase()].map((name) => {
        const { body } = sender.create()
        const headers = [[name, sender.credential(body)]] as const
        return { sent: `a valid delivery with the header ${name}`, body, credential: null, headers }
      }),
    ),
  },
  {
    id: 'charset-parameter',
    level: 'must',
    title: 'accepts a content type with a parameter',
    reason: 'HTTP clients add `; charset=utf-8` to application/json.',
    fix: 'Compare only the media type, without its parameters and in any case.',
    run: each(accepts, () =>
      ['application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'].map((contentType) => ({
        sent: `a valid delivery with content-type: ${contentType}`,
        contentType,
      })),
    ),
  },
  {
    id: 'encoding-hex',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature in hex',
    reason: 'Vendors write signatures in hex or in base64, and their pages contradict each other.',
    fix: 'Decode the header as hex if it has 64 hex digits.',
    run: each(accepts, ({ credential }) => [
      { sent: 'a valid signature in hex', credential: (body) => credential(body, { encoding: 'hex' }) },
    ]),
  },
  {
    id: 'encoding-base64',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature in base64',
    reason: 'Vendors write signatures in hex or in base64, and their pages contradict each other.',
    fix: 'Decode the header as base64 if it has 43 or 44 characters.',
    run: each(accepts, ({ credential }) => [
      { sent: 'a valid signature in base64', credential: (body) => credential(body, { encoding: 'base64' }) },
    ]),
  },
  {
    id: 'prefix',
    level: 'may',
    needsSignature: true,
    title: 'accepts a signature with and without the prefix sha256=',
    reason: 'Some senders name the algorithm before the signature.',
    fix: 'Remove the prefix sha256= if the header has it.',
    run: each(accepts, ({ credential }) =>
      ['sha256=', ''].map((prefix) => ({
        sent: `a valid signature with ${prefix === '' ? 'no prefix' : `the prefix ${prefix}`}`,
        credential: (body) => credential(body, { prefix }),
      })),
    ),
  },
  {
    id: 'percent-encoded',
    level: 'may',
    needsSignature: true,
    title: 'accepts a percent-encoded signature',
    reason: 'Some senders percent-encode the header, for example sha256%3d….',
    fix: 'Percent-decode the header once. Keep +, which is a base64 character.',
    run: each(accepts, ({ credential }) => [
      {
        sent: 'a valid signature, percent-encoded',
        credential: (body) =>
          credential(body, { encoding: 'base64', prefix: 'sha256=' }).replace(
            /[=+/]/g,
            (character) => `%${character.charCodeAt(0).toString(16)}`,
          ),
      },
    ]),
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
      const { prefix } = probe.sender
      const credential = (body: Buffer): string =>
        prefix + probe.sender.credential(body, { prefix: '' }).toUpperCase()
      return accepts(await probe.deliver({ credential }), 'a valid signature in upper case')
    },
  },
]

/** Returns a delivery as this sender writes forms: hosted services sign in the last field, the others in the header. */
async function signedForm(sender: Sender, json: Uint8Array): Promise<DeliveryParts> {
  const isInField = sender.isSigned && sender.dialect === 'hosted'
  const { bytes } = await createSigner({
    signatureKey: sender.key,
    signatureHeader: sender.header,
    encoding: sender.encoding,
    prefix: sender.prefix,
    contentType: FORM_TYPE,
    signatureIn: isInField ? 'field' : 'header',
    formPayload: isInField ? 'plain' : 'encoded',
  }).sign(Buffer.from(json).toString())
  const credential = isInField ? null : sender.credential(bytes)
  return { body: bytes, contentType: FORM_TYPE, credential }
}
