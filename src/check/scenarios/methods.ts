import { arcgis } from '../../signature/profiles.ts'
import { describe, judge, refuses, type Scenario, untilProblem } from '../judge.ts'
import type { Probe } from '../probe.ts'
import { headerOf, isClosed, isRefusal, isSuccess, type Reply } from '../response.ts'
import { type Finding, skipped } from '../types.ts'

/**
 * Sends unsigned requests with these methods, and with a payload unless they have no body. 4xx and 501 pass, and so does a
 * closed connection, as with `return 444` in nginx.
 */
const refusesMethods =
  (methods: readonly string[]): Scenario['run'] =>
  (probe) =>
    untilProblem(methods, async (method) => {
      const hasBody = method !== 'GET' && method !== 'HEAD'
      const reply = hasBody ? await probe.deliver({ method, credential: null }) : await probe.send({ method })
      const isRight = isRefusal(reply) || reply.status === 501 || isClosed(reply)
      return judge(reply, `sent ${method} without a signature: ${describe(reply)}`, isRight)
    })

/** Requests with other methods than POST. */
export const METHODS: readonly Scenario[] = [
  {
    id: 'other-methods',
    level: 'must',
    title: 'refuses PUT, PATCH and DELETE',
    reason: 'Deliveries are POST requests. A route for all methods may skip the verification for others.',
    fix: 'Accept POST, and GET only for handshakes. Respond to other methods with 405.',
    run: refusesMethods(['PUT', 'PATCH', 'DELETE']),
  },
  {
    id: 'signed-methods',
    level: 'must',
    title: 'refuses a valid delivery that is not sent with POST',
    reason:
      'The signature does not cover the method. If a receiver handles other methods too, limits and filters for POST, for example in a proxy, do not apply to them.',
    fix: 'Accept deliveries only with POST. Respond to other methods with 405.',
    async run(probe) {
      const what = probe.sender.isSigned ? 'signature' : 'key'
      return untilProblem(['PUT', 'PATCH', 'DELETE', 'GET', 'HEAD', 'OPTIONS'], async (method) => {
        const reply = await probe.deliver({ method })
        // Some URLs send every client the same response, for example to OPTIONS. Other scenarios test PUT and GET.
        const credential = probe.sender.wrongCredential()
        const isRight = !isSuccess(reply) || isSuccess(await probe.deliver({ method, credential }))
        return judge(reply, `sent ${method} with the right ${what}: ${describe(reply)}`, isRight)
      })
    },
  },
  {
    id: 'get-request',
    level: 'should',
    title: 'refuses GET and HEAD without a token',
    reason:
      'A sender that is configured to use GET would count a 2xx as success, although nothing is handled.',
    fix: 'Respond with 405. If the receiver supports handshakes, respond with 400 to GET without a token.',
    run: refusesMethods(['GET', 'HEAD']),
  },
  {
    id: 'method-not-allowed',
    level: 'may',
    title: 'responds to PUT with 405 and an allow header',
    reason: 'RFC 9110 section 15.5.6 requires the header: it lists the methods that the URL supports.',
    fix: 'Respond with 405 and `allow: POST`.',
    async run(probe) {
      const reply = await probe.send({ method: 'PUT', headers: [['content-type', 'application/json']] })
      const allow = headerOf(reply, 'allow')
      if (reply.status === 401 || reply.status === 404)
        return skipped(`PUT got ${reply.status}, which also refuses it`)
      const evidence = `sent PUT: ${describe(reply)}, allow: ${probe.show(allow ?? 'missing')}`
      return judge(reply, evidence, reply.status === 405 && allow !== undefined)
    },
  },
]

const { parameter, member } = arcgis.handshake!

const withQuery = ({ url: { pathname, search } }: Probe, query: string): string =>
  `${pathname}${search === '' ? '?' : `${search}&`}${query}`

/** Sends a handshake with this query. */
const shake = (probe: Probe, query: string): Promise<Reply> =>
  probe.send({ method: 'GET', path: withQuery(probe, query) })

/** Returns the member of the response with the signature. */
function tokenIn(reply: Reply): unknown {
  if (reply.status === undefined) return undefined
  try {
    return (JSON.parse(reply.body.toString()) as Record<string, unknown> | null)?.[member]
  } catch {
    return undefined
  }
}

const forHosted =
  (run: (probe: Probe) => Promise<Finding>): Scenario['run'] =>
  (probe) =>
    probe.sender.profile === 'arcgis'
      ? run(probe)
      : skipped('only senders with the profile arcgis send handshakes')

/** The GET requests with which ArcGIS Online asks again and again whether the receiver has the key. */
export const HANDSHAKE: readonly Scenario[] = [
  {
    id: 'handshake',
    level: 'must',
    title: `responds to GET ?${parameter}=T with the signature of T`,
    reason: 'Otherwise ArcGIS Online sends no deliveries, or stops silently.',
    fix: `Respond with 200 and {"${member}": "sha256=" + base64(HMAC-SHA256(key, T))}.`,
    run: forHosted(async (probe) => {
      const token = `geohook-check-${Date.now()}`
      const reply = await shake(probe, `${parameter}=${token}`)
      const expected = probe.sender.credential(Buffer.from(token), { encoding: 'base64', prefix: 'sha256=' })
      const isRight = reply.status === 200 && tokenIn(reply) === expected
      return judge(reply, `sent a token: ${describe(reply)}`, isRight)
    }),
  },
  {
    id: 'handshake-missing-token',
    level: 'should',
    title: 'refuses a handshake with no token, an empty token or two tokens',
    reason:
      'The signature of an empty token is also valid for a delivery with an empty body. Of two tokens, a proxy and the receiver may read different ones.',
    fix: 'Respond with 400 if the token is missing, empty, or given twice.',
    run: forHosted((probe) =>
      untilProblem(['', `${parameter}=`, `${parameter}=a&${parameter}=b`], async (query) =>
        refuses(await shake(probe, query), `GET with the query "${query}"`),
      ),
    ),
  },
  {
    id: 'handshake-wrong-method',
    level: 'must',
    title: 'refuses a POST with a token and no signature',
    reason: 'A handshake must not replace the verification of a delivery.',
    fix: 'Treat only GET requests as handshakes.',
    run: forHosted(async (probe) => {
      const path = withQuery(probe, `${parameter}=abc`)
      return refuses(await probe.deliver({ path, credential: null }), 'an unsigned delivery with a token')
    }),
  },
  {
    id: 'handshake-payload-token',
    level: 'must',
    title: 'does not sign a token that is a payload',
    reason:
      'Anyone can choose the token. If it is a payload, the response contains the signature for a forged delivery.',
    fix: 'Sign only tokens of letters, digits and a few other characters, and refuse deliveries whose body looks like a token.',
    run: forHosted(async (probe) => {
      const { body } = probe.sender.create()
      return untilProblem([body.toString(), `payload=${body}`, '{}', '[]'], async (token) => {
        const reply = await shake(probe, `${parameter}=${encodeURIComponent(token)}`)
        const isSigned = isSuccess(reply) && tokenIn(reply) !== undefined
        return judge(reply, `sent a payload as the token: ${describe(reply)}`, !isSigned)
      })
    }),
  },
]
