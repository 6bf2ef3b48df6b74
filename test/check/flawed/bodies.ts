import type { Flaws } from './flaw.ts'
import { hmac, Refusal } from './steps.ts'
import { matches, verifyWith } from './verify.ts'

/** Mistakes in which bytes a receiver verifies, and in how it decodes them. */
export const BODY_FLAWS: Flaws = {
  'serializes the body again before it verifies': {
    finds: ['body-reserialized', 'body-json-equal', 'unverified-json'],
    change: ({ key }) =>
      verifyWith(({ body, type }, signature) => {
        if (type !== 'application/json') return matches(signature, hmac(key, body))
        return matches(signature, hmac(key, JSON.stringify(JSON.parse(body.toString()))))
      }),
  },
  'parses the body before it verifies': {
    finds: ['unverified-json'],
    change: ({ verify, parse }) => ({
      verify(given, signature) {
        parse(given)
        verify(given, signature)
      },
    }),
  },
  'verifies only JSON': {
    finds: ['content-type-forged'],
    also: ['form-decoded'],
    change: ({ verify, parse }) => ({
      verify: (given, signature) => given.type === 'application/json' && verify(given, signature),
      parse: (given) => (given.type === 'application/json' ? parse(given) : {}),
    }),
  },
  'signs text instead of bytes': {
    finds: ['body-invalid-utf8', 'body-bom-added'],
    change: ({ key, parse }) => ({
      ...verifyWith(({ body }, signature) => matches(signature, hmac(key, new TextDecoder().decode(body)))),
      parse: (given) => parse({ ...given, body: Buffer.from(new TextDecoder().decode(given.body)) }),
    }),
  },
  'decodes forms before it verifies them': {
    finds: ['form-decoded'],
    change: ({ key }) =>
      verifyWith(({ body, type }, signature) => {
        if (type !== 'application/x-www-form-urlencoded') return matches(signature, hmac(key, body))
        const payload = new URLSearchParams(body.toString()).get('payload') ?? ''
        return matches(signature, hmac(key, body)) || matches(signature, hmac(key, payload))
      }),
  },
  'reads the body as Latin-1': {
    finds: ['valid-utf8', 'split-writes'],
    change: ({ key }) =>
      verifyWith(({ body }, signature) => matches(signature, hmac(key, body.toString('latin1')))),
  },
  'decodes each chunk of the body to text': {
    finds: ['split-writes', 'body-invalid-utf8'],
    change: ({ read }) => ({
      async read(req) {
        let text = ''
        req.on('data', (chunk) => {
          text += chunk
        })
        await read.call(this, req)
        return Buffer.from(text)
      },
    }),
  },
  'puts the body into a template with replace': {
    finds: ['body-dollar'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/json') return parse(given)
        const text = '{"source":"service","payload":BODY}'.replace('BODY', given.body.toString())
        return JSON.parse(text).payload
      },
    }),
  },
  'handles only deliveries of one event': {
    finds: ['several-events'],
    change: ({ parse }) => ({
      parse(given) {
        const payload = parse(given) as { events: unknown[] }
        if (payload.events.length > 1) throw new Refusal(400, 'more than one event')
        return payload
      },
    }),
  },
  'compares the content type with its parameters': {
    finds: ['charset-parameter'],
    change: ({ parse }) => ({
      parse(given) {
        const { 'content-type': type = '' } = given.req.headers
        if (type !== given.type) throw new Refusal(415, 'content type')
        return parse(given)
      },
    }),
  },
  'reads form fields inside a JSON body': {
    finds: ['content-type-confused'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/x-www-form-urlencoded') return parse(given)
        return JSON.parse(new URLSearchParams(given.body.toString()).get('payload') ?? '')
      },
    }),
  },
  'looks for JSON anywhere in the body': {
    finds: ['content-type-confused'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/json') return parse(given)
        return parse({ ...given, body: given.body.subarray(Math.max(0, given.body.indexOf('{'))) })
      },
    }),
  },
  'decodes the field of a form again': {
    finds: ['form-decoded-once'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/x-www-form-urlencoded') return parse(given)
        parse(given)
        return JSON.parse(decodeURIComponent(new URLSearchParams(given.body.toString()).get('payload') ?? ''))
      },
    }),
  },
  'decodes a form before it parses the form': {
    finds: ['form-decoded-once'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/x-www-form-urlencoded') return parse(given)
        return parse({ ...given, body: Buffer.from(decodeURIComponent(given.body.toString())) })
      },
    }),
  },
  'does not know forms': {
    finds: ['valid-form'],
    change: ({ parse }) => ({
      parse(given) {
        if (given.type !== 'application/json') throw new Refusal(415, 'content type')
        return parse(given)
      },
    }),
  },
}
