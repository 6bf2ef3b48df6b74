import { writeChunk, writeHead } from '../http/write-request.ts'
import { accepts, judgeEach, skipped, undecided } from '../judge.ts'
import type { Scenario } from '../scenario.ts'
import { signedForm } from '../signed-form.ts'

/** Valid deliveries, as senders and proxies write them. */
export const ACCEPTANCE: readonly Scenario[] = [
  {
    id: 'valid-json',
    level: 'must',
    title: 'accepts a valid JSON delivery',
    reason: 'Otherwise the receiver gets no events, and refusing other requests means nothing.',
    fix: 'Check the URL and the key. Then capture a delivery of the real sender with `geohook listen --save`, run `geohook explain` on it, and give `geohook check` the same profile, signature header, encoding and prefix.',
    run: async (probe) => accepts(await probe.deliver(probe.sender.create().body), 'a valid delivery'),
  },
  {
    id: 'valid-form',
    level: 'should',
    title: 'accepts a valid delivery as a form',
    reason: 'A webhook can be configured to send its payload in the form field `payload`.',
    fix: 'Verify the signature over the bytes of the form, then decode the form, then parse the field `payload`.',
    async run(probe) {
      const form = await signedForm(probe.sender, probe.sender.create().body)
      return accepts(await probe.deliver(form.body, form.parts), 'a valid delivery as a form')
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
      const forms = ['plain', '%22 %26payload=%7B', '100% & a+b %zz'].map(
        (note) => sender.create({ note }).body,
      )
      let finding = undecided('nothing was sent')
      for (const json of forms) {
        const { body, parts } = await signedForm(sender, json)
        finding = accepts(await probe.deliver(body, parts), 'a valid form with percent signs in its payload')
        if (finding.verdict === 'failed' && json === forms[0])
          return skipped('the receiver does not accept forms (valid-form)')
        if (finding.verdict !== 'passed') return finding
      }
      return finding
    },
  },
  {
    id: 'valid-utf8',
    level: 'must',
    title: 'accepts text outside ASCII',
    reason: 'A receiver that hashes characters in place of bytes refuses names with umlauts or emoji.',
    fix: 'Compute the signature over the bytes of the body, as they arrived.',
    async run(probe) {
      const { body } = probe.sender.create({
        note: 'Gr\u00fc\u00dfe \u{1f30d} \u2028',
      })
      return accepts(await probe.deliver(body), 'a valid delivery with characters of 1 to 4 bytes')
    },
  },
  {
    id: 'body-reserialized',
    level: 'must',
    needsSignature: true,
    title: 'accepts JSON that a parser would write differently',
    reason:
      'Senders may indent JSON or escape characters. A receiver that parses and serializes the body before it computes the signature refuses such deliveries, and accepts unsigned bodies.',
    fix: 'Keep the raw bytes of the body, and compute the signature over them.',
    async run(probe) {
      const payload: unknown = JSON.parse(probe.sender.create().body.toString())
      const odd = JSON.stringify(payload, null, '\t ')
        .replaceAll('\n', '\r\n')
        .replaceAll('/', '\\/')
        .replace('check', '\\u0063heck')
      return accepts(
        await probe.deliver(Buffer.from(`${odd}\r\n`)),
        'valid JSON with white space and escapes',
      )
    },
  },
  {
    id: 'body-dollar',
    level: 'must',
    title: 'accepts text such as $& and {{x}}, which replacements and templates would change',
    reason:
      'String.replace changes $& in a replacement, and templates change {{x}}. If the body goes through one of them before it is verified, the signature does not match.',
    fix: 'Compute the signature over the bytes of the body, as they arrived. Until then, do not pass it to String.replace, a template or a shell command.',
    async run(probe) {
      const value = "$& $1 $$ $` $' {{x}} %s %n %22 \\0 `id`"
      const { body } = probe.sender.create({ note: value })
      return accepts(await probe.deliver(body), 'a valid delivery with $&')
    },
  },
  {
    id: 'several-events',
    level: 'must',
    title: 'accepts several events in one delivery',
    reason: 'Services collect events for some seconds, and send them together.',
    fix: 'Handle each item of `events`.',
    async run(probe) {
      const { dialect } = probe.sender
      const events =
        dialect === 'organization'
          ? ['update', 'add']
          : ['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted']
      return accepts(
        await probe.deliver(probe.sender.create({ events }).body),
        `a valid delivery with ${events.length} events`,
      )
    },
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
      const request = probe.request(body, { headers: [['transfer-encoding', 'chunked']] })
      const reply = await probe.exchange(async ({ write }) => {
        await write(writeHead(probe.url, { ...request, length: null }))
        for (let at = 0; at < body.length; at += 100) await write(writeChunk(body.subarray(at, at + 100)))
        await write(writeChunk(Buffer.alloc(0)))
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
      const { body } = probe.sender.create({
        note: '\u{1f30d}'.repeat(40),
      })
      const bytes = probe.bytes(body)
      const reply = await probe.exchange(async ({ write }) => {
        for (let at = 0; at < bytes.length; at += 41) {
          await write(bytes.subarray(at, at + 41))
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
    run: (probe) =>
      judgeEach(
        probe,
        [probe.sender.header.toUpperCase(), probe.sender.header.toLowerCase()].map((name) => {
          const { body } = probe.sender.create()
          const headers = [[name, probe.sender.credential(body)]] as const
          return { sent: `a valid delivery with the header ${name}`, body, credential: null, headers }
        }),
        accepts,
      ),
  },
  {
    id: 'charset-parameter',
    level: 'must',
    title: 'accepts a content type with a parameter',
    reason: 'HTTP clients add `; charset=utf-8` to application/json.',
    fix: 'Compare only the media type, without its parameters and in any case.',
    run: (probe) =>
      judgeEach(
        probe,
        ['application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'].map((contentType) => ({
          sent: `a valid delivery with content-type: ${contentType}`,
          body: probe.sender.create().body,
          contentType,
        })),
        accepts,
      ),
  },
]
