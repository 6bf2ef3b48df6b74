import type { Flaw, Flaws } from './flaw.ts'
import { Refusal, type Steps } from './steps.ts'

/** Answers 500 if the code after the verification throws an error that it did not expect. */
const withErrors = (finds: readonly string[], change: Flaw['change']): Flaw => ({
  finds,
  change: (steps) => ({
    ...change(steps),
    refuse(res, error) {
      const status = error instanceof Refusal ? error.status : 500
      res.writeHead(status, { connection: 'close' }).end()
    },
  }),
})

/** Returns the step that parses a body, and then does something with the payload. */
const parseAnd = ({ parse }: Steps, use: (payload: never) => void): Pick<Steps, 'parse'> => ({
  parse(given) {
    let payload: unknown
    try {
      payload = parse(given)
    } catch (error) {
      throw error instanceof Refusal ? error : new Refusal(400, 'not JSON')
    }
    use(payload as never)
    return payload
  },
})

const countLevels = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce<number>((most, member) => Math.max(most, countLevels(member)), 0)
    : 0

const MAX_FIELDS = 1_000

const requireFewFields = (count: number): void => {
  if (count > MAX_FIELDS) throw new RangeError('too many fields')
}

/** Signed bodies after which a receiver answers 500. */
export const ODD_BODY_FLAWS: Flaws = {
  'answers 500 if it cannot parse a signed body': withErrors(
    [
      'body-empty',
      'body-not-json',
      'body-not-utf8',
      'body-bom-signed',
      'content-type-confused',
      'form-malformed',
    ],
    () => ({
      parse({ body, type }) {
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
        if (type === 'application/json') return JSON.parse(text)
        if (type !== 'application/x-www-form-urlencoded') throw new Refusal(415, 'content type')
        const [, payload] = /(?:^|&)payload=([^&]*)/.exec(text) ?? []
        if (payload === undefined) throw new Refusal(400, 'no payload')
        return JSON.parse(decodeURIComponent(payload.replaceAll('+', ' ')))
      },
    }),
  ),
  'answers 500 to a content type that it cannot parse': withErrors(['content-type-wrong'], (steps) => ({
    parse(given) {
      if (!/^application\/(json|x-www-form-urlencoded)$/.test(given.type)) throw new Error('no parser')
      return parseAnd(steps, () => {}).parse(given)
    },
  })),
  'answers 500 to a compressed body, because it parses compressed bytes': withErrors(
    ['compressed'],
    (steps) => ({
      before(req, res) {
        delete req.headers['content-encoding']
        steps.before.call(this, req, res)
      },
      parse({ req, ...given }) {
        if (req.rawHeaders.includes('content-encoding')) JSON.parse(given.body.toString())
        return parseAnd(steps, () => {}).parse({ req, ...given })
      },
    }),
  ),
  'answers 500 to JSON that is not an object': withErrors(['body-scalar'], (steps) =>
    parseAnd(steps, (payload: object) => 'events' in payload),
  ),
  'answers 500 to change types that are members of every object': withErrors(['body-proto'], (steps) =>
    parseAnd(steps, (payload: { events?: { eventType: string }[] } | null) => {
      const handlers: Record<string, () => void> = { FeaturesUpdated() {} }
      for (const { eventType } of payload?.events ?? []) handlers[eventType]?.()
    }),
  ),
  'merges payloads into its settings': {
    finds: ['body-proto'],
    change({ verify, parse }) {
      // Used instead of Object.prototype, because changes to that would affect the tests.
      const prototype: { unsigned?: boolean } = {}
      return {
        verify: (given, signature) => prototype.unsigned === true || verify(given, signature),
        parse(given) {
          const payload = parse(given)
          const member = Object.entries(payload ?? {}).find(([name]) => name === '__proto__')
          Object.assign(prototype, member?.[1])
          return payload
        },
      }
    },
  },
  'answers 500 to deep JSON, because it walks through it recursively': withErrors(['body-deep'], (steps) =>
    parseAnd(steps, countLevels),
  ),
  'answers 500 to a body with more fields than it allows': withErrors(
    ['body-many-fields', 'form-many-fields'],
    (steps) => ({
      parse(given) {
        if (given.type === 'application/x-www-form-urlencoded')
          requireFewFields(new URLSearchParams(given.body.toString()).size)
        return parseAnd(steps, (payload: object | null) =>
          requireFewFields(Object.keys(payload ?? {}).length),
        ).parse(given)
      },
    }),
  ),
}
