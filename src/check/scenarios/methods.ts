import { headerOf, isRefusal, isSuccess } from '../http/reply.ts'
import { describe, failed, isLimited, passed, skipped, undecided } from '../judge.ts'
import type { Probe } from '../probe.ts'
import type { Scenario } from '../scenario.ts'
import type { Finding } from '../types.ts'

/**
 * Sends unsigned requests with these methods, and with a payload unless they have no body. 4xx and 501 pass, and so does a
 * closed connection, as with `return 444` in nginx.
 */
async function refusesMethods(probe: Probe, methods: readonly string[]): Promise<Finding> {
  let evidence = ''
  for (const method of methods) {
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const reply = hasBody
      ? await probe.deliver(probe.sender.create().body, { method, credential: null })
      : await probe.send({ method })
    evidence = `sent ${method} without a signature: ${describe(reply)}`
    if (isLimited(reply)) return undecided(evidence)
    const isClosed = reply.status === undefined && reply.problem === 'closed'
    if (!isRefusal(reply) && reply.status !== 501 && !isClosed) return failed(evidence)
  }
  return passed(evidence)
}

/** Requests with other methods than POST. */
export const METHODS: readonly Scenario[] = [
  {
    id: 'other-methods',
    level: 'must',
    title: 'refuses PUT, PATCH and DELETE',
    reason: 'Deliveries are POST requests. A route for all methods may skip the verification for others.',
    fix: 'Accept POST, and GET only for handshakes. Respond to other methods with 405.',
    run: (probe) => refusesMethods(probe, ['PUT', 'PATCH', 'DELETE']),
  },
  {
    id: 'signed-methods',
    level: 'must',
    title: 'refuses a valid delivery that is not sent with POST',
    reason:
      'The signature does not cover the method. If a receiver handles other methods too, limits and filters for POST, for example in a proxy, do not apply to them.',
    fix: 'Accept deliveries only with POST. Respond to other methods with 405.',
    async run(probe) {
      let evidence = ''
      for (const method of ['PUT', 'PATCH', 'DELETE', 'GET', 'HEAD', 'OPTIONS']) {
        const reply = await probe.deliver(probe.sender.create().body, { method })
        evidence = `sent ${method} with the right ${probe.sender.isSigned ? 'signature' : 'key'}: ${describe(reply)}`
        if (isLimited(reply)) return undecided(evidence)
        if (!isSuccess(reply)) continue
        // Some URLs send every client the same response, for example to OPTIONS. Other scenarios test PUT and GET.
        const credential = probe.sender.wrongCredential()
        const forged = await probe.deliver(probe.sender.create().body, { method, credential })
        if (!isSuccess(forged)) return failed(evidence)
      }
      return passed(evidence)
    },
  },
  {
    id: 'get-request',
    level: 'should',
    title: 'refuses GET and HEAD without a token',
    reason:
      'A sender that is configured to use GET would count a 2xx as success, although nothing is handled.',
    fix: 'Respond with 405. If the receiver supports handshakes, respond with 400 to GET without a token.',
    run: (probe) => refusesMethods(probe, ['GET', 'HEAD']),
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
      if (isLimited(reply)) return undecided(evidence)
      return reply.status === 405 && allow !== undefined ? passed(evidence) : failed(evidence)
    },
  },
]
