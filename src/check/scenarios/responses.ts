import type { RecordedReply } from '../connection.ts'
import { accepts, describe, isLimited, type Scenario } from '../judge.ts'
import type { Probe } from '../probe.ts'
import { headerOf, isRefusal, isSuccess, MAX_BODY, type Reply } from '../response.ts'
import { type Finding, failed, passed, undecided } from '../types.ts'
import { compareRefusals, compareTenants, compareTenantTimes, compareTimes } from './refusals.ts'
/** What responses reveal, and when they come. */
export const RESPONSES: readonly Scenario[] = [
  {
    id: 'response-time',
    level: 'should',
    phase: 'alone',
    title: 'responds within half of the timeout of the sender (5 s by default)',
    reason: 'A sender that gets no response in time counts a failure, and may retry.',
    fix: 'Store the delivery, respond with 202, and do slow work afterwards.',
    async run(probe) {
      const reply = await probe.deliver()
      const finding = accepts(reply, 'a valid delivery')
      return reply.milliseconds > probe.timeout / 2 ? failed(finding.evidence) : finding
    },
  },
  {
    id: 'refusal-status',
    level: 'should',
    title: 'responds to an unsigned delivery with 401 or 403',
    reason: 'Other codes hide the cause: 404 looks like a wrong URL, and 400 like a broken payload.',
    fix: 'Respond with 401 to a missing or wrong signature.',
    async run(probe) {
      const reply = await probe.deliver({ credential: null })
      const evidence = `sent a delivery without a signature: ${describe(reply)}`
      if (!isRefusal(reply) || isLimited(reply)) return undecided(evidence)
      return reply.status === 401 || reply.status === 403 ? passed(evidence) : failed(evidence)
    },
  },
  {
    id: 'uniform-refusal',
    level: 'should',
    phase: 'alone',
    title: 'gives the same response to all missing, malformed and wrong signatures',
    reason: 'The difference tells an attacker how close a guess is, or which part of a request was checked.',
    fix: 'Respond with the same status, headers and body to a missing, a malformed and a wrong signature. Write the reason only to the log.',
    run: compareRefusals,
  },
  {
    id: 'uniform-refusal-time',
    level: 'should',
    phase: 'alone',
    needsSignature: true,
    title:
      'takes equally long to refuse a signature whose first half is right and one that is wrong from the start',
    reason:
      'A comparison that stops at the first difference lets an attacker guess the signature piece by piece.',
    fix: 'Compare the 32 bytes with a constant-time function.',
    run: compareTimes,
  },
  {
    id: 'unknown-tenant',
    level: 'should',
    phase: 'alone',
    title: 'gives the same responses for an unknown tenant as for a known one',
    reason: 'A difference reveals which tenants exist.',
    fix: 'Refuse requests for an unknown tenant like requests with a wrong signature: with the same status, headers and body.',
    run: compareTenants,
  },
  {
    id: 'unknown-tenant-time',
    level: 'should',
    phase: 'alone',
    title: 'takes as long to refuse a delivery for an unknown tenant as for a known one',
    reason: 'A difference in time reveals which tenants exist, even if the responses are equal.',
    fix: 'Verify deliveries for an unknown tenant too, with a random key. The time to look up a key must not depend on the tenant.',
    run: compareTenantTimes,
  },
  {
    id: 'no-secret',
    level: 'must',
    phase: 'last',
    title: 'never sends the key',
    reason: 'An attacker with the key can forge every delivery.',
    fix: 'Do not put settings, environment variables or error objects into responses.',
    run: findSecret,
  },
  {
    id: 'no-signature',
    level: 'must',
    phase: 'last',
    needsSignature: true,
    title: 'never sends the signature that it expected',
    reason:
      'An attacker sends a forged body, reads the right signature from the refusal, and sends it again.',
    fix: 'Do not put the computed signature into responses.',
    run: findSignature,
  },
  {
    id: 'no-stack-trace',
    level: 'should',
    phase: 'last',
    title: 'never sends a stack trace or a file path',
    reason: 'Stack traces and paths show strangers which software runs, and where its files are.',
    fix: 'Switch off the debug mode of the framework, and respond to errors with a fixed text.',
    run: findStackTrace,
  },
  {
    id: 'no-product-name',
    level: 'may',
    phase: 'last',
    title: 'sends no x-powered-by header, and no version in the server header',
    reason: 'A version number tells attackers which known holes to try.',
    fix: 'Remove x-powered-by, and the version in server.',
    run(probe) {
      const { replies } = probe
      for (const { reply } of replies) {
        const powered = headerOf(reply, 'x-powered-by')
        const server = headerOf(reply, 'server')
        if (powered !== undefined) return failed(`x-powered-by: ${probe.show(powered)}`)
        if (server !== undefined && /\d/.test(server)) return failed(`server: ${probe.show(server)}`)
      }
      return passed(`none of ${replies.length} responses has x-powered-by, or a version in server`)
    },
  },
  {
    id: 'redirect',
    level: 'must',
    phase: 'last',
    title: 'responds at the payload URL, without a redirect',
    reason:
      'A sender may ignore a redirect, or follow it with GET in place of POST (RFC 9110 section 15.4). The delivery is then lost.',
    fix: 'Register the final URL as the payload URL.',
    run(probe) {
      const [first] = probe.replies
      if (!first) return undecided('no response arrived')
      const { reply } = first
      const isRedirect = reply.status !== undefined && reply.status >= 300 && reply.status < 400
      const to = headerOf(reply, 'location')
      return isRedirect
        ? failed(`${describe(reply)}, location: ${probe.show(to ?? 'missing')}`)
        : passed('the first response was no redirect')
    },
  },
  {
    id: 'alive-afterwards',
    level: 'must',
    phase: 'last',
    title: 'still accepts a valid delivery after all other requests',
    reason: 'If it does not, one of the other requests has damaged or stopped the receiver.',
    fix: 'Look in the log of the receiver for an uncaught error. Run the scenarios one by one with --only.',
    async run(probe) {
      try {
        const reply = await probe.deliver()
        const finding = accepts(reply, 'a valid delivery at the end')
        // A proxy answers 503 if the receiver behind it has stopped.
        return isSuccess(reply) || reply.status === 429 ? finding : { ...finding, verdict: 'failed' }
      } catch (error) {
        return failed(`no connection any more: ${(error as Error).message}`)
      }
    },
  },
]

/** Bytes of the shortest key to search for. Shorter ones are in unrelated text by chance, and so are words. */
const MIN_SEARCHED = 6
const WORD = /^[a-z]{1,15}$/i

/** Returns the texts in which any response must not contain the key. */
function textsOf(key: Buffer): string[] {
  if (key.length < MIN_SEARCHED || WORD.test(key.toString())) return []
  return [
    key.toString(),
    key.toString('hex'),
    key.toString('base64').replaceAll('=', ''),
    key.toString('base64url'),
  ]
}

/** Makes a receiver respond with errors, so that there are some also if no other scenario runs. */
async function provoke(probe: Probe): Promise<readonly RecordedReply[]> {
  const notJson = Buffer.from('{"events":')
  await probe.deliver({ credential: probe.sender.wrongCredential() })
  await probe.deliver({ credential: null })
  await probe.deliver({ body: notJson })
  await probe.send({ method: 'PUT', body: notJson })
  return probe.replies
}

/** Judges whether a text is in responses. Only the beginning of a long body is kept, so its end is unknown. */
function search(
  replies: readonly RecordedReply[],
  what: string,
  isIn: (text: string, recorded: RecordedReply) => boolean,
  describeFound = ({ status }: Reply): string => `a response with status ${status} contains ${what}`,
): Finding {
  const found = replies.find((recorded) => isIn(textOf(recorded), recorded))
  if (found) return failed(describeFound(found.reply))
  const long = replies.find(({ reply }) => reply.status !== undefined && reply.body.length >= MAX_BODY)
  return long
    ? undecided(`a response with status ${long.reply.status} is longer than ${MAX_BODY / 1024} KiB`)
    : passed(`none of ${replies.length} responses contains ${what}`)
}

async function findSecret(probe: Probe): Promise<Finding> {
  const replies = await provoke(probe)
  const texts = textsOf(Buffer.from(probe.sender.key as Uint8Array)).map((text) => text.toLowerCase())
  if (texts.length > 0)
    return search(replies, 'the key', (text) => texts.some((secret) => text.toLowerCase().includes(secret)))
  return undecided(
    `the key is too short to search for, or a word: use a key of ${MIN_SEARCHED} or more bytes, with digits`,
  )
}

async function findSignature(probe: Probe): Promise<Finding> {
  const replies = (await provoke(probe)).filter(({ request }) => request?.body)
  return search(replies, 'the right signature of its request', (text, { request }) => {
    const { body = Buffer.alloc(0), headers = [] } = request ?? {}
    const hex = probe.sender.credential(body, { encoding: 'hex', prefix: '' })
    const base64 = probe.sender.credential(body, { encoding: 'base64', prefix: '' }).replaceAll('=', '')
    const contains = (other: string): boolean => other.toLowerCase().includes(hex) || other.includes(base64)
    // A receiver may echo what a valid delivery contains.
    return contains(text) && !headers.some(([, value]) => contains(value))
  })
}

/** Parts of stack traces in Node, Python, Java, .NET, PHP, Ruby and Go. */
const TRACES: readonly RegExp[] = [
  /\.[cm]?[jt]s:\d+:\d/,
  /Traceback \(most recent call last\)/,
  /\.py", line \d/,
  /\.(?:java|kt|scala):\d+\)/,
  /\.cs:line \d/,
  /\.php(?:\(\d|:\d| on line )/,
  /\.rb:\d+:in /,
  /\.go:\d/,
]
/** Matches everything that can be a path of Unix or Windows. */
const PATH = /(?:\/|[A-Z]:\\)[\w./\\-]+/g
const SOURCE_ROOT = /^(?:\/(?:home|usr|var|app|srv|opt|root)\/|[A-Z]:)/
const SOURCE_FILE = /\.(?:[cm]?[jt]s|py|rb|php|go|java|cs)$/

/** Links of a page, which are URLs and not paths. */
const LINK = /\b(?:src|href)="[^"]*"/g

const showsSource = (text: string): boolean =>
  TRACES.some((trace) => trace.test(text)) ||
  (text.match(PATH) ?? []).some((path) => SOURCE_ROOT.test(path) && SOURCE_FILE.test(path))

async function findStackTrace(probe: Probe): Promise<Finding> {
  const { pathname } = probe.url
  const isIn = (all: string): boolean => {
    const text = all.replace(LINK, '')
    return showsSource(pathname === '/' ? text : text.replaceAll(pathname, ''))
  }
  return search(await provoke(probe), 'a stack trace or a file path', isIn, describe)
}

/** Returns the headers and the body of a response as text. */
function textOf({ reply }: RecordedReply): string {
  if (reply.status === undefined) return ''
  return `${reply.headers.map((header) => header.join(': ')).join('\n')}\n${reply.body.toString()}`
}
