import { describe, each, isLimited, judge, refuses, type Scenario, untilProblem } from '../judge.ts'
import { FORM_TYPE } from '../probe.ts'
import { isRefusal, isSuccess } from '../response.ts'
import { passed, undecided } from '../types.ts'

/** Bodies other than the signed one. */
export const BODIES: readonly Scenario[] = [
  {
    id: 'body-altered',
    level: 'must',
    needsSignature: true,
    title: 'refuses a body that was changed after it was signed',
    reason: 'Otherwise events can be changed or added in transit.',
    fix: 'Compute the signature over all bytes of the body.',
    run: each(refuses, ({ credential }) =>
      [
        (body: Buffer) => Buffer.from(body.map((byte, at) => (at === body.length - 3 ? byte ^ 1 : byte))),
        (body: Buffer) => Buffer.concat([body, Buffer.from('x')]),
        (body: Buffer) => body.subarray(0, -1),
        () => Buffer.from('{}'),
      ].map((body) => ({ sent: 'another body than the signed one', body, credential })),
    ),
  },
  {
    id: 'body-json-equal',
    level: 'must',
    needsSignature: true,
    title: 'refuses a body that means the same as the signed one, with other bytes',
    reason: 'The signature covers bytes. A receiver that serializes the body again accepts unsigned bytes.',
    fix: 'Compute the signature over the raw bytes, before any parsing.',
    run: each(refuses, ({ credential }) =>
      [
        (text: string) => ` ${text}`,
        (text: string) => `${text}\n`,
        (text: string) => text.replace('check', '\\u0063heck'),
        (text: string) => JSON.stringify(JSON.parse(text), null, 2),
      ].map((change) => ({
        sent: 'equal JSON with other bytes than the signed one',
        body: (body) => Buffer.from(change(body.toString())),
        credential,
      })),
    ),
  },
  {
    id: 'body-invalid-utf8',
    level: 'must',
    needsSignature: true,
    title: 'refuses invalid UTF-8 that is signed as if it were U+FFFD',
    reason:
      'Decoding turns every invalid byte into U+FFFD. If a receiver computes the signature over decoded text, it accepts bytes that nobody signed.',
    fix: 'Compute the signature over bytes; decode them to text afterwards.',
    run: each(refuses, ({ create, credential }) => {
      const { body } = create({ note: '\u{fffd}' })
      const at = body.indexOf(Buffer.from('\u{fffd}'))
      const changed = Buffer.concat([body.subarray(0, at), Buffer.from([0xff]), body.subarray(at + 3)])
      const sent = 'the byte FF under the signature of U+FFFD'
      return [{ sent, body: changed, credential: credential(body) }]
    }),
  },
  {
    id: 'body-bom-added',
    level: 'must',
    needsSignature: true,
    title: 'refuses a byte order mark that was not signed',
    reason:
      'Many decoders remove a byte order mark silently, so the receiver verifies other bytes than it got.',
    fix: 'Compute the signature over the raw bytes, with any byte order mark.',
    run: each(refuses, ({ credential }) => [
      {
        sent: 'a byte order mark before the signed body',
        body: (body) => Buffer.concat([Buffer.from('\ufeff'), body]),
        credential,
      },
    ]),
  },
  {
    id: 'content-type-forged',
    level: 'must',
    title: 'refuses unsigned requests of every content type',
    reason:
      'Frameworks often run the verification inside the JSON parser, so other content types come through unverified.',
    fix: 'Verify every request to the payload URL, whatever its content type.',
    run: each(refuses, (sender) =>
      [
        'text/plain',
        FORM_TYPE,
        'multipart/form-data; boundary=x',
        'application/octet-stream',
        'application/geo+json',
        'text/xml',
        'nonsense',
        null,
      ].flatMap((contentType) =>
        [null, sender.wrongCredential()].map((credential) => ({
          sent: `${credential === null ? 'no' : 'a wrong'} signature with ${contentType === null ? 'no content type' : `content-type: ${contentType}`}`,
          ...(contentType === FORM_TYPE && {
            body: (body) => Buffer.from(new URLSearchParams({ payload: body.toString() }).toString()),
          }),
          contentType,
          credential,
        })),
      ),
    ),
  },
  {
    id: 'form-decoded',
    level: 'must',
    needsSignature: true,
    title: 'refuses a form whose signature covers only its decoded text',
    reason: 'Different forms decode to the same text, so the receiver would accept unsigned bytes.',
    fix: 'Compute the signature over the bytes of the form as they arrived.',
    run: each(refuses, ({ create, credential }) => {
      const { body: json } = create()
      const form = Buffer.from(`payload=${encodeURIComponent(json.toString())}&a=1`)
      return [json, Buffer.from(`payload=${json}&a=1`)].map((signed) => ({
        sent: 'a form with the signature of its decoded text',
        body: form,
        contentType: FORM_TYPE,
        credential: credential(signed),
      }))
    }),
  },
  {
    id: 'content-type-confused',
    level: 'must',
    needsSignature: true,
    title: 'does not accept a payload hidden in a signed body when the content type is changed',
    reason:
      'The signature does not cover the content type. If an attacker sends signed JSON again as a form, text inside the JSON can become the field `payload`: a forged delivery.',
    fix: 'Refuse a form that begins with { or [, and parse JSON only as a whole.',
    async run(probe) {
      const { create } = probe.sender
      const inner = create().body.toString()
      const jsonWith = (text: string): Buffer =>
        create({ note: `&payload=${encodeURIComponent(text)}&a=` }).body
      // Each body has a twin without the hidden payload. A receiver that ignores the text around it accepts both.
      const pairs = [
        { sent: 'signed JSON as a form', contentType: FORM_TYPE, bodies: [jsonWith(inner), jsonWith('{')] },
        {
          sent: 'a signed form as JSON',
          contentType: 'application/json',
          bodies: [inner, ''].map((text) => Buffer.from(`payload=none&note=${text}`)),
        },
      ]
      return untilProblem(pairs, async ({ sent, contentType, bodies }) => {
        const reply = await probe.deliver({ body: bodies[0]!, contentType })
        const twin = await probe.deliver({ body: bodies[1]!, contentType })
        const evidence = `sent ${sent}, with a payload in its text: ${describe(reply)}; with invalid JSON there: ${describe(twin)}`
        if (isLimited(twin)) return undecided(evidence)
        return judge(reply, evidence, !isSuccess(reply) || isSuccess(twin))
      })
    },
  },
  {
    id: 'unverified-json',
    level: 'should',
    title: 'responds to unsigned requests with the same status, whether or not the body is JSON',
    reason:
      'A different response shows that the receiver parses bodies before it verifies them, so anyone can attack its parser.',
    fix: 'Verify the signature first, and parse the body afterwards.',
    async run(probe) {
      const bodies = ['{"a":', `${'['.repeat(5000)}${']'.repeat(5000)}`, '', '\u0000']
      const reference = await probe.deliver({ credential: null })
      if (!isRefusal(reference) || isLimited(reference))
        return undecided(`sent unsigned JSON: ${describe(reference)}`)
      for (const text of bodies) {
        const reply = await probe.deliver({ body: Buffer.from(text), credential: null })
        const sent = `an unsigned body that is ${text.startsWith('[') ? 'JSON with 5,000 levels' : 'not JSON'} (unsigned JSON got ${reference.status})`
        const finding = refuses(reply, sent)
        if (finding.verdict !== 'passed') return finding
        if (reply.status !== reference.status) return { ...finding, verdict: 'failed' }
      }
      return passed(`all got ${reference.status}`)
    },
  },
]
