import { arcgis } from '../../signature/profiles.ts'
import { isSuccess, type Reply } from '../http/reply.ts'
import type { RequestParts } from '../http/write-request.ts'
import { describe, failed, isLimited, passed, refuses, skipped, undecided } from '../judge.ts'
import type { Probe } from '../probe.ts'
import type { Scenario } from '../scenario.ts'
import type { Finding } from '../types.ts'

const { parameter, member } = arcgis.handshake!

/** Sends a handshake with this query. */
const shake = (probe: Probe, query: string, parts: RequestParts = { method: 'GET' }): Promise<Reply> => {
  const { pathname, search } = probe.url
  return probe.send({ ...parts, path: `${pathname}${search === '' ? '?' : `${search}&`}${query}` })
}

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
      const evidence = `sent a token: ${describe(reply)}`
      if (isLimited(reply)) return undecided(evidence)
      return reply.status === 200 && tokenIn(reply) === expected ? passed(evidence) : failed(evidence)
    }),
  },
  {
    id: 'handshake-missing-token',
    level: 'should',
    title: 'refuses a handshake with no token, an empty token or two tokens',
    reason:
      'The signature of an empty token is also valid for a delivery with an empty body. Of two tokens, a proxy and the receiver may read different ones.',
    fix: 'Respond with 400 if the token is missing, empty, or given twice.',
    run: forHosted(async (probe) => {
      let finding: Finding = passed('')
      for (const query of ['', `${parameter}=`, `${parameter}=a&${parameter}=b`]) {
        finding = refuses(await shake(probe, query), `GET with the query "${query}"`)
        if (finding.verdict !== 'passed') return finding
      }
      return finding
    }),
  },
  {
    id: 'handshake-wrong-method',
    level: 'must',
    title: 'refuses a POST with a token and no signature',
    reason: 'A handshake must not replace the verification of a delivery.',
    fix: 'Treat only GET requests as handshakes.',
    run: forHosted(async (probe) => {
      const delivery = probe.request(probe.sender.create().body, { credential: null })
      return refuses(await shake(probe, `${parameter}=abc`, delivery), 'an unsigned delivery with a token')
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
      const tokens = [body.toString(), `payload=${body}`, '{}', '[]']
      for (const token of tokens) {
        const reply = await shake(probe, `${parameter}=${encodeURIComponent(token)}`)
        const evidence = `sent a payload as the token: ${describe(reply)}`
        if (isLimited(reply)) return undecided(evidence)
        if (isSuccess(reply) && tokenIn(reply) !== undefined) return failed(evidence)
      }
      return passed(`sent ${tokens.length} payloads as tokens: none was signed`)
    }),
  },
]
